"""A product's views: plain, transposed, batched, swapped, and grown to whole tiles; at every point."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from imbrex.index.map import Dim, Map, identity
from imbrex.view.gemm.product import GemmView, overhang, plain

from ..points import Ints, existing, offsets, products

FLAGS = list(product((False, True), repeat=2))
SIZES = [(3, 4, 5), (1, 1, 1), (2, 7, 1)]


def definition(m: int, n: int, k: int, batch: int, transpose_a: bool, transpose_b: bool) -> Ints:
    g, i, j, r = np.indices((batch, m, n, k))
    a = (r * m + i if transpose_a else i * k + r) + g * m * k
    b = (j * k + r if transpose_b else r * n + j) + g * n * k
    return existing(a, b, (g * m + i) * n + j)


@pytest.mark.parametrize("transposed", FLAGS)
@pytest.mark.parametrize("batch", [None, 1, 3])
@pytest.mark.parametrize("sizes", SIZES)
def test_plain_sums_every_product_once(
    sizes: tuple[int, int, int], batch: int | None, transposed: tuple[bool, bool]
) -> None:
    view = plain(*sizes, batch, *transposed)
    assert (view.m, view.n, view.k, view.g) == (*sizes, batch or 1)
    assert len(view.c.upper) == (2 if batch is None else 3)
    assert np.array_equal(products(view), definition(*sizes, batch or 1, *transposed))


def test_control_a_transpose_is_seen() -> None:
    assert not np.array_equal(products(plain(3, 4, 5, None, True)), definition(3, 4, 5, 1, False, False))


@pytest.mark.parametrize("sizes", [(5, 6), (4, 8), (1, 1), (9, 16)])
def test_overhang_grows_to_whole_tiles_that_do_not_exist(sizes: tuple[int, int]) -> None:
    dims = (Dim("gemmG", 2), Dim("gemmM", sizes[0]), Dim("gemmN", sizes[1]))
    layers = overhang(dims, gemmM=4, gemmN=8)
    if sizes == (4, 8):
        assert layers == ()
        return
    grown = offsets(Map(layers))
    m, n = (-(-size // tile) * tile for size, tile in zip(sizes, (4, 8), strict=True))
    assert grown.shape == (2, m, n)
    assert np.array_equal(grown[:, : sizes[0], : sizes[1]], offsets(identity(dims)))
    grown[:, : sizes[0], : sizes[1]] = -1
    assert np.all(grown == -1)


def test_overhang_guards_only_what_it_grew() -> None:
    (layer,) = overhang((Dim("gemmM", 5), Dim("gemmN", 8)), gemmM=4, gemmN=8)
    (guard,) = Map((layer,)).symbolic.guards
    assert str(guard) == "0 <= gemmM < 5"


def test_operands_must_agree() -> None:
    good, other = plain(3, 4, 5), plain(3, 4, 6)
    with pytest.raises(AssertionError, match="gemmK differs: 5 and 6"):
        GemmView(good.a, other.b, good.c)
    with pytest.raises(AssertionError, match="gemmM differs: 3 and 4"):
        GemmView(good.a, good.b, plain(4, 4, 5).c)
