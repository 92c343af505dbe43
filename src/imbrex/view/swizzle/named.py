"""Tile kernels by name: `f16_16x16x16_8x8_Kx2`, and others in the wild that have one.

    TYPE_MxNxK   or the full name of an instruction: what is unrolled
    _UxV         instructions of a wave along m and n; 1x1 where it is left out
    _KxW         instructions along k, interleaved, so that a lane loads for all of them at once
    _wAxB        waves along m and n

`TYPE_MxNxK` is the MFMA of one block with A and B of that type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final, Literal, get_args

from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.numeral import whole
from imbrex.view.mma import Instruction, instruction, instructions
from imbrex.view.swizzle.kernel import LANES_TOGETHER, TileKernel

__all__ = ["INSTANCES", "K_CONVENTIONS", "SEEDS", "KConvention", "k_run", "kernel_name", "tile_kernel"]

SEEDS: Final = (
    "f32_16x16x4",
    "f32_16x16x4_Kx4",
    "f32_16x16x4_2x2_Kx4",
    "f32_16x16x4_8x8_Kx4",
    "f16_16x16x16_2x2_Kx2",
    "f16_16x16x16_8x8_Kx2",
    "i8_16x16x32_2x2_Kx2",
    "i8_16x16x32_8x8_Kx2",
)
"""The seeds' kernels, as one wave computes them."""

KConvention = Literal["interleaved", "contiguous", "split16"]
K_CONVENTIONS: Final[tuple[KConvention, ...]] = get_args(KConvention)
"""How k counts where several instructions are loaded for at once: whole instructions one after the other (the
seeds, IREE, hip-matmul), all of a lane's k together (Composable Kernel), or 16 of a lane's k together (the
8-bit form of gfx950's f8f6f4, HipKittens)."""

FORM: Final = f"write TYPE_MxNxK[_UxV][_KxW][_wAxB], such as {SEEDS[-1]}, or an instruction for TYPE_MxNxK"

_NAME: Final = re.compile(
    r"(?P<instruction>.+?)(?:_(?P<m>\d+)x(?P<n>\d+))?(?:_Kx(?P<k>\d+))?(?:_w(?P<wm>\d+)x(?P<wn>\d+))?"
)
_SHORT: Final = re.compile(r"(?P<type>[a-z]+\d+)_(?P<shape>\d+x\d+x\d+)")
_UNROLL_OUTSIDE: Final = ("unroll_m", "unroll_n", "wave", "outer", "lane", "unroll_k", "element")

INSTANCES: Final[Mapping[str, Callable[[], TileKernel]]] = {
    # IREE's choice for large f32 products on gfx942: 128 x 128 x 16 by four waves.
    "iree_f32": lambda: TileKernel(instruction("mfma_f32_16x16x4_f32"), (4, 4, 4), (2, 2, 1)),
    # hip-matmul's f32 kernel of 1024 work items (matmul.hip, line 1615): neighbours in different waves.
    "hip_f32_1024": lambda: TileKernel(
        instruction("mfma_f32_16x16x4_f32"), (2, 2, 4), (4, 4, 1), _UNROLL_OUTSIDE, waves_inside=True
    ),
    # hip-matmul's i8 kernel of 32x32x16 (line 2008): the 16 sums of a lane lie side by side.
    "hip_i8_32x32x16": lambda: TileKernel(
        instruction("mfma_i32_32x32x16_i8"), (4, 4, 1), order=LANES_TOGETHER
    ),
}
"""Kernels whose layout is not that of any name above."""


def k_run(convention: KConvention, of: Instruction, unroll: int) -> int | None:
    """The run along k of a TileKernel with that many instructions along k; see `K_CONVENTIONS`."""
    return {"interleaved": None, "contiguous": of.a_elements * unroll, "split16": 16}[convention]


MOST_TILES: Final = 1024
"""Instructions along one dimension of a kernel, or waves."""


@lru_cache(maxsize=256)
def tile_kernel(name: str, convention: KConvention = "interleaved") -> TileKernel:
    """The kernel of this name; Diagnostic where there is none."""
    if name in INSTANCES:
        return INSTANCES[name]()
    found = _NAME.fullmatch(name)
    if found is None:
        raise Diagnostic(f"there is no tile kernel '{name}'", hint=FORM)
    texts = {key: text for key, text in found.groupdict("1").items() if key != "instruction"}
    counts = {key: n for key, text in texts.items() if (n := whole(text, 0, MOST_TILES)) is not None}
    if counts.keys() != texts.keys():
        raise Diagnostic(f"tile kernel '{name}' has a count above {MOST_TILES}", hint=FORM)
    unroll = counts["m"], counts["n"], counts["k"]
    waves = counts["wm"], counts["wn"], 1
    of = _instruction(found["instruction"], name)
    return replace(TileKernel(of, unroll, waves), runs=(None, None, k_run(convention, of, unroll[2])))


def kernel_name(kernel: TileKernel) -> str:
    """The name that `tile_kernel` takes back, where the order and the numbering are a named kernel's own."""
    of = kernel.instruction
    short = f"{of.a_type}_{of.m}x{of.n}x{of.k}"
    (m, n, k), (wm, wn, _) = kernel.unroll, kernel.waves
    return "".join(
        (
            short if _found(short) == of else of.name,
            f"_{m}x{n}" if (m, n) != (1, 1) else "",
            f"_Kx{k}" if k != 1 else "",
            f"_w{wm}x{wn}" if (wm, wn) != (1, 1) else "",
        )
    )


def _instruction(word: str, name: str) -> Instruction:
    found = _found(word)
    if found is not None:
        return found
    short = _SHORT.fullmatch(word)
    if short is None:
        try:
            return instruction(word)
        except Diagnostic:
            hint = did_you_mean(name, [*SEEDS, *INSTANCES]) or FORM
            raise Diagnostic(f"there is no tile kernel '{name}'", hint=hint) from None
    shapes = [f"{i.m}x{i.n}x{i.k}" for i in _single() if i.a_type == short["type"]]
    known = f"of {short['type']} there are {', '.join(shapes)}"
    if not shapes:
        known = f"types are {', '.join(dict.fromkeys(i.a_type for i in _single()))}"
    raise Diagnostic(f"there is no tile kernel '{name}': no MFMA of one block is {word}", hint=known)


def _found(word: str) -> Instruction | None:
    """The instruction of a short name."""
    return next((i for i in _single() if f"{i.a_type}_{i.m}x{i.n}x{i.k}" == word), None)


def _single() -> tuple[Instruction, ...]:
    """MFMA of one block whose A and B have the same type."""
    return tuple(
        i for i in instructions() if i.blocks == 1 and i.a_type == i.b_type and i.name.startswith("mfma")
    )
