"""Operands of matrix products: accesses bring what the maps read, and the product through them is theirs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from imbrex.dtype import F8E4M3FN, F16, F32, DType
from imbrex.index.expr import var
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import PassThrough, Unmerge
from imbrex.view.gemm.product import GemmView, plain
from imbrex.view.stage.shared_tile import Major, SharedTile, Swizzle
from imbrex.view.tensor import Box, Refused, Walk, access

from ..memory import filled, read
from .operands import array_of, brings, grown

SIZES = [(136, 72, 80), (8, 264, 16), (64, 64, 64), (200, 16, 136)]
TRANSPOSES = list(product((False, True), (False, True)))


def major_of(view: GemmView, operand: str) -> Major:
    """Which dim of an operand of a plain product lies together in memory."""
    map = {"a": view.a, "b": view.b}[operand]
    return "k" if map.lower[-1].name == "k" else "d"


@pytest.mark.parametrize("dtype", [F16, F8E4M3FN, F32], ids=str)
@pytest.mark.parametrize("batch", [None, 2])
@pytest.mark.parametrize("transposed", TRANSPOSES)
def test_every_tile_is_the_operands(dtype: DType, batch: int | None, transposed: tuple[bool, bool]) -> None:
    for m, n, k in SIZES:
        m, n, k = (-(-x // 16) * 16 if dtype.bytes == 1 else x for x in (m, n, k))
        view = plain(m, n, k, batch, *transposed)
        for (operand, map), parts in product((("a", view.a), ("b", view.b)), (1, 2)):
            tile = SharedTile(128 // dtype.bytes, 64, dtype.bytes, major_of(view, operand), 64)
            form = access(map, tile, dtype, parts)
            assert isinstance(form, Box), form
            assert brings(form, map, tile, dtype, parts).all(), (m, n, k, operand, parts)


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("major", ["k", "d"])
@pytest.mark.parametrize("parts", [1, 2, 4])
def test_every_swizzle_and_every_share(swizzle: Swizzle, major: Major, parts: int) -> None:
    view = plain(200, 8, 72, transpose_a=major == "d")
    tile = SharedTile(64, 128, 2, major, swizzle)
    form = access(view.a, tile, F16, parts)
    assert isinstance(form, Box), form
    assert brings(form, view.a, tile, F16, parts).all()


def test_tiles_that_no_element_is_in_are_zeros() -> None:
    """A grid of whole clusters has tiles beyond the matrix."""
    view = plain(72, 8, 64)
    tile = SharedTile(64, 64, 2, "k", 128)
    form = access(view.a, tile, F16, tiles=4)
    assert isinstance(form, Box)
    assert form.pieces[0].coords == (var("step", 1), var("tile", 4) * 64)
    assert brings(form, view.a, tile, F16, tiles=4).all()


@pytest.mark.parametrize("transposed", TRANSPOSES)
@pytest.mark.parametrize("swizzles", [(128, 128), (64, 32), (0, 128), (32, 0)])
def test_the_product_through_descriptors(
    transposed: tuple[bool, bool], swizzles: tuple[Swizzle, Swizzle]
) -> None:
    """Instructions of 64 x n x 16 over the stages' tiles sum what the plain product does."""
    m, n, k = 136, 72, 104
    view = plain(m, n, k, None, *transposed)
    shares = [
        SharedTile(64, rows, 2, major_of(view, operand), swizzle)
        for operand, rows, swizzle in zip("ab", (128, 64), swizzles, strict=True)
    ]
    arrays = [array_of(map, F16) for map in (view.a, view.b)]
    wide = [
        grown(map, array, ("gemmK", d), (128, rows))[0].astype(np.int64)
        for map, array, d, rows in zip((view.a, view.b), arrays, ("gemmM", "gemmN"), (256, 128), strict=True)
    ]
    forms = [access(map, s, F16) for map, s in zip((view.a, view.b), shares, strict=True)]
    sums = np.zeros((256, 128), np.int64)
    for row, column, step in product(range(2), range(2), range(2)):
        stages: list[np.ndarray] = []
        for form, share, array, t in zip(forms, shares, arrays, (row, column), strict=True):
            assert isinstance(form, Box), form
            stages.append(filled(form, share, array, 1, {"batch": 0, "tile": t, "step": step}))
        for k0, m0 in product(range(0, 64, 16), (0, 64)):
            a, b = (
                read(memory, s.start(k0, d0), s.descriptor, s.major, (16, 64), np.uint16).astype(np.int64)
                for memory, s, d0 in zip(stages, shares, (m0, 0), strict=True)
            )
            sums[row * 128 + m0 :, column * 64 :][:64, :64] += a.T @ b
    assert np.array_equal(sums, wide[0].T @ wide[1])


