"""Numbers of operands: which register or constant a field names.

Source: AMD, CDNA3 ISA, table "SSRC/SDST/SRC operand encodings" (chapter "Program Organization", scalar
operands): 0 to 101 scalar registers, 102 to 127 special ones, 128 to 248 constants, 256 on vector registers.
"""

from __future__ import annotations

import math
from typing import Final

from imbrex.cdna.instruction import ACCUMULATION, WHOLE, Kind, Operand, Part

__all__ = ["DPP_SOURCE", "LITERAL", "SDWA_SOURCE", "VCC", "scalar", "source", "vector"]

LITERAL: Final = 255
SDWA_SOURCE: Final = 249
DPP_SOURCE: Final = 250
VCC: Final = 106
VECTOR: Final = 256

FLOATS = {240: 0.5, 241: -0.5, 242: 1.0, 243: -1.0, 244: 2.0, 245: -2.0, 246: 4.0, 247: -4.0}
FLOATS[248] = 0.5 / math.pi
SPECIALS = {235: 4, 236: 5, 237: 6, 238: 7, 251: 2, 252: 3, 253: 1}
"""Shared and private apertures, vccz, execz, scc, by the core's numbers."""


def scalar(code: int, registers: int, literal: int = 0, part: Part = WHOLE) -> Operand | None:
    """What a field of 7 or 8 bits names; None for what nothing is."""
    if code < 128:
        return Operand(Kind.SCALAR, code, registers, part=part)
    if code <= 208:
        value = code - 128 if code <= 192 else 192 - code
        return Operand(Kind.INTEGER, 0, registers, value, part=part)
    if code in FLOATS:
        return Operand(Kind.FLOAT, 0, registers, real=FLOATS[code], part=part)
    if code in SPECIALS:
        return Operand(Kind.SPECIAL, SPECIALS[code], registers, part=part)
    if code == LITERAL:
        return Operand(Kind.LITERAL, 0, registers, literal, part=part)
    return None


def source(
    code: int, registers: int, literal: int = 0, part: Part = WHOLE, accumulates: bool = False
) -> Operand | None:
    """What a field of 9 bits names."""
    if code >= VECTOR:
        return vector(code - VECTOR, registers, accumulates, part)
    return scalar(code, registers, literal, part)


def vector(code: int, registers: int, accumulates: bool = False, part: Part = WHOLE) -> Operand:
    """Registers of the lanes."""
    return Operand(Kind.VECTOR, code + ACCUMULATION * accumulates, registers, part=part)
