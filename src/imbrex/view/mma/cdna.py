"""MFMA of gfx908, gfx90a, gfx942 and gfx950: one line an instruction.

The columns are the type of C, of A and B, the shape, the blocks, how the builtin's name ends, the types of
its operand and result, and the cycles on each chip, `-` where the chip lacks it.  Shapes, layouts and cycles
up to gfx942 are those of AMD's matrix instruction calculator, 1.3.2; builtins and their types are clang 22's.
Cycles of gfx950 are those of LLVM 22's model of it, and agree with the rates that AMD states (operations per
compute unit and cycle: f16 4096, i8 8192, f64 128); LLVM says nothing of f8f6f4 with 8-bit operands, which is
AMD's: 8192 where either is 8 bits wide, 16384 otherwise.

In f8f6f4 each operand has a type of its own.  8-bit operands come as two chunks of 16 along k (AMD's article
on CDNA4's matrix cores, 2025, section 5.4, and Composable Kernel's test of the instruction), 4-bit ones as 32
neighbours; for 6-bit ones, 32 neighbours are assumed.  A lane's scale is that of one row of A, or column of
B, and of 32 neighbours along k, which for 8-bit operands are not the ones that the lane holds (Composable
Kernel's test of the instruction).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Final, NamedTuple

from imbrex.diagnostic import Diagnostic
from imbrex.index.map import Map
from imbrex.view.mma.fragment import k_parts
from imbrex.view.mma.instruction import SCALED, Instruction
from imbrex.view.mma.layout import Side, accumulator, operand

__all__ = ["CDNA", "mfma"]

CDNA: Final = ("gfx908", "gfx90a", "gfx942", "gfx950")
OLDER: Final = CDNA[:2]
"""Chips whose assemblers spell instructions as the builtins."""
NEWER: Final = CDNA[2:]
NEWEST: Final = CDNA[3:]
CALCULATOR: Final = "AMD matrix instruction calculator 1.3.2"
GFX950: Final = "LLVM 22's model of gfx950; AMD's article on CDNA4's matrix cores, 2025"

# C    A     M  N   K  blocks  builtin    operand result   gfx908 gfx90a gfx942 gfx950
_ROWS: Final = """
  f32  f32   32 32   1   2     f32        float   float32   64  64  64  64
  f32  f32   16 16   1   4     f32        float   float16   32  32  32  32
  f32  f32    4  4   1  16     f32        float   float4     8   8   8   8
  f32  f32   32 32   2   1     f32        float   float16   64  64  64  64
  f32  f32   16 16   4   1     f32        float   float4    32  32  32  32
  f32  xf32  32 32   4   1     _xf32      float2  float16    -   -  32   -
  f32  xf32  16 16   8   1     _xf32      float2  float4     -   -  16   -
  f32  f16   32 32   4   2     f16        half4   float32   64  64  64  64
  f32  f16   16 16   4   4     f16        half4   float16   32  32  32  32
  f32  f16    4  4   4  16     f16        half4   float4     8   8   8   8
  f32  f16   32 32   8   1     f16        half4   float16   64  64  32  32
  f32  f16   16 16  16   1     f16        half4   float4    32  32  16  16
  f32  f16   32 32  16   1     _f16       half8   float16    -   -   -  32
  f32  f16   16 16  32   1     _f16       half8   float4     -   -   -  16
  f32  bf16  32 32   2   2     bf16       short2  float32   64  64   -   -
  f32  bf16  16 16   2   4     bf16       short2  float16   32  32   -   -
  f32  bf16   4  4   2  16     bf16       short2  float4     8   8   -   -
  f32  bf16  32 32   4   1     bf16       short2  float16   64  64   -   -
  f32  bf16  16 16   8   1     bf16       short2  float4    32  32   -   -
  f32  bf16  32 32   4   2     bf16_1k    short4  float32    -  64  64  64
  f32  bf16  16 16   4   4     bf16_1k    short4  float16    -  32  32  32
  f32  bf16   4  4   4  16     bf16_1k    short4  float4     -   8   8   8
  f32  bf16  32 32   8   1     bf16_1k    short4  float16    -  64  32  32
  f32  bf16  16 16  16   1     bf16_1k    short4  float4     -  32  16  16
  f32  bf16  32 32  16   1     _bf16      bf16x8  float16    -   -   -  32
  f32  bf16  16 16  32   1     _bf16      bf16x8  float4     -   -   -  16
  i32  i8    32 32   4   2     i8         int     int32     64  64  64  64
  i32  i8    16 16   4   4     i8         int     int16     32  32  32  32
  i32  i8     4  4   4  16     i8         int     int4       8   8   8   8
  i32  i8    32 32   8   1     i8         int     int16     64  64   -   -
  i32  i8    16 16  16   1     i8         int     int4      32  32   -   -
  i32  i8    32 32  16   1     _i8        long    int16      -   -  32  32
  i32  i8    16 16  32   1     _i8        long    int4       -   -  16  16
  i32  i8    32 32  32   1     _i8        int4    int16      -   -   -  32
  i32  i8    16 16  64   1     _i8        int4    int4       -   -   -  16
  f64  f64   16 16   4   1     f64        double  double4    -  32  32  64
  f64  f64    4  4   4   4     f64        double  double     -  16  16  16
