"""Whole kernels that others timed: TFLOP/s of a matrix product, and its loop.

    gluon        ROCm/gfx950-gluon-tutorials, MI355X: READMEs of v2 to v9 and a8w8, one tag as far as told
    HipKittens   HazyResearch/HipKittens, analysis/*_gemm: JSON of times, MI355X and MI325X; its tile is
                 256 x 256, eight waves that take turns
    ladder       AMD, "FP8 GEMM Optimization on AMD CDNA4 Architecture" (rocm.blogs.amd.com), MI355X: the
                 steps of eight waves; the loop is rebuilt with two buffers and without an order
    gfx942       ROCm/gfx950-gluon-tutorials, kernels/gemm/gfx942, MI300X: loops of 12 s at its power's limit

Left out: products below 4096 cubed, which are over in 30 us and less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.unit.timing.published import (
    behind_products,
    big_tile,
    eight_bit_tile,
    opt2,
    opt3,
    ping_pong_942,
    ping_pong_950,
    skeleton,
    sliced,
    straight,
    wait,
)

from imbrex.chip import GPU_MACHINES, GpuMachine
from imbrex.timing.kernel import Product
from imbrex.timing.operation import Loop, Operation

__all__ = ["KERNELS", "Timed", "machine_of"]

MI325X = 0.66
"""Share of the highest clock that AMD saw at full load: 1354 to 1464 of 2100 MHz ("Measuring maximum
achievable FLOPs", rocm.blogs.amd.com); power allows it more than an MI300X."""


@dataclass(frozen=True)
class Timed:
    """sizes: m, n, k.  tflops: measured.  is_fitted: the clock was fitted to it."""

    name: str
    product: str
    sizes: tuple[int, int, int]
    tflops: float
    loop: Loop
    tile: tuple[int, int, int] = (256, 256, 64)
    waves: int = 4
    steps: int = 1
    is_fitted: bool = False

    def as_product(self, gpu: GpuMachine) -> Product:
        m, n, k = self.sizes
        rows, columns, step = self.tile
        workgroups = -(-m // rows) * -(-n // columns)
        stored = 2.0 * rows * columns
        is_ping_pong = any(op.unit == "priority" for op in self.loop) or "ping" in self.name
        return Product(self.loop, self.waves, 1, workgroups, k // step, stored, 0.0, self.steps, is_ping_pong)


def machine_of(product: str) -> GpuMachine:
    if product == "MI325X":
        gpu = GPU_MACHINES["gfx942"]
        assert gpu.device is not None
        return replace(gpu, device=replace(gpu.device, busy=MI325X))
    return GPU_MACHINES["gfx942" if product == "MI300X" else "gfx950"]


def in_order(rows: int, columns: int, loads: int) -> Loop:
    """8-bit floats, two buffers: loads of the next step, reads of all operands of 16 rows and 128 of k, those
    of the columns first, and the products of a row as soon as it is there.
    """
    begin = (*skeleton(f"D{loads}"), *wait(vm=loads), Operation("barrier"))
    loop = [*begin, *skeleton(f"R{2 * (rows + columns)}")]
    for row in range(rows):
        loop += [*wait(lgkm=2 * (rows - 1 - row)), *skeleton(f"M{columns}", 32)]
    return tuple(loop)


def eight_bit_ping_pong() -> Loop:
    """HipKittens' and AMD's: as ping_pong_950 with products of 32 clocks for steps of 128."""
    half = [replace(op, clocks=32.0) if op.unit == "matrix" else op for op in ping_pong_950()]
    matrix = [place for place, op in enumerate(half) if op.unit == "matrix"]
    dropped = set(matrix[::2])
    return tuple(op for place, op in enumerate(half) if place not in dropped)


def _kernels() -> Sequence[Timed]:
    gluon, big = (4096, 4096, 8192), big_tile()
    cubes = (4096, 4096, 4096), (8192, 8192, 8192), (16384, 16384, 16384)
    pairs = zip(cubes, (1413, 1610, 1571), (2741, 3327, 3378), (714, 749, 714), strict=True)
    kittens: list[Timed] = []
    for sizes, half, eight, older in pairs:
        cube = f"{sizes[0]}^3"
        kittens += [
            Timed(f"HipKittens bf16 {cube}", "MI355X", sizes, half, ping_pong_950(), waves=8),
            Timed(
                f"HipKittens fp8 {cube}", "MI355X", sizes, eight, eight_bit_ping_pong(), (256, 256, 128), 8
            ),
            Timed(f"HipKittens ping-pong bf16 {cube}", "MI325X", sizes, older, ping_pong_942(), waves=8),
        ]
    square, step = (4096, 4096, 4096), (256, 256, 128)
    k942 = (4096, 4864, 8256)
    return (
        Timed("gluon v2", "MI355X", gluon, 673, straight("D16", "C32"), is_fitted=True),
        Timed("gluon v3", "MI355X", gluon, 755, straight("D16", "R32"), is_fitted=True),
        Timed("gluon v4", "MI355X", gluon, 964, straight("D16", "R32", vm=16), is_fitted=True),
        Timed("gluon v5", "MI355X", gluon, 1034, behind_products(), is_fitted=True),
        Timed("gluon v7, all", "MI355X", gluon, 1567, sliced(), steps=2, is_fitted=True),
        Timed("gluon v9, all", "MI355X", gluon, 1489, big, steps=2, is_fitted=True),
        Timed("gluon inter_wave", "MI355X", gluon, 1437, ping_pong_950(), waves=8),
        Timed("gluon a8w8, all", "MI355X", (4096, 4096, 16384), 3232, eight_bit_tile(), step, steps=2),
        Timed("ladder 128x128, 8 waves", "MI355X", square, 1829, in_order(4, 2, 4), (128, 128, 128), 8),
        Timed("ladder 256x256, 8 waves", "MI355X", square, 2288, in_order(8, 4, 8), step, 8),
        Timed("ladder ping-pong", "MI355X", square, 2680, eight_bit_ping_pong(), step, 8),
        Timed("gfx942 opt 2, f16", "MI300X", k942, 585, opt2()),
        Timed("gfx942 opt 3, f16", "MI300X", k942, 605, opt3()),
        *kittens,
    )


KERNELS = _kernels()