REFUSED = [
    (plain(64, 64, 63).a, "k", 128, "a stride of 126 bytes is not a multiple of 16"),
    (plain(64, 64, 64).a, "d", 128, "what lies together in memory is not along gemmM"),
    (plain(64, 64, 64).b, "k", 128, "what lies together in memory is not along gemmK"),
]


@pytest.mark.parametrize(("map", "major", "rows", "reason"), REFUSED)
def test_what_is_refused_and_why(map: Map, major: Major, rows: int, reason: str) -> None:
    tile = SharedTile(64, rows, 2, major, 128)
    found = access(map, tile, F16)
    assert isinstance(found, Refused) and found.reason.startswith(reason), found


def test_more_rows_than_a_box_has_are_walked_over() -> None:
    view, tile = plain(520, 8, 64), SharedTile(64, 512, 2, "k", 128)
    form = access(view.a, tile, F16)
    assert isinstance(form, Walk) and form.pixels == 512
    assert brings(form, view.a, tile, F16).all()


@pytest.mark.parametrize("rows, swizzle, parts", [(88, 128, 4), (24, 128, 8), (40, 64, 4)])
def test_a_share_begins_inside_an_atom(rows: int, swizzle: Swizzle, parts: int) -> None:
    """11, 3 and 10 rows, not multiples of 8: the permutation is of addresses."""
    view, tile = plain(3 * rows, 64, 64), SharedTile(64, rows, 2, "k", swizzle)
    form = access(view.a, tile, F16, parts=parts)
    assert isinstance(form, Box) and form.box == (tile.row, rows // parts)
    assert brings(form, view.a, tile, F16, parts).all()


@pytest.mark.parametrize("rows, swizzle, parts", [(64, 128, 24), (64, 32, 32), (24, 64, 8)])
def test_a_share_is_whole_rows_at_128_bytes(rows: int, swizzle: Swizzle, parts: int) -> None:
    found = access(plain(64, 64, 64).a, SharedTile(64, rows, 2, "k", swizzle), F16, parts=parts)
    assert isinstance(found, Refused) and f"{parts} workgroups do not share {rows} rows" in found.reason


def test_control_another_box_brings_something_else() -> None:
    view, tile = plain(136, 8, 104), SharedTile(64, 64, 2, "k", 128)
    form = access(view.a, tile, F16)
    assert isinstance(form, Box)
    (piece,) = form.pieces
    moved = replace(piece, coords=(piece.coords[0] + 1, piece.coords[1]))
    for wrong in (
        replace(form, swizzle=64),
        replace(form, strides=(96,)),
        replace(form, sizes=(96, 136)),
        replace(form, base=8, sizes=(104, 135)),
        replace(form, pieces=(moved,)),
    ):
        assert not brings(wrong, view.a, tile, F16).all()


@pytest.mark.parametrize(("width", "is_served"), [(12, False), (16, True), (20, False), (24, True)])
def test_a_piece_begins_on_16_bytes_of_a_row(width: int, is_served: bool) -> None:
    """Matrices side by side in one array: only where each begins on a multiple of 8 elements of f16."""
    groups = 8
    beside = layer_over(
        (Dim("k", 64), Dim("column", groups * width)),
        (PassThrough(), "gemmK", "k"),
        (Unmerge(), "gemmG gemmN", "column"),
        gemmG=groups,
        gemmN=width,
        order=["gemmG", "gemmK", "gemmN"],
    )
    found = access(Map((beside,)), SharedTile(64, 64, 2, "d", 128), F16)
    assert isinstance(found, Box) is is_served, found
    if isinstance(found, Refused):
        assert f"begins {2 * width} bytes into a row" in found.reason