"""

# A builtin spells its pair of 8-bit floats; f8f6f4 takes the formats as numbers, and scales: 0 is none.
_FP8: Final = (("fp8", "fp8"), ("fp8", "bf8"), ("bf8", "fp8"), ("bf8", "bf8"))
_F8F6F4: Final = {"fp8": "0", "bf8": "1", "fp6": "2", "bf6": "3", "fp4": "4"}


def mfma() -> Iterator[Instruction]:
    """Every dense MFMA of the four chips."""
    for line in _ROWS.strip().splitlines():
        c, a, m, n, k, blocks, builtin, argument, result, *cycles = line.split()
        timed = {chip: int(count) for chip, count in zip(CDNA, cycles, strict=True) if count != "-"}
        shape = int(m), int(n), int(k), int(blocks)
        yield _made(c, (a, a), shape, _Builtin(f"{m}x{n}x{k}{builtin}", argument, result), timed)
    for edge, k, result, cycles in ((32, 16, "float16", 32), (16, 32, "float4", 16)):
        timed = dict.fromkeys(NEWER, cycles)
        for a, b in _FP8:
            builtin = _Builtin(f"{edge}x{edge}x{k}_{a}_{b}", "long", result)
            yield _made("f32", (a, b), (edge, edge, k, 1), builtin, timed)
    for (edge, k, result, cycles), a, b in product(
        ((32, 64, "float16", 32), (16, 128, "float4", 16)), _F8F6F4, _F8F6F4
    ):
        timed: dict[str, int] = dict.fromkeys(
            NEWEST, cycles * 2 if a.endswith("8") or b.endswith("8") else cycles
        )
        yield _f8f6f4(a, b, (edge, edge, k, 1), result, timed)


class _Builtin(NamedTuple):
    """The end of its name, and the C++ types of its operands and of its result."""

    name: str
    operand: str
    result: str


def _made(
    c: str,
    factors: tuple[str, str],
    shape: tuple[int, int, int, int],
    builtin: _Builtin,
    cycles: Mapping[str, int],
) -> Instruction:
    (a, b), (m, n, k, blocks) = factors, shape
    name = _name(c, a, b, shape)
    is_old = not set(NEWER) & set(cycles)
    return Instruction(
        name=name, m=m, n=n, k=k, blocks=blocks, a_type=a, b_type=b, c_type=c, wave=64,
        builtin=f"__builtin_amdgcn_mfma_{c}_{builtin.name}",
        mnemonic=f"v_mfma_{c}_{builtin.name}" if is_old else f"v_{name}",
        chips=tuple(cycles), cycles=cycles, source=GFX950 if tuple(cycles) == NEWEST else CALCULATOR,
        a=operand("a", m, k, blocks), b=operand("b", n, k, blocks),
        c=accumulator(m, n, blocks, 1 if c == "f64" else 4),
        builtin_operand=builtin.operand, builtin_result=builtin.result,
        arguments=("a", "b", "c", "0", "0", "0"),
        c_register_bits=64 if c == "f64" else 32, spelled_as_builtin=OLDER,
    )  # fmt: skip


def _f8f6f4(
    a: str, b: str, shape: tuple[int, int, int, int], result: str, cycles: Mapping[str, int]
) -> Instruction:
    m, n, k, blocks = shape
    mnemonic = f"mfma_f32_{m}x{n}x{k}_f8f6f4"
    return Instruction(
        name=_name("f32", a, b, shape),
        m=m, n=n, k=k, blocks=blocks, a_type=a, b_type=b, c_type="f32", wave=64,
        builtin="__builtin_amdgcn_mfma_scale_" + mnemonic.removeprefix("mfma_"), mnemonic=f"v_{mnemonic}",
        chips=tuple(cycles), cycles=cycles, source=GFX950,
        a=_narrow("a", m, k, a), b=_narrow("b", n, k, b), c=accumulator(m, n, blocks, 4),
        scale_a=operand("a", m, k // SCALED, 1), scale_b=operand("b", n, k // SCALED, 1),
        builtin_operand="int8", builtin_result=result,
        arguments=("a", "b", "c", _F8F6F4[a], _F8F6F4[b], "0", "0", "0", "0"), c_register_bits=32,
    )  # fmt: skip


def _narrow(side: Side, edge: int, k: int, element: str) -> Map:
    return operand(side, edge, k, 1, chunks=2 if element.endswith("8") else 1)


@cache
def in_packs(found: Instruction, pack: int) -> Instruction:
    """The instruction where `pack` neighbours along k, which a lane holds, count as one, as memory has them.

    Its name stays: the table has the one of single elements.
    """
    if pack == found.pack:
        return found
    of_a, of_b = k_parts(found.a), k_parts(found.map("b"))
    if found.blocks > 1 or of_a.slots % pack or of_b.slots % pack:
        raise Diagnostic(f"{found.name} takes no packs of {pack} neighbours along k")
    k = found.k // pack
    a = operand("a", found.m, k, 1, chunks=of_a.chunks)
    b = operand("b", found.n, k, 1, chunks=of_b.chunks)
    return replace(found, k=k, a=a, b=b, pack=pack)


def _name(c: str, a: str, b: str, shape: tuple[int, int, int, int]) -> str:
    m, n, k, blocks = shape
    types = a if a == b and a not in _F8F6F4 else f"{a}_{b}"
    return f"mfma_{c}_{m}x{n}x{k}_{f'{blocks}b_' if blocks > 1 else ''}{types}"
