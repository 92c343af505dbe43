"""TileCopy: shares tile the tile, vectors lie where memory runs, squares are transposed in registers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from imbrex.config.context import Access
from imbrex.config.xdlops.stage import TileCopy
from imbrex.index.map import Dim, Map
from imbrex.view.gemm import tile

ALONG_K, ALONG_D = Access((16, 1), (64.0, 1.0), (1, 0)), Access((1, 16), (1.0, 64.0), (0, 1))
SINGLE = Access((1, 1), (3.0, 1024.0), (1, 1))


def places(copy: TileCopy, vector_dim: int | None = None) -> tuple[list[int], np.ndarray]:
    map = Map(tile.copy_slices((Dim("k", copy.k), Dim("m", copy.d)), "m", copy.split, vector_dim))
    sizes = [d.size for d in map.upper]
    (k, d), _ = map.evaluate(list(np.indices(sizes)))
    return sizes, np.broadcast_to(k * copy.d + d, sizes)


@pytest.mark.parametrize("access", [ALONG_K, ALONG_D, SINGLE], ids=["k", "d", "single"])
def test_every_element_is_copied_once(access: Access) -> None:
    exact = 0
    for k, d, pack, threads, size in itertools.product(
        (8, 16, 32, 64, 128), (4, 16, 64, 96, 128, 256), (1, 4, 8, 16), (64, 128, 256), (1, 2, 4)
    ):
        copy = TileCopy(k, d, pack, threads, access, size)
        if k % pack or not copy.is_exact:
            continue
        exact += 1
        sizes, found = places(copy)
        assert np.array_equal(np.sort(found.reshape(-1)), np.arange(k * d)), copy
        assert sizes[0] == threads and tuple(sizes[1:]) == copy.split.shape(k, d)
        assert np.array_equal(np.sort(places(copy, 0)[1], None), np.arange(k * d))
        assert copy.data_per_read * size <= 16 and copy.data_per_write * size <= 16
    assert exact > 300


@pytest.mark.parametrize(
    ("k", "d", "pack", "access", "size", "items", "read", "write"),
    [
        (64, 128, 8, ALONG_K, 2, (8, 1), 8, 8),
        (64, 256, 8, ALONG_D, 2, (8, 8), 8, 8),  # a square of 8 x 8 for each work item
        (64, 128, 8, ALONG_D, 2, (4, 8), 8, 4),  # half a square: the reads stay whole
        (32, 64, 8, ALONG_D, 2, (2, 4), 4, 2),
        (32, 128, 4, ALONG_D, 4, (4, 4), 4, 4),
        (128, 128, 16, ALONG_K, 1, (16, 1), 16, 16),
        (64, 128, 8, SINGLE, 2, (8, 1), 1, 8),  # neighbours in d one by one, whole packs to LDS
    ],
)
def test_slices(
    k: int, d: int, pack: int, access: Access, size: int, items: tuple[int, int], read: int, write: int
) -> None:
    copy = TileCopy(k, d, pack, 256, access, size)
    assert (copy.split.items, copy.data_per_read, copy.data_per_write) == (items, read, write)
    assert copy.is_turned == (min(items) > 1)


def test_neighbouring_work_items_follow_memory() -> None:
    _, along_k = places(TileCopy(64, 128, 8, 256, ALONG_K, 2))
    first = along_k.reshape(256, -1)[:, 0]
    assert [int(x) // 128 for x in first[:9]] == [0, 8, 16, 24, 32, 40, 48, 56, 0], (
        "a row of K, then the next"
    )
    _, along_d = places(TileCopy(64, 256, 8, 256, ALONG_D, 2))
    assert [int(x) for x in along_d.reshape(256, -1)[:3, 0]] == [0, 8, 16]
    _, single = places(TileCopy(64, 128, 8, 256, SINGLE, 2))
    assert [int(x) for x in single.reshape(256, -1)[:3, 0]] == [0, 1, 2]


def test_work_items_that_fill_one_pack_together_are_neighbours() -> None:
    """Half packs of 8 bytes: two work items next to one another write 16 neighbouring bytes."""
    copy = TileCopy(64, 128, 8, 256, ALONG_D, 2)
    assert copy.split.lane_inner == 2
    first = places(copy)[1].reshape(256, -1)[:4, 0]
    assert [(int(x) // 128, int(x) % 128) for x in first] == [(0, 0), (4, 0), (0, 8), (4, 8)]


def test_a_tile_that_does_not_divide() -> None:
    assert not TileCopy(4, 4, 1, 64, SINGLE, 4).is_exact
    assert not TileCopy(16, 24, 4, 256, ALONG_K, 4).is_exact
