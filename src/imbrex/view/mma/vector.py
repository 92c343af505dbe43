"""Units of CPUs: the instruction that multiplies a type, an atom of a product whose operands lie as maps say.

An atom is m rows by n columns by k.  Its maps go from (lane, register) to (block, m, k), (block, k, n) and
(block, m, n), as those of GPUs do: a lane is one that holds a sum, a register one of the elements that the
lane multiplies together, neighbours along k.  A row of A is broadcast to all lanes.

Law: a panel of B is [k / t][columns][t], t being the neighbours along k of B's map, and one of A the same
with its rows; nothing else of an instruction decides how operands are packed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

import numpy as np

from imbrex.cached import cached_property
from imbrex.chip import PLAIN, CpuMachine, Unit
from imbrex.chip.adder import FLUSHED, TO_ODD
from imbrex.dtype import DTYPES, PANELS, DType
from imbrex.index.map import Map
from imbrex.view.mma.layout import (
    Side,
    pair_accumulator,
    pair_operand,
    tile_accumulator,
    tile_operand,
    vector_accumulator,
    vector_operand,
)

__all__ = ["CPU_UNITS", "FMA", "CpuUnit", "Numbers", "fastest_unit", "units_of", "without_tiles"]

Numbers: TypeAlias = Literal["ieee", "flushed", "exact"]
"""What an instruction computes: as IEEE 754 says; with subnormal operands and sums as zeros, whatever the
thread's modes are; or integers without any error, modulo 2 to the number of bits."""


@dataclass(frozen=True)
class Tiles:
    """Registers of `rows` rows of as many words, `count` of them; `sums` of these hold sums, the others
    operands.

    product, load, store: cycles from one to the next of its kind; lone: of a row of sums of a single vector,
    half a line of C.  feed, far_feed: of a byte of operands out of L2, and out of L3.  kept, far_kept: of a
    byte of sums to L2 and back, and to L3, between steps of K.  near: of L1, what a panel that stays may
    take.  run, copied: of a run of A's rows that is copied to tiles, and of each vector of it; placed: of a
    run of a tile that is read where it lies; turned: of an element of an A whose rows are k.
    """

    rows: int
    count: int
    sums: int
    product: float
    load: float
    store: float
    lone: float
    feed: float
    far_feed: float
    kept: float
    far_kept: float
    near: float
    run: float
    copied: float
    placed: float
    turned: float
    source: str


AMX_TILES: Final = Tiles(
    rows=16,
    count=8,
    sums=4,
    product=16.0,
    load=8.0,
    store=16.0,
    lone=5.0,
    feed=0.022,
    far_feed=0.057,
    kept=0.09,
    far_kept=0.18,
    near=0.5,
    run=4.0,
    copied=1.0,
    placed=10.0,
    turned=0.3,
    source="Intel SDM, palette 1; cycles measured on an Intel Xeon (Emerald Rapids), in a virtual machine",
)


