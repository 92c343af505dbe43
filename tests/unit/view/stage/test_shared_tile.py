"""SharedTile: one to one, as TMA writes it, and as wgmma reads it at every start."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from imbrex.index.query import is_injective
from imbrex.view.stage.shared_tile import SWIZZLES, SharedTile, flaw

from ..memory import Array, read, written
from ..points import covers_once

ELEMENTS = {1: np.uint8, 2: np.uint16, 4: np.uint32}
INSTRUCTION_K = {1: 32, 2: 16, 4: 8}


def tiles() -> Iterator[SharedTile]:
    sizes = product((16, 32, 64, 128), (8, 64, 72, 96, 128, 256))
    for (k, d), width, major, swizzle in product(sizes, ELEMENTS, ("k", "d"), (*SWIZZLES, 0)):
        if flaw(k, d, width, major, swizzle) is None and k >= INSTRUCTION_K[width]:
            yield SharedTile(k, d, width, major, swizzle)


TILES = list(tiles())
READ = [t for t in TILES if t.major == "k" or t.element_bytes == 2]


def stored(tile: SharedTile) -> tuple[Array, Array]:
    """A matrix (k, d) of random elements, and shared memory with it, as TMA's accesses leave it."""
    rng = np.random.default_rng(0)
    top = np.iinfo(ELEMENTS[tile.element_bytes]).max
    matrix = rng.integers(0, top, (tile.k, tile.d), ELEMENTS[tile.element_bytes])
    memory = np.zeros(tile.bytes, np.uint8)
    for block in tile.blocks:
        part = matrix[block.k0 : block.k0 + block.k, block.d0 : block.d0 + block.d]
        written(memory, block.byte_offset, part.T if tile.major == "k" else part, tile.swizzle)
    return matrix, memory


def test_there_are_tiles_of_every_kind() -> None:
    kinds = {(t.element_bytes, t.major, t.swizzle) for t in TILES}
    assert len(kinds) == 3 * 2 * 4 and len(READ) > 200


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_the_map_is_one_to_one_and_where_tma_writes(tile: SharedTile) -> None:
    assert is_injective(tile.map)
    assert covers_once(tile.map)
    matrix, memory = stored(tile)
    (element,), _ = tile.map.evaluate(np.indices((tile.k, tile.d)))
    assert np.array_equal(memory.view(matrix.dtype)[element], matrix)


@pytest.mark.parametrize("tile", READ, ids=str)
def test_an_instruction_reads_its_part_through_the_descriptor(tile: SharedTile) -> None:
    """64 rows, or 8 columns where the tile has fewer, by 32 bytes of k, from every start."""
    matrix, memory = stored(tile)
    k_each, d_each = INSTRUCTION_K[tile.element_bytes], 64 if tile.d % 64 == 0 else tile.d
    for k0, d0 in product(range(0, tile.k, k_each), range(0, tile.d, d_each)):
        found = read(memory, tile.start(k0, d0), tile.descriptor, tile.major, (k_each, d_each), matrix.dtype)
        assert np.array_equal(found, matrix[k0 : k0 + k_each, d0 : d0 + d_each]), (k0, d0)


@pytest.mark.parametrize("major", ["k", "d"])
@pytest.mark.parametrize("field", ["stride_bytes", "code", "leading_bytes"])
def test_control_another_descriptor_reads_another_matrix(major: str, field: str) -> None:
    tile = SharedTile(32, 128, 2, major, 64)  # type: ignore[arg-type]
    if field == "leading_bytes":  # of k major tiles, only those without a swizzle have it
        tile = SharedTile(32, 128, 2, major, 0 if major == "k" else 64)  # type: ignore[arg-type]
    matrix, memory = stored(tile)
    value = {"stride_bytes": 1024, "code": 1, "leading_bytes": 512}[field]
    wrong = tile.descriptor._replace(**{field: value})
    assert wrong != tile.descriptor
    found = read(np.tile(memory, 4), 0, wrong, tile.major, (16, 64), matrix.dtype)
    assert not np.array_equal(found, matrix[:16, :64])


def test_descriptors_by_hand() -> None:
    """Atoms of eight rows; blocks of columns a whole tile's rows apart."""
    assert SharedTile(64, 128, 2, "k", 128).descriptor == (16, 1024, 1)
    assert SharedTile(64, 128, 2, "k", 32).descriptor == (16, 256, 3)
    assert SharedTile(64, 128, 2, "k", 0).descriptor == (128 * 16, 128, 0)
    assert SharedTile(64, 128, 2, "d", 128).descriptor == (64 * 128, 1024, 1)
    assert SharedTile(64, 128, 2, "d", 64).descriptor == (64 * 64, 512, 2)
    assert SharedTile(64, 128, 2, "d", 0).descriptor == (128, 64 * 16, 0)
    tile = SharedTile(128, 256, 2, "k", 128)
    assert [tile.start(k, 0) for k in (0, 16, 48, 64)] == [0, 32, 96, 256 * 128]
    assert tile.start(0, 64) == 64 * 128


def test_what_is_no_tile() -> None:
    assert flaw(32, 128, 2, "k", 128) == "a row of 64 neighbours along k does not divide the tile's 32"
    assert flaw(64, 100, 2, "k", 128) == "the tile's 100 rows along d are not a multiple of 8"
    assert flaw(64, 96, 2, "d", 128) == "a row of 64 neighbours along d does not divide the tile's 96"
    with pytest.raises(AssertionError, match="does not divide"):
        SharedTile(32, 128, 2, "k", 128)
    with pytest.raises(AssertionError, match="16 bits only"):
        _ = SharedTile(64, 128, 1, "d", 128).descriptor
    with pytest.raises(AssertionError, match="not the first row of an atom"):
        SharedTile(64, 128, 2, "k", 128).start(0, 4)
