"""wgmma of sm_90a, NVIDIA Hopper: what a warpgroup of four warps multiplies together.

A product is 64 rows by N columns by 32 bytes of K.  B is read from shared memory, through a descriptor
(`view.shared_tile`), and so is A, unless it is in registers, for which its layout is here; D is in registers.
Each line has the types of D, A and B, K, the arithmetic rate, and the shapes that N can have.

Shapes, types and layouts are those of the PTX ISA 8.0, "asynchronous warpgroup level matrix multiply-
accumulate"; rates are operations of a multiprocessor in a cycle, from the dense peaks of the H100 data sheet
(1979 TFLOP/s in 8 bits at 1.83 GHz on 132 multiprocessors), and the cycles are those of its four matrix units
together.  With less than 64 columns an instruction waits for A from shared memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from imbrex.view.mma.instruction import BITS, Instruction
from imbrex.view.mma.layout import Side, warpgroup_accumulator, warpgroup_operand

__all__ = ["ALONG_ROWS", "HOPPER", "wgmma"]

HOPPER: Final = ("sm_90a",)
PTX: Final = "PTX ISA 8.0, wgmma.mma_async; H100 data sheet"
WARPGROUP: Final = 128
"""Lanes."""
ROWS: Final = 64
"""Rows of A that an instruction multiplies, its M."""
ALONG_ROWS: Final[Mapping[Side, tuple[int, ...]]] = {"a": (2, 4), "b": (2,)}
"""Bytes of elements that the matrix unit reads along rows: of A out of registers, too, which four fill."""

# D    A    B     K   rate
_ROWS: Final = """
  f32  f16  f16   16  4096
  f32  bf16 bf16  16  4096
  f16  f16  f16   16  4096
  f32  tf32 tf32   8  2048
  f32  e4m3 e4m3  32  8192
  f32  e4m3 e5m2  32  8192
  f32  e5m2 e4m3  32  8192
  f32  e5m2 e5m2  32  8192
  s32  s8   s8    32  8192
  s32  s8   u8    32  8192
  s32  u8   s8    32  8192
  s32  u8   u8    32  8192
"""

COLUMNS: Final[Mapping[str, tuple[int, ...]]] = {
    "f32": tuple(range(8, 257, 8)),
    "f16": tuple(range(8, 257, 8)),
    "s32": (8, 16, 24, *range(32, 257, 16)),
}
"""Type of D -> the N that there are."""


def wgmma() -> Iterator[Instruction]:
    """Every dense wgmma but those of single bits and of 8-bit floats with f16 sums."""
    for line in _ROWS.strip().splitlines():
        d, a, b, k, rate = line.split()
        for n in COLUMNS[d]:
            yield _made(d, a, b, n, int(k), int(rate))


def _made(d: str, a: str, b: str, n: int, k: int, rate: int) -> Instruction:
    shape = f"m{ROWS}n{n}k{k}"
    return Instruction(
        name=f"wgmma_{shape}_{d}_{a}" + (f"_{b}" if a != b else ""),
        m=ROWS, n=n, k=k, blocks=1, a_type=a, b_type=b, c_type=d, wave=WARPGROUP,
        builtin="", mnemonic=f"wgmma.mma_async.sync.aligned.{shape}.{d}.{a}.{b}",
        chips=HOPPER, cycles=dict.fromkeys(HOPPER, 2 * ROWS * n * k // rate), source=PTX,
        a=warpgroup_operand(ROWS, k, 32 // BITS[a]), b=None, c=warpgroup_accumulator(ROWS, n),
        builtin_operand="", builtin_result="", arguments=_arguments(a), c_register_bits=BITS[d],
    )  # fmt: skip


def _arguments(a: str) -> tuple[str, ...]:
    """p: whether the sums go on (true) or start anew.  Floats have signs of A and B.  16-bit ones say of each
    operand in shared memory whether its rows (A) or columns (B) lie together there (1), or k does (0).
    """
    signs = () if a in ("s8", "u8") else ("1", "1")
    return ("c", "a", "b", "p", *signs, *(("a_major", "b_major") if BITS[a] == 16 else ()))
