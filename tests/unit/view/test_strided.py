"""A strided view says, at every point, where the strides say that an element lies."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from imbrex.dtype import dtype
from imbrex.index.map import Dim, Map, identity, layer_over
from imbrex.index.query import is_injective, linear, vector_width
from imbrex.index.rule import Slice
from imbrex.view.stage.shared_tile import SharedTile
from imbrex.view.strided import is_dense, strided
from imbrex.view.tensor.form import Box

DIMS = (Dim("g", 3), Dim("m", 4), Dim("k", 5))
CASES = {
    "dense": (20, 5, 1),
    "rows": (32, 8, 1),
    "rows and matrices": (40, 8, 1),
    "matrices of odd rows": (43, 8, 1),
    "in turn": (5, 15, 1),
    "in turn, with gaps": (6, 24, 1),
    "in turn, more room": (6, 30, 1),
    "in odd turns": (7, 31, 1),
    "the same": (0, 9, 1),
    "overlapping": (2, 8, 1),
    "equal": (5, 5, 1),
}


def offsets(map: Map) -> np.ndarray:
    grid = np.indices([d.size for d in map.upper])
    coords, exists = map.evaluate(list(grid))
    assert np.all(exists)
    for x, d in zip(coords, map.lower, strict=True):
        assert np.all((x >= 0) & (x < d.size))
    found, _ = linear(map)
    env = dict(zip((d.name for d in map.upper), grid, strict=True))
    return np.broadcast_to(found.eval(env), grid.shape[1:])


@pytest.mark.parametrize("strides", CASES.values(), ids=CASES)
def test_elements_lie_where_strides_say(strides: tuple[int, ...]) -> None:
    map = strided(DIMS, strides)
    assert map.upper == DIMS
    want = sum(i * s for i, s in zip(np.indices((3, 4, 5)), strides, strict=True))
    np.testing.assert_array_equal(offsets(map), want)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_in_every_order(order: tuple[int, ...]) -> None:
    strides = tuple((1, 6, 30)[place] for place in order)
    map = strided([Dim(f"d{i}", 5) for i in range(3)], strides)
    want = sum(i * s for i, s in zip(np.indices((5, 5, 5)), strides, strict=True))
    np.testing.assert_array_equal(offsets(map), want)


@pytest.mark.parametrize("strides", CASES.values(), ids=CASES)
def test_the_array_ends_with_the_last_element(strides: tuple[int, ...]) -> None:
    map = strided(DIMS, strides)
    assert np.prod([d.size for d in map.lower]) == offsets(map).max() + 1


def test_only_gaps_need_places() -> None:
    def sizes(*strides: int) -> list[int]:
        return [d.size for d in strided(DIMS, strides).lower]

    assert sizes(20, 5, 1) == [3, 4, 5] and sizes(5, 15, 1) == [4, 3, 5] and sizes(0, 5, 1) == [4, 5]
    assert sizes(40, 8, 1) == [2 * 40 + 3 * 8 + 5]


def test_what_is_asked_of_a_map() -> None:
    dims = (Dim("m", 8), Dim("k", 24))
    assert vector_width(strided(dims, (32, 1)), "k") == 8
    assert vector_width(strided(dims, (36, 1)), "k") == 4
    assert vector_width(strided(dims, (33, 1)), "k") == 1
    assert is_injective(strided(dims, (33, 1)))
    assert is_dense(dims, (24, 1)) and not is_dense(dims, (25, 1))
    assert is_dense((Dim("m", 1), Dim("k", 24)), (99, 1))


@pytest.mark.parametrize(("strides", "sizes"), [((88, 1), (77, 64)), ((77, 1), None)])
def test_a_tensor_map_shows_no_gaps(strides: tuple[int, ...], sizes: tuple[int, ...] | None) -> None:
    """Beyond k it reads zeros, not what lies in the gap."""
    from imbrex.view.tensor.access import access

    dims = (Dim("gemmM", 64), Dim("gemmK", 77))
    tile = SharedTile(64, 64, 2, "k", 128)
    found = access(identity(dims).then(strided(dims, strides)), tile, dtype("f16"))
    if sizes is None:
        assert not isinstance(found, Box) or found.residues
    else:
        assert isinstance(found, Box) and (found.sizes, found.strides) == (sizes, (88,))


def test_a_tensor_map_of_a_slice() -> None:
    from imbrex.view.tensor.access import access

    dims = (Dim("gemmM", 64), Dim("gemmK", 88))
    entries = ((Slice(0, 60), "gemmM", "gemmM"), (Slice(8, 85), "gemmK", "gemmK"))
    map = Map((layer_over(dims, *entries),))
    tile = SharedTile(64, 64, 2, "k", 128)
    found = access(identity(map.upper).then(map), tile, dtype("f16"))
    assert isinstance(found, Box) and (found.sizes, found.strides, found.base) == ((77, 60), (88,), 8)


@pytest.mark.parametrize(("columns", "is_stored"), [(128, True), (136, True), (129, False), (132, False)])
def test_tensor_maps_store_whole_pieces_of_16_bytes(columns: int, is_stored: bool) -> None:
    """An H200 writes all of the piece in which a row ends, into the gap behind it."""
    from imbrex.view.tensor.store import store_access

    dims = (Dim("gemmM", 64), Dim("gemmN", columns))
    found = store_access(identity(dims).then(strided(dims, (512, 1))), 64, 64, dtype("f16"))
    assert isinstance(found, Box) == is_stored
    if not isinstance(found, Box):
        assert found.reason == f"rows of {2 * columns} bytes end inside of a piece of 16"
