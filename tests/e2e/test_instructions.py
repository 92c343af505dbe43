"""Every matrix instruction of the four CDNA chips, in a product of its own."""

from __future__ import annotations

import pytest
from tests.e2e.many import Case, wrong
from tests.pairs import one_in

from imbrex.config.xdlops.mfma import served
from imbrex.dtype import DTYPES, PAIRS, SCALED, DType
from imbrex.problem import Gemm
from imbrex.view.mma import Instruction, in_registers
from imbrex.view.mma.fragment import k_parts
from imbrex.view.mma.wave import Side, tile_of

CHIPS = ("gfx908", "gfx90a", "gfx942", "gfx950")
STEPS = (1.0, 2.5, 3.0, 0.5, 4.25)


def on_chip(chip: str) -> list[tuple[Instruction, DType]]:
    """The chip's instructions with the types that they multiply, without those that an older chip has."""
    older = CHIPS[: CHIPS.index(chip)]
    return [
        (one, dtype)
        for dtype in (*DTYPES.values(), *PAIRS.values())
        for one in served(dtype, chip)
        if not any(one in served(dtype, c) for c in older)
    ]


def case(one: Instruction, kind: DType, chip: str, number: int) -> Case:
    """A product that overhangs the block tile in every direction; blocks lie along m and n in turn."""
    along: Side = "mn"[number % 2]  # type: ignore[assignment]
    size, k = kind.bytes, k_parts(one.a)
    m, n = tile_of(one, along)
    pack = max(k.registers, 16 // size)
    block = max(m, 8), max(n, 8)
    threads = one.wave * (block[0] // m) * (block[1] // n)
    packs = k.groups
    while packs * pack * min(block) < threads:
        packs *= 2
    numbers = ",".join(map(str, (*block, packs, m, n, pack, one.name)))
    depth = max(1, int(STEPS[number % 5] * packs * pack))
    if kind.is_microscaled:
        depth = -(-depth * kind.pack // SCALED) * SCALED
    problem = Gemm(m=block[0] + 1, n=block[1] + 3, k=depth, dtype=kind, transpose_b=kind.pack > 1)
    return Case(problem, f"v1:xdlops:{numbers}", chip)


def cases(chip: str) -> list[Case]:
    """Of products of two types one in three, which share their layouts with others."""
    found = on_chip(chip)
    alike = [pair for pair in found if pair[1].pair is None]
    of_two = [pair for pair in found if pair[1].pair is not None]
    return [case(one, kind, chip, i) for i, (one, kind) in enumerate((*alike, *one_in(3, of_two)))]


@pytest.mark.parametrize("chip", CHIPS)
def test_every_instruction(chip: str) -> None:
    assert wrong(cases(chip)) == []


def test_none_is_left_out() -> None:
    met = {one for chip in CHIPS for one, _ in on_chip(chip)}
    assert {one for one in in_registers() if set(one.chips) & set(CHIPS)} == met


@pytest.mark.parametrize(
    ("what", "old", "new"),
    [
        ("rows of C", "+ 32 * (slot % 4) +", "+ 32 * (slot % 2) +"),
        ("columns of B", "32 * slot + (lane % 32)", "32 * slot + (lane % 16)"),
        (
            "the registers of a tile",
            "thread_c + (workitem * 32 + 16 * n_tile",
            "thread_c + (workitem * 32 + 0 * n_tile",
        ),
    ],
)
def test_a_broken_kernel_is_caught(what: str, old: str, new: str) -> None:
    """The control: one change to the source, and the comparison fails."""
    case = Case(Gemm(m=32, n=64, k=32, dtype="f16"), "v1:xdlops:32,64,2,32,64,8,mfma_f32_32x32x8_f16")
    assert wrong([case]) == []
    assert wrong([case], damage=(old, new)), what