@dataclass(frozen=True, repr=False)
class CpuUnit:
    """One instruction, in every width that there is.

    operand: the type of A and B; empty where it is any and is widened to the type of the sum.  held: what
    panels hold of it, where that is wider.  together: elements of each operand that a lane multiplies and
    adds.  needs: bytes of a vector -> the feature that a machine has it by.  latency: cycles from a sum to
    the next.  is_shifted: its A is unsigned, so 128 is added on the way to a register, and sums begin at
    -128 times the sum of B's column.  rows: of C in a vector of sums: 2 where four lanes hold 2 x 2 of them.
    adder: how it adds products.  products: registers of products on their way to sums, where an instruction
    of its own adds them.  lasts: how long one takes, in multiply-adds of f32.  tiles: what it computes in,
    where that is not vectors.
    """

    name: str
    operand: str
    together: int
    needs: Mapping[int, str] = field(hash=False)
    numbers: Numbers
    latency: float
    source: str
    is_shifted: bool = False
    rows: int = 1
    adder: Unit = PLAIN
    held: str = ""
    products: int = 0
    lasts: float = 1.0
    tiles: Tiles | None = None

    def __repr__(self) -> str:
        return self.name

    def fits(self, machine: CpuMachine) -> bool:
        """Does the machine have it, in the width of its vectors?"""
        return not self.needs or self.needs.get(machine.vector_bytes, "none") in machine.features

    def panel(self, dtype: DType) -> DType:
        """What panels of an operand hold: its own type, or what it is widened to."""
        if self.held:
            return PANELS[self.held]
        return DTYPES[self.operand] if self.operand else dtype.accumulator

    def a(self, lanes: int) -> Map:
        """Layout of a row of A, which every lane has."""
        return self._operand("a", lanes)

    def b(self, lanes: int) -> Map:
        return self._operand("b", lanes)

    def c(self, lanes: int) -> Map:
        if self.tiles is not None:
            return tile_accumulator(self.tiles.rows, lanes)
        return vector_accumulator(lanes) if self.rows == 1 else pair_accumulator(lanes)

    def _operand(self, side: Side, lanes: int) -> Map:
        if self.tiles is not None:
            return tile_operand(side, self.tiles.rows, lanes, self.together)
        form = vector_operand if self.rows == 1 else pair_operand
        return form(side, lanes, self.together)

    def registers(self, rows: int, vectors: int) -> int:
        """Registers alive in the innermost loop: the accumulators, a row of B, some of A."""
        if self.tiles is not None:
            return -(-rows // self.tiles.rows) * vectors + self.tiles.count - self.tiles.sums
        return -(-rows // self.rows) * self.rows * vectors + self.rows * vectors + self.products + 1

    def available(self, machine: CpuMachine) -> int:
        """Registers that there are."""
        return machine.vector_registers if self.tiles is None else self.tiles.count

    def tallest(self, machine: CpuMachine, vectors: int) -> int:
        """Most rows of a register tile, of one vector one less than there are registers for: compilers spill
        sums where none is left, and it takes 1.4 times as long.  Three less of sixteen registers, where the
        addresses of rows are spilled, too.
        """
        if self.tiles is not None:
            return self.tiles.sums // vectors * self.tiles.rows
        spared = (3 if machine.vector_registers <= 16 else 1) if vectors == 1 else 0
        registers = machine.vector_registers - 1 - spared - self.products
        return (registers - self.rows * vectors) // (self.rows * vectors) * self.rows

    def rate(self, machine: CpuMachine, lanes: int) -> float:
        """Multiply-adds that a core does in a cycle, in vectors of so many sums."""
        if self.tiles is not None:
            return self.tiles.rows * lanes * self.tiles.rows * self.packed / self.tiles.product
        return machine.fma_per_cycle / self.lasts * lanes * self.packed

    @cached_property
    def packed(self) -> int:
        """Neighbours along k that stay together in a panel, by B's map."""
        (_, k, _), _ = self.b(4).evaluate([0, np.arange(self.together)])
        ks = np.broadcast_to(k, self.together)
        assert (np.diff(ks) == 1).all(), f"a lane of {self.name} multiplies neighbours along k"
        return len(ks)


FMA: Final = CpuUnit(
    "fma", "", 1, {}, "ieee", 4.0, "IEEE 754, fusedMultiplyAdd; of integers vpmulld and vpaddd"
)
VDPBF16PS: Final = CpuUnit(
    "vdpbf16ps",
    "bf16",
    2,
    {64: "avx512_bf16"},
    "flushed",
    6.0,
    "Intel SDM, VDPBF16PS: DAZ and FTZ, MXCSR unread",
    adder=FLUSHED,
)
VPMADDWD: Final = CpuUnit(
    "vpmaddwd",
    "i8",
    2,
    {64: "avx512bw", 32: "avx2"},
    "exact",
    1.0,
    "Intel SDM, VPMADDWD: pairs of s16, and VPADDD, of the latency; how long both take measured on a Zen 3",
    held="i16",
    products=1,
    lasts=1.25,
)
VPDPBUSD: Final = CpuUnit(
    "vpdpbusd", "i8", 4, {64: "avx512_vnni", 32: "avx_vnni"}, "exact", 5.0, "Intel SDM, VPDPBUSD: u8 by s8",
    is_shifted=True,
)  # fmt: skip
SDOT: Final = CpuUnit(
    "sdot", "i8", 4, {16: "asimddp", 32: "sve", 64: "sve"}, "exact", 3.0, "Arm ARM, SDOT (vector)"
)
BFDOT: Final = CpuUnit(
    "bfdot",
    "bf16",
    2,
    {16: "bf16", 32: "svebf16", 64: "svebf16"},
    "flushed",
    5.0,
    "Arm ARM, BFDOT (vector): products and sums rounded to odd, subnormal numbers as zeros",
    adder=TO_ODD,
)
SMMLA: Final = CpuUnit(
    "smmla", "i8", 8, {16: "i8mm", 32: "svei8mm", 64: "svei8mm"}, "exact", 3.0, "Arm ARM, SMMLA (vector)",
    rows=2,
)  # fmt: skip
BFMMLA: Final = CpuUnit(
    "bfmmla",
    "bf16",
    4,
    {16: "bf16", 32: "svebf16", 64: "svebf16"},
    "flushed",
    6.0,
    "Arm ARM, BFMMLA: products and sums rounded to odd, subnormal numbers as zeros",
    rows=2,
    adder=TO_ODD,
)
TDPBF16PS: Final = CpuUnit(
    "tdpbf16ps",
    "bf16",
    2,
    {64: "amx_bf16"},
    "flushed",
    52.0,
    "Intel SDM, TDPBF16PS: even and odd k apart, then together, then to C; DAZ and FTZ, MXCSR unread",
    adder=FLUSHED,
    tiles=AMX_TILES,
)
TDPBSSD: Final = CpuUnit(
    "tdpbssd", "i8", 4, {64: "amx_int8"}, "exact", 52.0, "Intel SDM, TDPBSSD: s8 by s8", tiles=AMX_TILES
)

CPU_UNITS: Final[Mapping[str, CpuUnit]] = {
    unit.name: unit
    for unit in (
        *(FMA, VDPBF16PS, VPMADDWD, VPDPBUSD),
        *(SDOT, BFDOT, SMMLA, BFMMLA),
        *(TDPBF16PS, TDPBSSD),
    )
}


def units_of(machine: CpuMachine, dtype: DType) -> tuple[CpuUnit, ...]:
    """What multiplies this type on the machine: multiply-adds of what it is widened to, or instructions."""
    return tuple(
        unit for unit in CPU_UNITS.values() if unit.operand in ("", dtype.name) and unit.fits(machine)
    )


def fastest_unit(machine: CpuMachine, dtype: DType) -> CpuUnit:
    """What multiplies most of this type at a time on the machine: tiles, then the most neighbours along k."""
    return max(units_of(machine, dtype), key=lambda unit: (unit.tiles is not None, unit.packed))


def without_tiles(machine: CpuMachine) -> CpuMachine:
    """The machine as a product uses it whose number of rows is not known, which tiles have to be told."""
    of_tiles = {feature for unit in CPU_UNITS.values() if unit.tiles for feature in unit.needs.values()}
    return replace(machine, features=machine.features - of_tiles)
