"""MLIR text of a swizzle: `tensor.expand_shape` and `linalg.transpose`, as upstream's mlir-opt reads them.

    func.func @pack(%source: tensor<16x4xf32>) -> tensor<4x16xf32>       the tile to its packed form
    func.func @unpack(%packed: tensor<4x16xf32>) -> tensor<16x4xf32>     and back, by collapse_shape

Law: `pack` moves element (r, c) of the source to the offset that the swizzle's map says.
"""

from __future__ import annotations

from collections.abc import Sequence

from imbrex.view.mma import Operand
from imbrex.view.swizzle import Swizzle, TileKernel

__all__ = ["element_type", "pack_function", "tile_module", "unpack_function"]


def element_type(kernel: TileKernel, operand: Operand, chip: str | None = None) -> str:
    """MLIR's name of the elements of an operand: 8-bit floats are those of the chip, by default the newest
    that has the instruction.
    """
    found = kernel.instruction.format(operand, chip or kernel.instruction.chips[-1])
    if found.startswith("iu"):
        return f"i{found[2:]}"
    return found[0] + found[1:].upper() if "e" in found else found


def tile_module(
    kernel: TileKernel, operand: Operand, name: str | None = None, chip: str | None = None
) -> str:
    """`pack` and `unpack` of an operand's tile; with a name, `NAME_pack` and `NAME_unpack`."""
    swizzle, element = kernel.swizzle(operand), element_type(kernel, operand, chip)
    start = f"{name}_" if name else ""
    functions = (
        pack_function(swizzle, element, f"{start}pack"),
        unpack_function(swizzle, element, f"{start}unpack"),
    )
    return "\n".join(functions)


def pack_function(swizzle: Swizzle, element: str, name: str = "pack") -> str:
    """The source tile to the packed tile."""
    source, expanded, packed = _types(swizzle, element)
    return _function(
        name,
        "source",
        (source, packed),
        [
            f"%expanded = tensor.expand_shape %source {_nested(swizzle.reassociation)}"
            f" output_shape {_listed(swizzle.expanded_shape)}",
            f"    : {source} into {expanded}",
            f"%init = tensor.empty() : {packed}",
            "%result = linalg.transpose",
            f"    ins(%expanded : {expanded})",
            f"    outs(%init : {packed})",
            f"    permutation = {_listed(swizzle.permutation)}",
        ],
    )


def unpack_function(swizzle: Swizzle, element: str, name: str = "unpack") -> str:
    """The packed tile to the source tile."""
    source, expanded, packed = _types(swizzle, element)
    back = [swizzle.permutation.index(i) for i in range(len(swizzle.permutation))]
    return _function(
        name,
        "packed",
        (packed, source),
        [
            f"%init = tensor.empty() : {expanded}",
            "%expanded = linalg.transpose",
            f"    ins(%packed : {packed})",
            f"    outs(%init : {expanded})",
            f"    permutation = {_listed(back)}",
            f"%result = tensor.collapse_shape %expanded {_nested(swizzle.reassociation)}",
            f"    : {expanded} into {source}",
        ],
    )


def _function(name: str, argument: str, types: tuple[str, str], body: Sequence[str]) -> str:
    take, give = types
    lines = [
        f"func.func @{name}(%{argument}: {take}) -> {give} {{",
        *(f"  {line}" for line in body),
        f"  return %result : {give}",
        "}",
    ]
    return "\n".join([*lines, ""])


def _types(swizzle: Swizzle, element: str) -> tuple[str, str, str]:
    """MLIR types of the source, the expanded and the packed tile."""
    shapes = swizzle.source_shape, swizzle.expanded_shape, swizzle.packed_shape
    source, expanded, packed = (f"tensor<{'x'.join(map(str, shape))}x{element}>" for shape in shapes)
    return source, expanded, packed


def _listed(numbers: Sequence[int]) -> str:
    return f"[{', '.join(map(str, numbers))}]"


def _nested(groups: Sequence[Sequence[int]]) -> str:
    return f"[{', '.join(map(_listed, groups))}]"
