"""Loops of kernels that others measured, rebuilt from what they published: the operations of a wave in order.

A skeleton is `M64` matrix operations, `R8` reads of 16 bytes a lane from LDS, `W4` writes, `G4` loads, `D4`
loads past the registers, `V9` vector instructions, `B` a barrier with a wait for LDS before it.  Sources:

    gluon    ROCm/gfx950-gluon-tutorials, the README of each version; 4096 x 4096 x 8192, f16, gfx950.  Where
             compilers changed from tag to tag, the numbers are those of one tag
    tiles    its docs/tcp_bound_tile_model.md, table of section 3
    a8w8     its kernels/gemm/intra_wave/a8w8, 4096 x 4096 x 16384
    inter    its kernels/gemm/inter_wave/a16w16 and kernels/gemm/gfx942/inter_wave
    gfx942   its kernels/gemm/gfx942/intra_wave and note.md, 4096 x 4864 x 8256

Not rebuilt: v0 and v1 (140 branches in the loop; addresses), v7 and v5 of later tags (copies between register
files, whose places are not told), HipKittens' producers and consumers (two programs beside each other).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from imbrex.timing.operation import Loop, Operation, Residents

__all__ = ["LOOPS", "Published", "big_tile", "eight_bit_tile", "ping_pong_942", "ping_pong_950"]

ONE, PING_PONG = Residents(1, 1), Residents(2, 2, is_ping_pong=True)
END = (Operation("scalar"), Operation("scalar"), Operation("branch"))
KINDS: dict[str, Callable[[], Operation]] = {
    "R": lambda: Operation("read", lane_bytes=16),
    "W": lambda: Operation("write", lane_bytes=16),
    "G": lambda: Operation("load", lane_bytes=16),
    "D": lambda: Operation("direct", lane_bytes=16),
    "V": lambda: Operation("vector", 4),
    "C": lambda: Operation("read", lane_bytes=16, factor=4.0),
}


@dataclass(frozen=True)
class Published:
    """measured: per cent of the time that a SIMD's matrix pipe is busy.  is_fitted: constants were fitted to
    it; the others were kept out.
    """

    name: str
    chip: str
    measured: float
    loop: Loop
    residents: Residents = ONE
    is_fitted: bool = False


def skeleton(text: str, clocks: int = 16) -> Loop:
    found: list[Operation] = []
    for word in text.split():
        kind, count = word[0], int(word[1:] or 1)
        if kind == "M":
            found += [Operation("matrix", clocks)] * count
        elif kind == "B":
            found += [Operation("wait", lgkm=0), Operation("barrier")]
        else:
            found += [KINDS[kind]()] * count
    return tuple(found)


def wait(vm: int | None = None, lgkm: int | None = None) -> Loop:
    return (Operation("wait", vm=vm, lgkm=lgkm),)


def covered(accesses: str, products: int, clocks: int = 16) -> Loop:
    """Each access followed by products of as many clocks as its path takes (64 for a load, 16 for a read),
    one at least; half of the products that are left before all, half behind.
    """
    found: list[Operation] = []
    left = products
    for op in skeleton(accesses):
        many = min(left, max(1, (64 if op.unit == "direct" else 16) // clocks))
        left -= many
        found += [op, *[Operation("matrix", clocks)] * many]
    product = Operation("matrix", clocks)
    return (*[product] * (left // 2), *found, *[product] * (left - left // 2))


def quadrants(bm: int, bn: int, row_bytes: int = 128, k_products: int = 2, clocks: int = 16) -> Loop:
    """v8's step of K: four quadrants, in each the next operands are read and a half tile is loaded for the
    step after the next; two steps a trip.
    """
    a_loads, b_loads = (size // 2 * row_bytes // 4096 for size in (bm, bn))
    a_reads, b_reads = (size // 64 * row_bytes // 64 for size in (bm, bn))
    products, every = bm * bn // 256 // 16 * k_products, 2 * (a_loads + b_loads)

    def region(reads: int, loads: int, newer: int) -> Loop:
        start = (*wait(vm=every + newer, lgkm=0), Operation("barrier"))
        return (*start, *covered(f"R{reads} D{loads}", products, clocks))

    step = (
        *region(a_reads, b_loads, b_loads),
        *region(b_reads, a_loads, b_loads),
        *region(b_reads, a_loads, a_loads),
        *region(a_reads, b_loads, a_loads),
    )
    return (*step, *step, *END)


def big_tile() -> Loop:
    """256 x 256, f16, four waves."""
    return quadrants(256, 256)


def eight_bit_tile() -> Loop:
    """256 x 256 x 128, 8-bit floats, four waves: one product of 32 clocks for two reads."""
    return quadrants(256, 256, k_products=1, clocks=32)


def sliced() -> Loop:
    """v7: two halves of N a step, loads of A and half of B behind those of the other half."""
    start = (*wait(vm=16, lgkm=0), Operation("barrier"))
    step = (*start, *covered("R8 D12", 64), *start, *covered("R24 D4", 64))
    return (*step, *step, *END)


def ping_pong_950() -> Loop:
    """Eight waves: products of a quadrant, then its reads and loads, with a barrier between."""
    step: list[Operation] = []
    for reads in (8, 4, 4, 8):
        step += [*wait(vm=10), *skeleton("M16"), Operation("barrier"), Operation("priority", level=1)]
        step += [*skeleton(f"R{reads} D2"), *wait(lgkm=0), Operation("priority"), Operation("barrier")]
    return (*step, *END)


def ping_pong_942() -> Loop:
    """Eight regions of eight waves: memory and 32 products in turn."""
    regions = ("G4 R8", "G4 R4", "R8 w4 W4", "R4 w0 W4")
    step: list[Operation] = []
    for text in regions:
        for word in text.split():
            step += wait(vm=int(word[1:])) if word[0] == "w" else skeleton(word)
        step += [*wait(lgkm=0), Operation("barrier"), *skeleton("M32"), Operation("barrier")]
    return (*step, *END)


BASE_942 = (
    "B R4 M1 R4 M3 B M1 R3 M1 W1 W2 W1 G2 M1 G2 W4 M1 G4 M23 R1 M1 R1 M46 R1 M1 R1 M1 R1 B W4 G3 W4 G5 M72 "
    "R3 M7 R3 M65 R3 M12 R3 M10 R3 M2 R1 M8"
)
"""As section 0 of note.md prints it."""
REGION_942 = (
    "M6 R1 M2 R1 M2 R1 M2 R1 M2 R1 M2 R1 M2 R1 M2 R1 M25 W1 M1 W1 M2 W1 M2 W1 M1 G1 M2 G1 M4 G1 M4 G1 M2"
)
"""A quarter of opt 2's loop, as section 2.2 of note.md prints it, and the products that it leaves out."""


