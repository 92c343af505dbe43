"""Which matrix instruction an XDLOPS wave tile uses, and what the instruction asks of K.

Source: rocMLIR's XdlopsCodeSelection (2020-22) and the CDNA1-4 ISA manuals, matrix instruction tables.  An
instruction either computes several m x n blocks with one step of K each, or is a K reduction: one block,
whose lanes split K into `blocks_k` parts.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MFMA_TYPES", "WAVE_TILES", "Mfma", "mfma_of"]

WAVE_SIZE = 64
MFMA_TYPES = ("f32", "f16", "bf16", "i8")
# consecutive K of one lane: bf16 doubled with the _1k forms of gfx90a, i8 with the 64-bit operands of gfx942
K_BASE = {
    "gfx908": {"f32": 1, "f16": 4, "bf16": 2, "i8": 4},
    "gfx90a": {"f32": 1, "f16": 4, "bf16": 4, "i8": 4},
    "gfx942": {"f32": 1, "f16": 4, "bf16": 4, "i8": 8},
    "gfx950": {"f32": 1, "f16": 4, "bf16": 4, "i8": 8},
    "emulate": {"f32": 1, "f16": 4, "bf16": 4, "i8": 8},
}


@dataclass(frozen=True)
class Mfma:
    """One instruction: `blocks` blocks of m x n, each over k; a lane holds k_base consecutive K."""

    m: int
    n: int
    k: int
    blocks: int
    k_base: int

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"

    @property
    def is_k_reduction(self) -> bool:
        """Do lanes hold different K of the same row?"""
        return self.blocks_k > 1

    @property
    def blocks_k(self) -> int:
        """Parts into which the lanes split K."""
        return self.k // self.k_base

    @property
    def accumulators(self) -> int:
        """Registers of the result in one lane."""
        return self.m * self.n * self.blocks // WAVE_SIZE


# (m_per_wave, n_per_wave) -> (edge of a block, blocks); 2020's table, and 2023's 128 x 128 of four 64 x 64
WAVE_TILES: dict[tuple[int, int], tuple[int, int]] = {
    (128, 128): (32, 2),
    (128, 64): (32, 2),
    (64, 128): (32, 2),
    (64, 64): (32, 2),
    (64, 32): (32, 2),
    (32, 64): (32, 2),
    (64, 16): (16, 4),
    (16, 64): (16, 4),
    (8, 64): (4, 16),
    (4, 64): (4, 16),
    (32, 32): (32, 1),
    (16, 16): (16, 1),
}


def mfma_of(m_per_wave: int, n_per_wave: int, dtype_name: str, machine: str) -> Mfma | None:
    """The instruction for a wave tile of this type on this machine; None where there is none.

    i8 takes K reductions only, repeated over a larger wave tile: its other forms do a quarter of the rate.
    """
    shape, k_base = WAVE_TILES.get((m_per_wave, n_per_wave)), K_BASE.get(machine, {}).get(dtype_name)
    if shape is None or k_base is None:
        return None
    edge, blocks = shape
    if dtype_name == "i8":
        if edge == 4:
            return None
        blocks = 1
    parts = WAVE_SIZE // (edge * blocks)
    return Mfma(edge, edge, parts * k_base, blocks, k_base)
