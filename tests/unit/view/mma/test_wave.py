"""Waves: every instruction's fragments, multiplied as the instruction does, make the product of the tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from imbrex.index.map import Dim, Map
from imbrex.index.query import vector_width
from imbrex.view.mma import Instruction, in_registers, instruction, wave
from imbrex.view.mma.fragment import KParts, k_parts, run_of
from imbrex.view.mma.wave import Side, WaveTiles, tile_of

ALIKE = [i for i in in_registers() if k_parts(i.a) == k_parts(i.b) and not i.a.symbolic.guards]
"""Instructions whose A and B split k alike, so that packs meet, and all of whose lanes hold something."""


def cut(used: Instruction, along: Side, kpack_parts: int = 1, interleave: int = 1) -> WaveTiles:
    kpack = kpack_parts * k_parts(used.a).registers
    return WaveTiles(used, 1, 2, 2, 1, kpack, along, interleave)


def everywhere(map: Map) -> tuple[tuple[Any, ...], Any]:
    shape = tuple(d.size for d in map.upper)
    coords, valid = map.evaluate(list(np.indices(shape)))
    return tuple(np.broadcast_to(c, shape) for c in coords), np.broadcast_to(valid, shape)


def product(tiles: WaveTiles, k_outer: int = 2, spoilt: bool = False) -> bool:
    """Does every lane, given its fragments, end with its elements of A^T B?"""
    used, k = tiles.instruction, k_outer * tiles.k_step
    sizes = {s: tiles.waves(s) * tiles.tiles(s) * tiles.rows(s) for s in ("m", "n")}
    random = np.random.default_rng(7)
    a, b = (random.integers(-3, 4, (k, sizes[s])) for s in ("m", "n"))
    held_a, held_b = (
        x[everywhere(Map(wave.fragment((Dim("k", k), Dim(s, sizes[s])), tiles, s)))[0]]
        for x, s in ((a, "m"), (b, "n"))
    )
    if spoilt:
        held_b = np.roll(held_b, 1, axis=0)
    c = np.zeros((tiles.threads, tiles.m_tiles, tiles.n_tiles, used.c_elements), np.int64)
    registers = tiles.k.registers
    for step in np.ndindex(tiles.threads // used.wave, k_outer, tiles.kpack // registers, *c.shape[1:3]):
        w, outer, slot, i, j = step
        lanes, part = (
            slice(w * used.wave, (w + 1) * used.wave),
            slice(slot * registers, (slot + 1) * registers),
        )
        left = matrix(used.a, held_a[lanes, outer, i, part])
        right = matrix(used.b, held_b[lanes, outer, j, part])
        c[lanes, i, j] += (left @ right)[everywhere(used.c)[0]]
    dims = (Dim("m_tile", tiles.m_tiles), Dim("n_tile", tiles.n_tiles), Dim("register", used.c_elements))
    stored = c[:, *everywhere(Map(wave.held(dims, tiles)))[0]]
    found = np.full((sizes["m"], sizes["n"]), 10**6)
    owned = Map(wave.computed((Dim("workgroup", 1), *(Dim(s, sizes[s]) for s in ("m", "n"))), tiles))
    (_, m, n), _ = everywhere(owned)
    found[m[0], n[0]] = stored
    return bool(np.array_equal(found, a.T @ b))


def matrix(map: Map, held: Any) -> Any:
    coords, valid = everywhere(map)
    out = np.zeros([d.size for d in map.lower], np.int64)
    out[tuple(c[valid] for c in coords)] = held[valid]
    return out


@pytest.mark.parametrize("used", ALIKE, ids=str)
def test_every_instruction_multiplies_tiles(used: Instruction) -> None:
    for along in ("m", "n") if used.blocks > 1 else ("m",):
        assert product(cut(used, along))


@pytest.mark.parametrize("name", ["mfma_f32_32x32x8_f16", "mfma_f64_16x16x4_f64", "mfma_f32_4x4x1_16b_f32"])
def test_packs_and_turns(name: str) -> None:
    used = instruction(name)
    for along in ("m", "n") if used.blocks > 1 else ("m",):
        for turns in (1, 2):
            assert product(cut(used, along, kpack_parts=2, interleave=turns))


@pytest.mark.parametrize(
    ("name", "elements"),
    [("mfma_f32_32x32x16_f16", 4), ("mfma_f32_16x16x32_f16", 4), ("mfma_i32_32x32x32_i8", 8)],
)
def test_lanes_that_transpose_get_their_fragments(name: str, elements: int) -> None:
    """Of 16 lanes each reads a part of a row of 16; lane l gets column l.  Where rows of k lie in LDS, a part
    is neighbours there.
    """
    tiles = cut(instruction(name), "m")
    dims = (Dim("k", 2 * tiles.k_step), Dim("n", tiles.n_waves * tiles.n_tiles * tiles.rows("n")))
    fragment = wave.fragment(dims, tiles, "n")
    (k, n), _ = everywhere(Map(fragment))
    read = Map((*wave.turned(fragment[0].upper, elements), *fragment))
    assert vector_width(read, "element") == elements
    coords, _ = everywhere(read)
    for plain, given in zip((k, n), coords, strict=True):
        items, outer, tile, reads, _ = given.shape
        rows = given.reshape(items // 16, elements, 16 // elements, outer, tile, reads, elements)
        columns = rows.transpose(0, 2, 6, 3, 4, 5, 1).reshape(plain.shape)
        assert np.array_equal(columns, plain)


def test_a_wrong_lane_is_noticed() -> None:
    """The control: what each lane holds of B is one lane off."""
    for name in ("mfma_f32_32x32x8_f16", "mfma_f64_16x16x4_f64"):
        assert not product(cut(instruction(name), "m"), spoilt=True)


@pytest.mark.parametrize(
    ("name", "parts", "run"),
    [
        ("mfma_f32_32x32x8_f16", (1, 2, 4), 4),
        ("mfma_f32_16x16x4_f32", (1, 4, 1), 4),
        ("mfma_f64_16x16x4_f64", (1, 4, 1), 1),
        ("mfma_i32_16x16x64_i8", (1, 4, 16), 4),
        ("mfma_f32_16x16x128_fp8_fp8", (2, 4, 16), 4),
        ("mfma_f32_4x4x4_16b_f16", (1, 1, 4), 4),
        ("wmma_f32_16x16x16_f16_w32", (1, 1, 16), 1),
        ("wmma_f32_16x16x16_f16_w32_gfx12", (2, 2, 4), 8),
    ],
)
def test_parts_of_k_and_neighbours_of_c(name: str, parts: tuple[int, int, int], run: int) -> None:
    used = instruction(name)
    assert k_parts(used.a) == k_parts(used.b) == KParts(*parts)
    assert k_parts(used.a).registers == used.a_elements and run_of(used.c) == run


@pytest.mark.parametrize(("turns", "width"), [(1, 4), (2, 8), (4, 16)])
def test_interleaving_widens_the_stores(turns: int, width: int) -> None:
    tiles = WaveTiles.of(instruction("mfma_f32_16x16x16_f16"), (128, 128), (64, 64), 8, turns)
    assert tiles is not None
    c = Map(wave.computed((Dim("workgroup", 1), Dim("m", 128), Dim("n", 128)), tiles))
    transposed = c.then(_column_major(128))
    assert dict(c.upper)["neighbour"] == vector_width(transposed, "neighbour") == width


def _column_major(size: int) -> Map:
    from imbrex.index.map import layer_over
    from imbrex.index.rule import PassThrough

    below = (Dim("workgroup", 1), Dim("n", size), Dim("m", size))
    return Map((layer_over(below, *((PassThrough(), n, n) for n in ("workgroup", "m", "n"))),))


def test_blocks_lie_along_the_side_that_they_divide() -> None:
    used = instruction("mfma_f32_4x4x1_16b_f32")
    assert tile_of(used, "m") == (64, 4) and tile_of(used, "n") == (4, 64)
    tall, wide = (WaveTiles.of(used, tile, tile, 1) for tile in ((64, 4), (4, 64)))
    assert tall is not None and tall.blocks_along == "m"
    assert wide is not None and wide.blocks_along == "n" and wide.rows("n") == 64
    assert WaveTiles.of(used, (48, 64), (48, 48), 1) is None
    assert WaveTiles.of(instruction("mfma_f32_32x32x8_f16"), (64, 64), (32, 32), 8, 2) is None
