"""A matrix instruction of warpgroups as a function on registers: which of device/cuda/ptx/wgmma.h it is."""

from __future__ import annotations

from typing import Final

from imbrex.emit.cuda.member import boolean
from imbrex.view.mma import Instruction
from imbrex.view.stage.shared_tile import Major

__all__ = ["multiply", "sum_type"]

HALVES: Final = ("f16", "bf16")
"""Types of operands that wgmma reads along either dim."""


def sum_type(one: Instruction) -> str:
    """The C type of a sum."""
    return "int32_t" if one.c_type == "s32" else "float"


def multiply(one: Instruction, majors: tuple[Major, Major]) -> list[str]:
    """`multiply(d, a, b, adds)`: d = a * b, and + d where `adds`; d: the first of some columns' sums."""
    assert one.a_type in HALVES or majors == ("k", "k"), f"{one.name} reads along k only, not {majors}"
    unit = f"imbrex::matrix_unit<imbrex::factors::{one.a_type}, {one.n}>"
    turned = ", ".join(boolean(major == "d") for major in majors)
    return [
        f"// {one.mnemonic}",
        f"IMBREX_MEMBER static void multiply({sum_type(one)} *d, uint64_t a, uint64_t b, bool adds) {{",
        f"  {unit}::multiply<{turned}>(d, a, b, adds);",
        "}",
    ]
