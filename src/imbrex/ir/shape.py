"""Shapes of memrefs with `?` as None, so that no arithmetic meets xDSL's number for a dynamic size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import TypeAlias, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, IntegerType, MemRefType, NoneAttr, i8, i32
from xdsl.ir import Attribute, SSAValue

Size: TypeAlias = "int | None"
Shape: TypeAlias = tuple[Size, ...]
Buffer: TypeAlias = SSAValue | Attribute
"""A memref value, or a memref type."""

MOST_ELEMENTS = 2**59
"""So many elements of 16 bytes still have 64-bit offsets."""
SIZES = "_sizes"
GLOBAL = 0
LDS = 3
PRIVATE = 5


def memref_type(source: Buffer) -> MemRefType[Attribute]:
    """The type of a value that must be a memref."""
    ty = source.type if isinstance(source, SSAValue) else source
    assert isinstance(ty, MemRefType), ty
    return cast(MemRefType[Attribute], ty)


def shape_of(source: Buffer) -> Shape:
    """Sizes, outermost first; None for `?`.  A type keeps them, since xDSL unpacks bytes each time."""
    known = vars(memref_type(source))
    found: Shape | None = known.get(SIZES)
    if found is None:
        sizes = memref_type(source).get_shape()
        found = known[SIZES] = tuple(None if s == DYNAMIC_INDEX else s for s in sizes)
    return found


def rank_of(source: Buffer) -> int:
    """Number of dimensions."""
    return memref_type(source).get_num_dims()


def element_of(source: Buffer) -> Attribute:
    """The element type."""
    return memref_type(source).get_element_type()


def space_of(source: Buffer) -> int:
    """The memory space: 0 global, 3 LDS, 5 private."""
    space = memref_type(source).memory_space
    return cast(IntegerAttr[IntegerType], space).value.data if isinstance(space, IntegerAttr) else 0


def memref(element: Attribute, sizes: Iterable[Size], space: int = 0) -> MemRefType:
    """The memref of these sizes in memory space 0 (global), 3 (LDS) or 5 (private)."""
    return _memref(element, tuple(sizes), space)


@lru_cache(maxsize=4096)
def _memref(element: Attribute, sizes: Shape, space: int) -> MemRefType:
    """Types are values, and a lowering asks for the same few hundreds of times."""
    shape = [DYNAMIC_INDEX if s is None else s for s in sizes]
    return (
        MemRefType(element, shape)
        if not space
        else MemRefType(element, shape, memory_space=IntegerAttr(space, i32))
    )


def is_bytes(source: Buffer) -> bool:
    """True for `memref<...xi8>` of rank 1: raw storage that views give a meaning to."""
    return rank_of(source) == 1 and element_of(source) == i8


def flaw_of(source: Buffer) -> str | None:
    """Why a memref is not one of this dialect: a dense row-major box with positive sizes; None when it is."""
    ty = memref_type(source)
    sizes = [s for s in shape_of(ty) if s is not None]
    if not isinstance(ty.layout, NoneAttr):
        return f"a memref with a layout, {ty.layout}; say it as a miopen.transform of a plain memref"
    if min(sizes, default=1) < 1:
        return f"sizes are positive, got {shape_text(shape_of(ty))}"
    if prod(sizes) > MOST_ELEMENTS:
        return f"{shape_text(shape_of(ty))} has more elements than a 64-bit index can count"
    return None


def times(sizes: Sequence[Size]) -> Size:
    """The product; None when a factor is unknown."""
    known = [s for s in sizes if s is not None]
    return prod(known) if len(known) == len(sizes) else None


def agree(a: Size, b: Size) -> bool:
    """True unless both sizes are known and differ."""
    return a is None or b is None or a == b


def shape_text(sizes: Iterable[Size]) -> str:
    return "x".join("?" if s is None else str(s) for s in sizes)
