"""What a kernel's tile cannot be is refused: each number and each word by itself, in every place."""

from __future__ import annotations

from typing import Any

import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.view.mma.table import instruction
from imbrex.view.swizzle.kernel import INTERLEAVED, TileKernel
from imbrex.view.swizzle.named import MOST_TILES, tile_kernel

MFMA = instruction("mfma_f32_16x16x16_f16")
PLACES = range(3)


def replaced(place: int, value: Any, others: Any = 1) -> tuple[Any, ...]:
    return tuple(value if i == place else others for i in PLACES)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["unroll", "waves"])
def test_counts_are_three_positive_numbers(name: str, place: int) -> None:
    assert getattr(TileKernel(MFMA, **{name: replaced(place, 2)}), name) == replaced(place, 2)
    for wrong in (replaced(place, 0), replaced(place, -1), (1,) * 4, (1,) * place):
        with pytest.raises(Diagnostic, match=f"'{name}' takes three positive numbers"):
            TileKernel(MFMA, **{name: wrong})


@pytest.mark.parametrize("place", PLACES)
def test_runs_are_three_positive_numbers_or_none(place: int) -> None:
    assert TileKernel(MFMA, runs=replaced(place, 1, None)).runs == replaced(place, 1, None)
    for wrong in (replaced(place, 0, None), replaced(place, -4, 4), (None,) * 4, (None,) * place):
        with pytest.raises(Diagnostic, match="'runs' takes a positive number or None"):
            TileKernel(MFMA, runs=wrong)


def test_each_part_has_one_place_in_the_order() -> None:
    for token in INTERLEAVED:
        with pytest.raises(Diagnostic, match="twice"):
            TileKernel(MFMA, order=(*INTERLEAVED, token))
        if token != "outer_k":  # `outer` is all of them
            with pytest.raises(Diagnostic, match="the order of a tile lacks"):
                TileKernel(MFMA, order=tuple(other for other in INTERLEAVED if other != token))


def test_a_name_has_counts_up_to_a_bound() -> None:
    assert tile_kernel(f"f16_16x16x16_2x{MOST_TILES}_Kx2").unroll[1] == MOST_TILES
    with pytest.raises(Diagnostic, match=f"above {MOST_TILES}"):
        tile_kernel(f"f16_16x16x16_2x{MOST_TILES + 1}_Kx2")
    for wrong in ("f16_16x16x16_2x", "f16", "f16_16x16x16_2x2_Kx2_", ""):
        with pytest.raises(Diagnostic, match="there is no tile kernel"):
            tile_kernel(wrong)
