"""XdlopsTuning: the GPU schedule with matrix instructions (MFMA); XdlopsPlan: what follows.

A block tile is cut into wave tiles, a wave tile is a whole number of matrix instructions.  `k_per_block`
counts packs of `kpack` consecutive K, as in rocMLIR, so that a step of the loop over K takes `k_per_block *
kpack`, of each tap where it takes several.  Rows are gemmM and columns gemmN, or, `swapped`, rows are gemmN
and columns gemmM: a lane holds neighbouring rows of C, so that the stores are wide where rows are neighbours
in memory.  All sizes are in rows (m) and columns (n) after the swap; so are A and B.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import ClassVar

from imbrex.cached import cached_property, keeps_hash
from imbrex.chip import VECTOR_BYTES, WAVES, GpuMachine
from imbrex.config.block_plan import CopyKind
from imbrex.config.context import GemmContext, round_up
from imbrex.config.xdlops import mfma
from imbrex.config.xdlops.banks import LdsTile, LdsTraffic, layout_of, traffic_of
from imbrex.config.xdlops.stage import TileCopy
from imbrex.dtype import BLOCK
from imbrex.view.gemm.blocks import together
from imbrex.view.gemm.sliding_tile import SlidingTile
from imbrex.view.mma.wave import TURNED_BYTES, Side, WaveTiles, parts_of
from imbrex.view.stage.lds import LdsKind, LdsLayout

__all__ = ["XdlopsPlan", "XdlopsTuning"]

ADDRESS_REGISTERS = 32  # an allowance for pointers, indices and guards


@keeps_hash
@dataclass(frozen=True)
class XdlopsTuning:
    """A block tile of m x n x (k * kpack), computed by waves of m_per_wave x n_per_wave.

    instruction: "auto", or a name of the table.  lds: how a tile lies there.  copy: through registers,
    direct, or either and read ahead.  interleave: instruction tiles that share rows in turn (`view.wave`).
    buffers: of LDS, for each operand; two where they are read ahead through registers, which hold one tile
    fewer than this.  taps: of a row of a window, that a step takes together; 1 where each comes by itself.
    """

    kind: ClassVar[str] = "xdlops"
    required: ClassVar[int] = 6
    m_per_block: int
    n_per_block: int
    k_per_block: int
    m_per_wave: int
    n_per_wave: int
    kpack: int = 1
    instruction: str = mfma.AUTO
    lds: LdsKind = "xor"
    copy: CopyKind = "staged"
    swapped: bool = False
    interleave: int = 1
    buffers: int = 2
    taps: int = 1

    def __post_init__(self) -> None:
        least = min(*self.numbers, self.buffers, self.taps)
        assert least >= 1, f"a tuning's numbers are at least 1: {self}"

    @property
    def tile(self) -> tuple[int, int, int]:
        """The block tile, (m, n, k), in the GEMM's own m and n, with K in elements."""
        rows, columns, k = self.m_per_block, self.n_per_block, self.k_copied * self.taps
        return (columns, rows, k) if self.swapped else (rows, columns, k)

    @property
    def k_copied(self) -> int:
        """Elements of K of a tile in LDS: of a step, or of one of its taps."""
        return self.k_per_block * self.kpack

    @property
    def waves(self) -> tuple[int, int]:
        """Waves along (M, N), rounded down."""
        return self.m_per_block // self.m_per_wave, self.n_per_block // self.n_per_wave

    @property
    def is_direct(self) -> bool:
        """Do tiles go to LDS past the registers?"""
        return self.copy in ("direct", "ahead")

    @property
    def reads_ahead(self) -> bool:
        """Does a part of a step go from LDS to registers while the one before is multiplied?"""
        return self.copy in ("ahead", "staged_ahead")

    @property
    def numbers(self) -> mfma.Numbers:
        """What the choice of an instruction depends on."""
        return (
            self.m_per_block,
            self.n_per_block,
            self.k_per_block,
            self.m_per_wave,
            self.n_per_wave,
            self.kpack,
            self.interleave,
        )

    def plan(self, context: GemmContext, machine: GpuMachine | None = None) -> XdlopsPlan:
        """This tuning applied to that GEMM, on gfx942 unless told otherwise."""
        return _plan(self, context, machine or WAVES)