def opt2() -> Loop:
    """A barrier behind the last read of three of four regions."""
    barred = REGION_942.replace("R1 M25", "R1 B M25")
    return (*skeleton(f"{barred} {barred} {REGION_942} {barred}"), *END)


def opt3(writes: bool = True) -> Loop:
    half = f"B {REGION_942} {REGION_942}"
    text = f"{half} {half}"
    return (*skeleton(text if writes else re.sub(r" W1", "", text)), *END)


def straight(before: str, behind: str = "", vm: int = 0) -> Loop:
    """Loads, a wait for those of this step, a barrier, reads, a wait, products."""
    begin = (*skeleton(before), *wait(vm=vm), Operation("barrier"))
    return (*begin, *skeleton(behind), *wait(lgkm=0), *skeleton("M128"), *END)


def behind_products() -> Loop:
    """v5: the products of what was read before, then loads and reads."""
    return (*skeleton("M128"), *wait(0, 0), Operation("barrier"), *skeleton("D16 R32"), *wait(lgkm=0), *END)


def interleaved(copies: int) -> Loop:
    """v5 and v6 behind a scheduler.  copies: between registers, at the end."""
    begin = (*wait(0, 0), Operation("barrier"), *covered("D16 R32", 128), *wait(lgkm=0))
    return (*begin, *skeleton(f"V{copies}" if copies else ""), *END)


TILES = ((256, 256, 96), (256, 128, 83), (128, 256, 84), (128, 128, 69), (256, 64, 55), (64, 256, 57),
         (128, 64, 47), (64, 128, 47))  # fmt: skip
FITTED_TILES = ((256, 128), (128, 128), (128, 64))


def _loops() -> Sequence[Published]:
    tiles = [
        Published(f"tile {m}x{n}", "gfx950", busy, quadrants(m, n), is_fitted=(m, n) in FITTED_TILES)
        for m, n, busy in TILES
    ]
    return (
        Published("gluon v2, reads in conflict", "gfx950", 33.0, straight("D16", "C32")),
        Published("gluon v3, one buffer", "gfx950", 41.7, straight("D16", "R32"), is_fitted=True),
        Published("gluon v4, two buffers", "gfx950", 51.9, straight("D16", "R32", vm=16)),
        Published("gluon v5, reads ahead", "gfx950", 57.7, behind_products(), is_fitted=True),
        Published("gluon v5 + scheduler, 94 copies", "gfx950", 80.0, interleaved(94)),
        Published("gluon v6 + scheduler", "gfx950", 87.7, interleaved(0)),
        Published("gluon v7, all", "gfx950", 98.0, sliced()),
        Published("gluon v8, all", "gfx950", 98.7, big_tile()),
        *tiles,
        Published("gluon a8w8, all", "gfx950", 99.5, eight_bit_tile()),
        Published("inter_wave, 8 waves", "gfx950", 99.8, ping_pong_950(), PING_PONG),
        Published("gfx942 base", "gfx942", 69.7, (*skeleton(BASE_942), *END)),
        Published("gfx942 opt 2", "gfx942", 84.0, opt2()),
        Published("gfx942 opt 3", "gfx942", 89.0, opt3()),
        Published("gfx942 opt 3 without writes", "gfx942", 96.3, opt3(writes=False)),
        Published("gfx942 inter_wave, 8 waves", "gfx942", 98.0, ping_pong_942(), PING_PONG),
    )


LOOPS = _loops()
