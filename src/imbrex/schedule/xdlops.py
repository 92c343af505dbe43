"""XdlopsTuning: six numbers of the GPU schedule with matrix instructions (MFMA); XdlopsPlan: what follows.

A block tile is cut into wave tiles, a wave tile is a whole number of matrix instructions.  `k_per_block`
counts packs of `kpack` consecutive K, as in rocMLIR, so that a step of the loop over K takes `k_per_block *
kpack`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import ClassVar

from imbrex.schedule.context import GemmContext, round_up
from imbrex.schedule.copy import BlockCopy
from imbrex.schedule.mfma import WAVE_SIZE, Mfma, mfma_of

__all__ = ["XdlopsPlan", "XdlopsTuning"]

LDS_BUFFERS = 2
ADDRESS_REGISTERS = 32  # an allowance for pointers, indices and guards


@dataclass(frozen=True)
class XdlopsTuning:
    """A block tile of m x n x (k * kpack), computed by waves of m_per_wave x n_per_wave."""

    kind: ClassVar[str] = "xdlops"
    m_per_block: int
    n_per_block: int
    k_per_block: int
    m_per_wave: int
    n_per_wave: int
    kpack: int = 1

    def __post_init__(self) -> None:
        assert min(vars(self).values()) >= 1, f"a tuning's numbers are at least 1: {self}"

    @property
    def tile(self) -> tuple[int, int, int]:
        """The block tile, (m, n, k), with K in elements."""
        return self.m_per_block, self.n_per_block, self.k_per_block * self.kpack

    @property
    def waves(self) -> tuple[int, int]:
        """Waves along (M, N), rounded down."""
        return self.m_per_block // self.m_per_wave, self.n_per_block // self.n_per_wave

    @property
    def block_size(self) -> int:
        """Work items of a workgroup."""
        return WAVE_SIZE * self.waves[0] * self.waves[1]

    def plan(self, context: GemmContext) -> XdlopsPlan:
        """This tuning applied to that GEMM."""
        return XdlopsPlan(self, context)


@dataclass(frozen=True)
class XdlopsPlan:
    """Everything that follows from an XdlopsTuning and a GEMM.  M, N and K are padded to whole tiles."""

    tuning: XdlopsTuning
    context: GemmContext

    def instruction(self, machine: str) -> Mfma | None:
        """The matrix instruction on that machine; None where the wave tile or the type has none."""
        return mfma_of(self.tuning.m_per_wave, self.tuning.n_per_wave, self.context.dtype.name, machine)

    @property
    def blocks(self) -> tuple[int, int]:
        """Block tiles along (M, N)."""
        m, n, _ = self.context.padded(*self.tuning.tile)
        return m // self.tuning.m_per_block, n // self.tuning.n_per_block

    @property
    def grid_size(self) -> int:
        """Workgroups."""
        return self.context.g * self.blocks[0] * self.blocks[1]

    @property
    def k_iterations(self) -> int:
        """Steps of the loop over K; at least one."""
        k_tile = self.tuning.tile[2]
        return round_up(self.context.k, k_tile) // k_tile

    @property
    def a_copy(self) -> BlockCopy:
        """How A's block reaches LDS."""
        m, _, k = self.tuning.tile
        size = self.context.dtype.bytes
        return BlockCopy(k, m, self.tuning.kpack, self.tuning.block_size, self.context.a, size)

    @property
    def b_copy(self) -> BlockCopy:
        """How B's block reaches LDS."""
        _, n, k = self.tuning.tile
        size = self.context.dtype.bytes
        return BlockCopy(k, n, self.tuning.kpack, self.tuning.block_size, self.context.b, size)

    @property
    def lds_align(self) -> int:
        """LDS units (packs, or elements where kpack is 1) to which rows are aligned."""
        return 1 if self.tuning.kpack > 1 else lcm(self.a_copy.data_per_write, self.b_copy.data_per_write)

    @property
    def lds_buffer_bytes(self) -> tuple[int, int]:
        """Bytes of one buffer of A and of one buffer of B."""
        t, align = self.tuning, self.lds_align
        unit = t.kpack * self.context.dtype.bytes
        a = round_up(t.k_per_block * round_up(t.m_per_block, align), align)
        b = round_up(t.k_per_block * round_up(t.n_per_block, align), align)
        return a * unit, b * unit

    @property
    def lds_bytes(self) -> int:
        """All of LDS that a workgroup uses: an even and an odd buffer of each matrix."""
        return LDS_BUFFERS * sum(self.lds_buffer_bytes)

    @property
    def c_data_per_write(self) -> int:
        """Elements in one store to C: fixed at 1, since neighbouring columns lie in neighbouring lanes."""
        return 1

    @property
    def accumulators(self) -> int:
        """Accumulation registers of one lane."""
        return self.tuning.m_per_wave * self.tuning.n_per_wave // WAVE_SIZE

    @property
    def registers(self) -> int:
        """Other 32-bit registers of one lane: a pack of A and B per 32 rows, staged copies, addresses."""
        t = self.tuning
        operands = t.kpack * -(-(t.m_per_wave + t.n_per_wave) // 32)
        staged = LDS_BUFFERS * (self.a_copy.per_thread + self.b_copy.per_thread)
        return -(-(operands + staged) * self.context.dtype.bytes // 4) + ADDRESS_REGISTERS

    @property
    def attributes(self) -> dict[str, int | str | list[int]]:
        """Attributes of the gridwise op: the seed's names, with m_per_wave, n_per_wave and kpack."""
        t, a, b = self.tuning, self.a_copy, self.b_copy
        return {
            "block_size": t.block_size,
            "m_per_block": t.m_per_block,
            "n_per_block": t.n_per_block,
            "k_per_block": t.k_per_block,
            "m_per_wave": t.m_per_wave,
            "n_per_wave": t.n_per_wave,
            "kpack": t.kpack,
            "matrix_a_source_vector_read_dim": a.read_dim,
            "matrix_a_source_data_per_read": a.data_per_read,
            "matrix_a_dest_data_per_write_dim_m": a.data_per_write,
            "matrix_b_source_vector_read_dim": b.read_dim,
            "matrix_b_source_data_per_read": b.data_per_read,
            "matrix_b_dest_data_per_write_dim_n": b.data_per_write,
            "matrix_c_source_dest_vector_read_write_dim": 3,
            "matrix_c_dest_data_per_write": self.c_data_per_write,
            "matrix_a_copy_cluster_lengths": list(a.cluster_lengths),
            "matrix_b_copy_cluster_lengths": list(b.cluster_lengths),
        }
