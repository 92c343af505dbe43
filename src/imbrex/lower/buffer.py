"""Buffers, references into them, and names for the indices that references share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from imbrex.dtype import DType
from imbrex.index.expr import Lin
from imbrex.index.rule import Guard

Space: TypeAlias = Literal["global", "lds", "private"]
StoreMethod: TypeAlias = Literal["set", "atomic_add"]


@dataclass(frozen=True)
class Buffer:
    """A run of elements.  LDS and private buffers come into being with `Alloc` or `View`.

    of_each: of an array of a run-time size, elements of each of its `count`; elements is of the greatest one.
    """

    name: str
    dtype: DType
    elements: int
    space: Space
    of_each: int | None = None


def first_of(buffer: Buffer) -> str:
    """The first element of an argument as a runtime quantity: its name is what C calls it."""
    return f"{buffer.name}[0]"


@dataclass(frozen=True)
class Bit:
    """Bit `place` of the word at `offset` of a private buffer of i32; set where an element does not exist."""

    buffer: Buffer
    offset: Lin
    bit: Lin


@dataclass(frozen=True)
class Ref:
    """An element, or the first of `width` neighbours; reads 0 and drops writes where a guard fails, or where
    the bit `missing` is set.
    """

    buffer: Buffer
    offset: Lin
    guards: tuple[Guard, ...] = ()
    missing: Bit | None = None


@dataclass(frozen=True)
class Let:
    """A name for an index that several statements below share."""

    name: str
    index: Lin
