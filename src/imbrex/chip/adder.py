"""Unit: how the hardware of a machine adds products of a type.

A plain unit rounds to nearest after every product, as a fused multiply-add does.  A block unit aligns a block
of products and the sum so far to the largest of them, drops the bits behind the last that it keeps, adds
without error, and rounds or truncates the sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from imbrex.dtype import TF32

__all__ = ["CDNA2_UNITS", "CDNA3_UNITS", "FLUSHED", "HOPPER_UNITS", "PLAIN", "PLAIN_F64", "TO_ODD", "Unit"]

IEEE: Final = "IEEE 754, fusedMultiplyAdd"
SIMULATED: Final = "Xie et al., MMA-Sim, 2025, whose models agree with the hardware bit by bit"


@dataclass(frozen=True)
class Unit:
    """sum_bits: behind the leading bit of a sum that is kept.  block: products added at a time.

    aligned_bits: of each addend, behind the leading bit of the largest; None where products are added one by
    one.  is_truncated: the sum's last bits are dropped, not rounded to nearest.  flushes: it takes subnormal
    operands, and sums, as zeros.
    """

    sum_bits: int
    source: str
    block: int = 1
    aligned_bits: int | None = None
    is_truncated: bool = False
    flushes: bool = False


PLAIN: Final = Unit(23, IEEE)
PLAIN_F64: Final = Unit(52, IEEE)
FLUSHED: Final = Unit(23, "Intel SDM, VDPBF16PS, TDPBF16PS: to nearest, DAZ and FTZ", flushes=True)
TO_ODD: Final = Unit(
    22, "Arm ARM, BFAdd: rounded to odd, as far off as to nearest with a bit less", flushes=True
)
HOPPER_16: Final = Unit(23, f"{SIMULATED}: wgmma of sm_90, 25 bits behind the largest", 16, 25, True)
HOPPER_TF32: Final = Unit(23, HOPPER_16.source, 8, 25, True)
HOPPER_8: Final = Unit(
    13, f"{SIMULATED}: wgmma of sm_90, 13 bits; DeepSeek-V3 technical report, 3.3.2", 32, 13, True
)
CDNA2_16: Final = Unit(23, 'CDNA2 ISA, "Denormal Handling"; added as CDNA 1 does', flushes=True)
CDNA_16: Final = Unit(
    23, f"{SIMULATED}: MFMA of CDNA3, 24 bits, the sum so far rounded down; CDNA4 taken as equal", 8, 24, True
)
CDNA_TF32: Final = Unit(23, CDNA_16.source, 4, 24, True)
CDNA_8: Final = Unit(23, CDNA_16.source, 16, 24, True)

HOPPER_UNITS: Final[Mapping[int, Unit]] = {8: HOPPER_8, 16: HOPPER_16, TF32.multiplied_bits: HOPPER_TF32}
CDNA2_UNITS: Final[Mapping[int, Unit]] = {16: CDNA2_16}
CDNA3_UNITS: Final[Mapping[int, Unit]] = {8: CDNA_8, 16: CDNA_16, TF32.multiplied_bits: CDNA_TF32}
"""Bits of a float that a product reads -> what adds such products.  MFMA of CDNA 1 and 2 adds pairs and pairs
of pairs, each rounded to nearest (MMA-Sim), which is never worse than one by one; CDNA 2 flushes halves, and
CDNA 1 has no units of its own."""
