"""WMMA of gfx11 and gfx12, in waves of 32 and of 64: one line an instruction.

Shapes, layouts and cycles are those of AMD's matrix instruction calculator, 1.3.2, which gives both waves the
same cycles; builtins and their types are clang 22's.  gfx11 wants A and B copied into every 16 lanes, and
holds a 16-bit element of C in half of a register (the builtin's last argument chooses the half).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from imbrex.index.map import Map
from imbrex.view.mma.cdna import CALCULATOR
from imbrex.view.mma.instruction import BITS, Instruction
from imbrex.view.mma.layout import (
    Side,
    accumulator,
    accumulator_in_halves,
    copied_operand,
    in_first_lanes,
    operand,
    operand_in_halves,
)

__all__ = ["RDNA", "wmma"]

RDNA: Final = ("gfx11", "gfx12")
EDGE: Final = 16

# C    A    B     K   cycles   operand and result in a wave of 32, of 64
_GFX11_ROWS: Final = """
  f32  f16  f16   16   32      half16   float8    half16   float4
  f32  bf16 bf16  16   32      short16  float8    short16  float4
  f16  f16  f16   16   32      half16   half16    half16   half8
  bf16 bf16 bf16  16   32      short16  short16   short16  short8
  i32  iu8  iu8   16   32      int4     int8      int4     int4
  i32  iu4  iu4   16   16      int2     int8      int2     int4
"""
_GFX12_ROWS: Final = """
  f32  f16  f16   16   16      half8    float8    half4    float4
  f32  bf16 bf16  16   16      short8   float8    short4   float4
  f16  f16  f16   16   16      half8    half8     half4    half4
  bf16 bf16 bf16  16   16      short8   short8    short4   short4
  i32  iu8  iu8   16    8      int2     int8      int      int4
  i32  iu4  iu4   16    8      int      int8      int      int4
  i32  iu4  iu4   32    8      int2     int8      int      int4
  f32  fp8  fp8   16    8      int2     float8    int      float4
  f32  fp8  bf8   16    8      int2     float8    int      float4
  f32  bf8  fp8   16    8      int2     float8    int      float4
  f32  bf8  bf8   16    8      int2     float8    int      float4
"""
_SIGNED: Final = ("1", "a", "1", "b", "c", "0")


@dataclass(frozen=True)
class _Generation:
    """rows: its instructions.  suffix: of its builtins.  leaves_halves: a 16-bit element of C takes half of a
    register, whose other half is left.  operand, result: how A or B, and C, lie in lanes.
    """

    chip: str
    rows: str
    suffix: str
    leaves_halves: bool
    operand: Callable[[Side, int, str, int], Map]
    result: Callable[[int], Map]


def wmma() -> Iterator[Instruction]:
    """Every dense WMMA of gfx11 and gfx12 (not of gfx1250, which has others)."""
    for generation in (_GFX11, _GFX12):
        for line in generation.rows.strip().splitlines():
            yield from (_made(generation, _Row(*line.split()), wave) for wave in (32, 64))


class _Row(NamedTuple):
    """A row of a table, as it stands there."""

    c: str
    a: str
    b: str
    k: str
    cycles: str
    argument_32: str
    result_32: str
    argument_64: str
    result_64: str


def _made(of: _Generation, row: _Row, wave: int) -> Instruction:
    c, a, b, k = row.c, row.a, row.b, int(row.k)
    argument, result = row[5:7] if wave == 32 else row[7:9]
    types = a if a == b and a not in ("fp8", "bf8") else f"{a}_{b}"
    mnemonic = f"wmma_{c}_{EDGE}x{EDGE}x{k}_{types}"
    name = f"{mnemonic}_w{wave}{of.suffix}"
    is_half = of.leaves_halves and BITS[c] == 16
    return Instruction(
        name=name, m=EDGE, n=EDGE, k=k, blocks=1, a_type=a, b_type=b, c_type=c, wave=wave,
        builtin=f"__builtin_amdgcn_{name}", mnemonic=f"v_{mnemonic}",
        chips=(of.chip,), cycles={of.chip: int(row.cycles)}, source=CALCULATOR,
        a=of.operand("a", k, a, wave), b=of.operand("b", k, b, wave), c=of.result(wave),
        builtin_operand=argument, builtin_result=result,
        arguments=_SIGNED if c == "i32" else ("a", "b", "c", "0") if is_half else ("a", "b", "c"),
        c_register_bits=32 if is_half else BITS[c],
    )  # fmt: skip


def _gfx11(side: Side, k: int, element: str, wave: int) -> Map:
    del element
    return copied_operand(side, EDGE, k, wave)


def _gfx12(side: Side, k: int, element: str, wave: int) -> Map:
    is_chunk = BITS[element] == 16
    if wave == 32:
        return operand(side, EDGE, k, 1, wave, chunks=2 if is_chunk else 1)
    if BITS[element] * k < 128:  # a lane's part is one register, which has no half to move to other lanes
        return in_first_lanes(operand(side, EDGE, k, 1, 32), wave)
    return operand_in_halves(side, EDGE, k, is_chunk=is_chunk)


def _gfx11_result(wave: int) -> Map:
    return accumulator(EDGE, EDGE, 1, 1, wave)


def _gfx12_result(wave: int) -> Map:
    return accumulator(EDGE, EDGE, 1, 8, wave) if wave == 32 else accumulator_in_halves(EDGE, EDGE)


_GFX11: Final = _Generation("gfx11", _GFX11_ROWS, "", True, _gfx11, _gfx11_result)
_GFX12: Final = _Generation("gfx12", _GFX12_ROWS, "_gfx12", False, _gfx12, _gfx12_result)
