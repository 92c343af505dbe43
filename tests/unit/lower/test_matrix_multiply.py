"""A wave's product, written by hand as threadwise IR: its statements, and its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from imbrex.build.shared_library import build_shared
from imbrex.emit.bundle import Facts, bundle
from imbrex.index.expr import var
from imbrex.index.map import Map
from imbrex.ir.dialect import load
from imbrex.lower.build import program
from imbrex.lower.stmt import For, MatrixMultiply, Move, Program, walk
from imbrex.run.cpu import Parameter
from imbrex.run.cpu import load as load_library
from imbrex.symbol import symbol_of
from imbrex.view.mma import instruction

WAVE = """
func.func @wave(%a: memref<64x2x8xf16>, %b: memref<64x8xf16>, %c: memref<64x2x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 64 } do {
    %thread_a = miopen.alloc() : memref<2x8xf16, #5>
    %thread_b = miopen.alloc() : memref<2x4xf16, #5>
    %thread_c = miopen.alloc() : memref<2x16xf32, #5>
    %packs = miopen.transform(%thread_a) {
      layout = [0: passthrough(0: tile), tile, [1, 2]: unmerge(1: k), [slot, register]]
    } : memref<2x8xf16, #5> to memref<2x2x4xf16, #5>
    miopen.fill(%thread_c, %zero) : memref<2x16xf32, #5>, f32
    miopen.threadwise_copy(%a[%item], %thread_a) { vector = 8 }
    miopen.threadwise_copy(%b[%item], %thread_b) { vector = 4 }
    scf.for %slot = %c0 to %c2 step %c1 {
      scf.for %tile = %c0 to %c2 step %c1 {
        miopen.mfma(%packs[%tile, %slot], %thread_b[%slot], %thread_c[%tile])
          { instruction = "mfma_f32_32x32x8_f16" }
      }
    }
    miopen.threadwise_copy(%thread_c, %c[%item]) { vector = 4, alpha = 2.0, beta = 1.0 }
  }
  func.return
}
"""


@pytest.fixture(scope="module")
def wave() -> Program:
    return program(load(WAVE).module, frozenset({2}))


def test_indices_pick_the_registers(wave: Program) -> None:
    (multiply,) = (s for s in walk(wave.kernels[0].body) if isinstance(s, MatrixMultiply))
    tile, slot = var("tile", 2), var("slot", 2)
    assert (multiply.a.offset, multiply.b.offset) == (tile * 8 + slot * 4, slot * 4)
    assert multiply.c.offset == tile * 16
    assert multiply.instruction.name == "mfma_f32_32x32x8_f16"


def test_loops_around_it_are_loops(wave: Program) -> None:
    assert [s.count for s in walk(wave.kernels[0].body) if isinstance(s, For)][-4:] == [2, 2, 2, 4]
    assert [s.width for s in walk(wave.kernels[0].body) if isinstance(s, Move)] == [8, 4, 4]


def test_registers_that_are_no_neighbours_are_refused() -> None:
    """The control: every other element of a pack."""
    strided = WAVE.replace(
        "[1, 2]: unmerge(1: k), [slot, register]", "[2, 1]: unmerge(1: k), [register, slot]"
    )
    assert strided != WAVE
    with pytest.raises(AssertionError, match="registers of thread_a are not neighbours"):
        program(load(strided).module, frozenset({2}))


def test_numbers(wave: Program) -> None:
    """c = 2 * a * b + c; each k slot of the loop is a product of its own, and so is each tile."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((64, 2, 8), (64, 8)))
    c = rng.integers(-3, 4, (64, 2, 16)).astype(np.float32)
    one = instruction("mfma_f32_32x32x8_f16")
    want = c.copy()
    for tile in range(2):
        for slot in range(2):
            left = matrix(one.a, a[:, tile, 4 * slot : 4 * slot + 4])
            right = matrix(one.b, b[:, 4 * slot : 4 * slot + 4])
            want[:, tile] += 2 * (left @ right)[places(one.c)]
    source = bundle(wave, Facts("a test", "none", ()), "emulate")
    parameters = tuple(Parameter(n, x.shape, x.dtype, n == "c") for n, x in (("a", a), ("b", b), ("c", c)))
    load_library(build_shared(source.files).path, symbol_of("wave"), parameters)(a, b, c, threads=1)
    np.testing.assert_array_equal(c, want)


def places(map: Map) -> tuple[Any, ...]:
    """Lower coordinates of each lane's registers."""
    points = np.indices([d.size for d in map.upper])
    return tuple(np.broadcast_to(x, points[0].shape) for x in map.evaluate(list(points))[0])


def matrix(map: Map, registers: Any) -> Any:
    """The matrix that these registers, lane by lane, hold."""
    out = np.zeros([d.size for d in map.lower], np.float32)
    out[places(map)] = registers
    return out