@keeps_hash
@dataclass(frozen=True)
class XdlopsPlan:
    """Everything that follows from an XdlopsTuning and a GEMM.  M, N and K are padded to whole tiles."""

    tuning: XdlopsTuning
    context: GemmContext
    machine: GpuMachine = WAVES

    @cached_property
    def oriented(self) -> GemmContext:
        """The GEMM as the kernel sees it: m are rows, n are columns."""
        return self.context.exchanged if self.tuning.swapped else self.context

    @property
    def sizes(self) -> tuple[int, int]:
        """Rows and columns of the GEMM, as the kernel sees it."""
        return self.oriented.m, self.oriented.n

    @cached_property
    def wave_tiles(self) -> WaveTiles | None:
        """The cut of the block tile for the machine's instruction; None where none fits."""
        return mfma.chosen(
            self.tuning.instruction, self.tuning.numbers, self.oriented.dtype, self.machine.chip
        )

    @cached_property
    def block_size(self) -> int:
        """Work items of a workgroup."""
        return self.machine.wave_size * self.tuning.waves[0] * self.tuning.waves[1]

    @cached_property
    def blocks(self) -> tuple[int, int]:
        """Block tiles along (rows, columns)."""
        t = self.tuning
        m, n, _ = self.oriented.padded(t.m_per_block, t.n_per_block, 1)
        return m // t.m_per_block, n // t.n_per_block

    @property
    def grid_size(self) -> int:
        """Workgroups."""
        return self.context.g * self.blocks[0] * self.blocks[1]

    @property
    def k_iterations(self) -> int:
        """Steps of the loop over K; at least one."""
        k_tile = self.tuning.tile[2]
        return round_up(self.context.k, k_tile) // k_tile

    @cached_property
    def a_copy(self) -> TileCopy:
        """How A's block reaches LDS."""
        taps = None if self.taps is None else self.taps[0]
        return self._copy(self._copied_rows(0) if taps is None else taps.rows, 0)

    @cached_property
    def b_copy(self) -> TileCopy:
        """How B's block reaches LDS."""
        return self._copy(self._copied_rows(1) if self.taps is None else self.taps[1].rows, 1)

    def _copy(self, rows: int, position: int) -> TileCopy:
        """position: 0 for A, 1 for B."""
        t, c = self.tuning, self.oriented
        given = (c.a, c.b)[position], c.element_bytes[position], c.across[position]
        return TileCopy(t.k_copied, rows, t.kpack, self.block_size, *given, t.copy == "staged_ahead")

    def _copied_rows(self, position: int) -> int:
        """Rows of a tile in LDS.  Where it is read ahead through registers these are filled by whole vectors
        of all work items, of which those beyond the tile do not exist.
        """
        t = self.tuning
        own = (t.m_per_block, t.n_per_block)[position]
        if t.copy != "staged_ahead":
            return own
        at_once = self.block_size * VECTOR_BYTES // (t.k_copied * self.oriented.element_bytes[position])
        return round_up(own, max(1, at_once))

    @cached_property
    def taps(self) -> tuple[SlidingTile | None, SlidingTile] | None:
        """How the taps of a step lie in A's and in B's tile: each has its own rows of the filter, or its own
        tile where these are read ahead, and shares those of pixels, of which whole vectors of all work items
        are loaded.
        """
        t, found = self.tuning, self.context.taps
        if t.taps == 1 or found is None:
            return None
        copied = self.block_size * VECTOR_BYTES // (t.k_copied * self.oriented.element_bytes[1])
        rows = round_up(t.n_per_block + (t.taps - 1) * abs(found.step), max(1, copied))
        own = None if t.copy == "ahead" else SlidingTile(t.taps, t.m_per_block * t.taps, t.m_per_block)
        return own, SlidingTile(t.taps, rows, found.step)

    def direct_vector(self, copy: TileCopy) -> int | None:
        """Elements that a lane loads into LDS at once, neighbours in k, or in m or n where reads transpose
        them; None where no width is legal.
        """
        if (along_k := copy.direct_along_k(self.machine.direct_bytes)) is not None:
            return along_k
        return VECTOR_BYTES // copy.element_bytes if self.turned(copy) else None

    def turned(self, copy: TileCopy) -> int:
        """Elements of a lane in a read of LDS that transposes: of a direct copy whose lanes load 16 bytes of
        neighbours in m or n, of an instruction that has 16 rows; 0 where no read does.  A pack that lies
        along m or n is one.
        """
        tiles, vector = self.wave_tiles, VECTOR_BYTES // copy.element_bytes
        is_served = copy.turned_bits in self.machine.turned_bits and self.tuning.is_direct
        side = "m" if copy is self.a_copy else "n"
        has_taps = self.taps is not None and self.taps[0 if side == "m" else 1] is not None
        if tiles is None or not is_served or has_taps:
            return 0
        if copy.across is not None:
            return int(tiles.turns(side) == 1 and copy.d % (BLOCK * vector) == 0)
        if copy.direct_along_k(self.machine.direct_bytes) is not None:
            return 0
        elements = TURNED_BYTES // copy.element_bytes
        rows = tiles.run if tiles.turns(side) > 1 else tiles.instruction.m
        fits = copy.access.vector[1] % vector == copy.d % vector == copy.kpack % elements == 0
        return elements if fits and rows % elements == 0 and tiles.instruction.blocks == 1 else 0

    def lds_tile(self, side: Side) -> LdsTile:
        """The block of A (side "m") or of B in LDS; there must be an instruction that reads it."""
        assert self.wave_tiles is not None, self.tuning
        copy = self.a_copy if side == "m" else self.b_copy
        split, turned = None if self.tuning.is_direct else copy.split, self.turned(copy)
        write, machine = copy.data_per_write, self.machine
        taps = self.sliding_tile(0 if side == "m" else 1)
        size, kept = self.oriented.lds_bytes[0 if side == "m" else 1], together(copy.across)
        return LdsTile(self.wave_tiles, side, copy.k, copy.d, size, split, write, machine, turned, taps, kept)

    def sliding_tile(self, position: int) -> SlidingTile | None:
        """How what is multiplied lies in A's or in B's tile of LDS; None where it is all of that."""
        if self.taps is not None:
            return self.taps[position]
        t, rows = self.tuning, self._copied_rows(position)
        own = (t.m_per_block, t.n_per_block)[position]
        return None if rows == own else SlidingTile(1, rows, own)

    @cached_property
    def lds_layouts(self) -> tuple[LdsLayout, LdsLayout]:
        """How A's and B's blocks lie in LDS."""
        return layout_of(self.tuning.lds, self.lds_tile("m")), layout_of(self.tuning.lds, self.lds_tile("n"))

    @property
    def lds_traffic(self) -> tuple[LdsTraffic, LdsTraffic]:
        """Accesses to A's and to B's block in one step, with their bank conflicts."""
        a, b = self.lds_layouts
        return traffic_of(a, self.lds_tile("m")), traffic_of(b, self.lds_tile("n"))

    @cached_property
    def lds_buffer_bytes(self) -> tuple[int, int]:
        """Bytes of one buffer of A and of one buffer of B."""
        a, b = self.a_copy, self.b_copy
        elements = a.k * a.d, b.k * b.d
        if self.tuning.lds == "padded":
            layouts = self.lds_layouts
            elements = layouts[0].elements(a.k, a.d), layouts[1].elements(b.k, b.d)
        of_a, of_b = self.oriented.lds_bytes
        return elements[0] * of_a, elements[1] * of_b

    @property
    def lds_bytes(self) -> int:
        """All of LDS that a workgroup uses."""
        of_a, of_b = self.lds_buffer_bytes
        return self.lds_buffers * of_a + self.buffers_of_b * of_b

    @property
    def lds_buffers(self) -> int:
        """Buffers in LDS: two where registers hold further tiles."""
        return 2 if self.tuning.copy == "staged_ahead" else self.tuning.buffers

    @property
    def buffers_of_b(self) -> int:
        """Buffers of B in LDS: two of pixels whose taps are read ahead."""
        return 2 if self.taps is not None and self.taps[0] is None else self.lds_buffers

    @property
    def useful(self) -> float:
        """Share of the multiply-adds of all tiles that the product asks for, 0 to 1."""
        (m, n, k), pack = self.tuning.tile, self.context.dtype.pack
        return self.context.multiplies / (self.grid_size * m * n * self.k_iterations * k * pack)

    @property
    def stored_bytes(self) -> int:
        """Bytes of all tiles of C, with what they overhang."""
        t = self.tuning
        return self.grid_size * t.m_per_block * t.n_per_block * self.context.stored_bytes

    @property
    def c_data_per_write(self) -> int:
        """Elements in one store to C: neighbouring rows that a lane holds, where they are neighbours in
        memory.
        """
        tiles, widest = self.wave_tiles, VECTOR_BYTES // self.context.dtype.output.bytes
        return gcd(widest, self.oriented.c.vector[0], tiles.run * tiles.interleave) if tiles else 1

    @property
    def accumulators(self) -> int:
        """Accumulation registers of one lane."""
        t, lanes = self.tuning, self.machine.wave_size
        return t.m_per_wave * t.n_per_wave * self.context.dtype.accumulator.bytes // (4 * lanes)

    @cached_property
    def registers(self) -> int:
        """Other 32-bit registers of one lane: packs of A and B, staged copies, addresses."""
        tiles, staged = self.wave_tiles, 0
        of_a, of_b = self.oriented.element_bytes
        packs = (tiles.m_tiles * of_a + tiles.n_tiles * of_b) * self.tuning.kpack if tiles else 0
        if tiles and self.tuning.reads_ahead:
            packs *= 2 * self.k_outers // (self.parts * self.tuning.taps)
        if not self.tuning.is_direct:
            staged = self.a_copy.registers + self.b_copy.registers
        if self.tuning.copy == "staged_ahead":
            staged *= self.tuning.buffers - 1
        return -(-packs // 4) + staged + ADDRESS_REGISTERS

    @property
    def k_outers(self) -> int:
        """Packs of each group of lanes in a step; there must be an instruction that serves the plan."""
        assert self.wave_tiles is not None, self.tuning
        return self.tuning.tile[2] // self.wave_tiles.k_step

    @property
    def parts(self) -> int:
        """Parts of a step that is read ahead, or of a tap of it."""
        return parts_of(self.k_outers // self.tuning.taps)


@lru_cache(maxsize=1024)
def _plan(tuning: XdlopsTuning, context: GemmContext, machine: GpuMachine) -> XdlopsPlan:
    """One plan for all who ask of a tuning: rules, costs and orders of tiles."""
    return XdlopsPlan(tuning, context, machine)
