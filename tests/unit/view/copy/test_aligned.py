"""Copies of operands: rows of whole 16 bytes with zeros behind, moved once, in whole stretches of memory."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from imbrex.config.algorithm.aligned import aligned as rows_of_copies
from imbrex.config.algorithm.task import gemm_task_of
from imbrex.dtype import DTYPES
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import PassThrough
from imbrex.problem import Gemm, parse_problem
from imbrex.view.copy.aligned import aligned, items
from imbrex.view.copy.channels_last import ChannelsLast
from imbrex.view.gemm.product import overhang
from imbrex.view.stage.shared_tile import SharedTile
from imbrex.view.tensor import Box, Refused, access

from ..points import offsets

Dims = tuple[Dim, ...]
ARRAYS: dict[str, Dims] = {
    "k together": (Dim("m", 19), Dim("k", 77)),
    "rows together": (Dim("k", 19), Dim("m", 77)),
    "batches": (Dim("g", 3), Dim("k", 13), Dim("n", 9)),
    "one row": (Dim("m", 1), Dim("k", 333)),
    "one column": (Dim("k", 33), Dim("n", 1)),
    "even": (Dim("m", 9), Dim("k", 78)),
}


def found(name: str, element_bytes: int) -> ChannelsLast:
    of = aligned(ARRAYS[name], element_bytes)
    assert of is not None
    return of


@pytest.mark.parametrize("element_bytes", [1, 2, 4])
@pytest.mark.parametrize("name", ARRAYS)
def test_rows_are_whole_and_what_is_added_is_zero(name: str, element_bytes: int) -> None:
    of, array = found(name, element_bytes), ARRAYS[name]
    assert of.packed[-1].size * element_bytes % 16 == 0
    plain = np.arange(prod(d.size for d in array)).reshape([d.size for d in array])
    order = [array.index(next(d for d in array if d.name == p.name)) for p in of.packed]
    rows = plain.transpose(order)
    added = of.packed[-1].size - rows.shape[-1]
    wanted = np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, added)], constant_values=-1)
    assert np.array_equal(offsets(of.placed), wanted)


@pytest.mark.parametrize("element_bytes", [1, 2, 4])
@pytest.mark.parametrize("name", ARRAYS)
def test_work_items_move_every_element_once(name: str, element_bytes: int) -> None:
    of = found(name, element_bytes)
    who = items(of, element_bytes, workitems=64)
    moved = offsets(who.map).reshape(-1)
    assert np.array_equal(np.sort(moved[moved >= 0]), np.arange(prod(d.size for d in of.packed)))
    assert [d.size for d in who.map.upper] == [who.workgroups, 64, who.other, who.slots]


def test_a_wave_reads_and_writes_one_stretch() -> None:
    """Of a long row: each piece of a work item lies beside those of its neighbours."""
    of = aligned((Dim("m", 4), Dim("k", 8191)), 2)
    assert of is not None
    who = items(of, 2)
    for map in (who.map, who.map.then(of.placed)):
        pieces = offsets(map)[0, :32].transpose(1, 0, 2).reshape(who.other, 256)
        assert who.other == 4 and not who.turns
        for piece in pieces:
            assert np.array_equal(piece, piece[0] + np.arange(256))


def test_what_serves_as_it_is() -> None:
    rows, columns = (Dim("m", 7), Dim("k", 16)), (Dim("k", 7), Dim("m", 16))
    assert [aligned(rows, size) for size in (1, 2, 4)] == [None] * 3
    assert aligned(columns, 2) is None
    assert aligned((Dim("m", 7), Dim("k", 20)), 4) is None


@pytest.mark.parametrize("element_bytes", [1, 4])
def test_k_comes_together_where_elements_are_not_16_bits_wide(element_bytes: int) -> None:
    of = aligned((Dim("k", 32), Dim("m", 64)), element_bytes)
    assert of is not None and [d.name for d in of.packed] == ["m", "k"]
    assert items(of, element_bytes).other == 16 // element_bytes


NAMES = {"f8e4m3fn": 1, "bf16": 2, "tf32": 4}


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("name", ["k together", "rows together", "batches"])
def test_a_tensor_map_shows_the_copy_and_not_the_array(name: str, dtype: str) -> None:
    of = found(name, NAMES[dtype])

    def shown(dims: Dims) -> object:
        size, along = NAMES[dtype], dims[-1].name
        free = next(n for n in "mn" if n in dict(dims))
        padded = overhang(dims, **{along: 16 // size})
        top = padded[0].upper if padded else dims
        order = [n for n in ("g", "k", free) if n in dict(dims)]
        entries = ((PassThrough(), f"gemm{n.upper()}", n) for n in order)
        tile = SharedTile(64 // size, 64, size, "k" if along == "k" else "d", 64)
        return access(Map((layer_over(top, *entries), *padded)), tile, DTYPES[dtype])

    assert isinstance(shown(of.packed), Box)
    assert isinstance(shown(of.array), Refused)


@pytest.mark.parametrize(
    ("strides", "is_copied"),
    [((80, 1), False), ((78, 1), True), ((77, 1), True), ((88, 1), False)],
)
def test_with_gaps_it_counts_how_far_rows_are_apart(strides: tuple[int, int], is_copied: bool) -> None:
    for name in ("k together", "even"):
        assert (aligned(ARRAYS[name], 2, strides) is not None) == is_copied


def test_matrices_of_a_batch_are_whole_vectors_apart() -> None:
    dims = (Dim("g", 3), Dim("m", 5), Dim("k", 16))
    assert aligned(dims, 2, (88, 16, 1)) is None
    assert aligned(dims, 2, (84, 16, 1)) == ChannelsLast(dims, "k", 8)
    assert aligned((Dim("g", 1), *dims[1:]), 2, (84, 16, 1)) is None
    assert aligned(dims, 2, (0, 16, 1)) is None


@pytest.mark.parametrize(
    "words, copied",
    [
        ("-m 64 -n 160 -transA 1", {"a"}),
        ("-m 160 -n 64 -transA 1", {"b"}),
        ("-m 64 -n 161 -transA 1", {"b"}),
    ],
)
def test_of_two_operands_across_k_the_smaller_is_copied(words: str, copied: set[str]) -> None:
    """The matrix unit has the other one from registers, unless its rows begin anywhere."""
    (problem,) = parse_problem(f"gemm -t tf32 -k 96 {words}")
    assert isinstance(problem, Gemm)
    found = rows_of_copies(gemm_task_of(problem))
    assert found is not None and set(found.copied) == copied
