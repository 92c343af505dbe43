"""Tiles packed for matrix instructions: any instruction, unrolled along m, n and k and shared by waves."""

from imbrex.view.swizzle.kernel import (
    INTERLEAVED,
    LANES_TOGETHER,
    NOT_INTERLEAVED,
    OPERAND_DIMS,
    TileKernel,
)
from imbrex.view.swizzle.named import (
    INSTANCES,
    K_CONVENTIONS,
    SEEDS,
    KConvention,
    k_run,
    kernel_name,
    tile_kernel,
)
from imbrex.view.swizzle.part import KINDS, Digit, Kind, Part, held_parts
from imbrex.view.swizzle.swizzle import Swizzle

__all__ = [
    "INSTANCES",
    "INTERLEAVED",
    "KINDS",
    "K_CONVENTIONS",
    "LANES_TOGETHER",
    "NOT_INTERLEAVED",
    "OPERAND_DIMS",
    "SEEDS",
    "Digit",
    "KConvention",
    "Kind",
    "Part",
    "Swizzle",
    "TileKernel",
    "held_parts",
    "k_run",
    "kernel_name",
    "tile_kernel",
]
