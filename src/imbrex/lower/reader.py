"""What the values of the threadwise IR stand for: buffers, views of them as maps, and indices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from imbrex.chip import GpuMachine, Machine
from imbrex.dtype import DType
from imbrex.index.digits import row_major
from imbrex.index.expr import Lin
from imbrex.index.map import Map
from imbrex.ir.chain import map_of
from imbrex.ir.element import dtype_of
from imbrex.ir.ops.standard import SSAValue
from imbrex.ir.ops.view import TransformOp
from imbrex.ir.shape import LDS, PRIVATE, memref_type, shape_of, space_of
from imbrex.lower.stmt import Buffer, Ref, Space

RESERVED = frozenset(
    """
    workgroup workitem wave lane scratch count index run first rows product lanes m_count n_count status
    threads operand_a operand_b operand_c packing_b imbrex kept kept_stored M N
    alignas alignof and asm auto bool break case catch char class const constexpr
    continue decltype default delete do double else enum explicit export extern false float for friend goto if
    inline int long mutable namespace new noexcept not nullptr operator or private protected public register
    return short signed sizeof static struct switch template this throw true try typedef typeid typename union
    unsigned using virtual void volatile wchar_t while xor
    """.split()
)
"""Names that generated code uses for itself, and C++'s own."""

SPACES: dict[int, Space] = {0: "global", LDS: "lds", PRIVATE: "private"}


@dataclass
class Reader:
    """Values seen so far in one function, of a program for `machine`."""

    machine: Machine
    buffers: dict[SSAValue, Buffer] = field(default_factory=lambda: dict[SSAValue, Buffer]())
    indices: dict[SSAValue, Lin] = field(default_factory=lambda: dict[SSAValue, Lin]())
    names: set[str] = field(default_factory=lambda: set(RESERVED))

    @property
    def gpu(self) -> GpuMachine:
        """The machine of a program whose workgroups have several work items."""
        assert isinstance(self.machine, GpuMachine), self.machine.name
        return self.machine

    def declare(self, value: SSAValue, hint: str) -> Buffer:
        """The buffer that a memref value names from here on."""
        name, shape = self.fresh(value.name_hint or hint), most_sizes(value)
        of_each = prod(shape[1:]) if None in shape_of(value) else None
        made = Buffer(name, element_type(value), prod(shape), SPACES[space_of(value)], of_each)
        self.buffers[value] = made
        return made

    def fresh(self, hint: str) -> str:
        """A C name that no buffer or variable of this function has."""
        hint = re.sub(r"\W", "_", hint) if not hint[:1].isdigit() else f"_{hint}"
        name, count = hint, 1
        while name in self.names:
            count += 1
            name = f"{hint}_{count}"
        self.names.add(name)
        return name

    def index(self, values: Sequence[SSAValue]) -> list[Lin]:
        return [self.indices[v] for v in values]

    def root(self, value: SSAValue) -> tuple[Buffer, SSAValue, Map | None]:
        """The buffer under a chain of views, its value, and the chain."""
        base, map = map_of(value)
        return self.buffers[base], base, map

    def element(self, base: SSAValue, map: Map | None, coords: Sequence[Lin]) -> Ref:
        """The element of a buffer that a map finds at these coordinates."""
        if map is None:
            return Ref(self.buffers[base], row_major(coords, sizes(base)))
        point = map.at(coords)
        return Ref(self.buffers[base], row_major(point.coords, [d.size for d in map.lower]), point.guards)

    def ref(self, value: SSAValue, coords: Sequence[Lin]) -> Ref:
        """The element at these coordinates of a view, or of a buffer."""
        _, base, map = self.root(value)
        return self.element(base, map, coords)

    def run(self, value: SSAValue, position: Lin, start: int) -> Ref:
        """Element number `start + position` of a plain buffer."""
        buffer, _, map = self.root(value)
        assert map is None, "a run of elements is of a plain buffer"
        return Ref(buffer, position + start)


def sizes(value: SSAValue) -> tuple[int, ...]:
    """Sizes that must be known by now."""
    found = shape_of(value)
    assert None not in found, f"a size of {value.name_hint} is not known"
    return tuple(s for s in found if s is not None)


def most_sizes(value: SSAValue) -> tuple[int, ...]:
    """Sizes of an array; the greatest one where it is told when a kernel runs."""
    views = (use.operation for use in value.uses if isinstance(use.operation, TransformOp))
    shape = shape_of(value)
    found = next(views).most_sizes if None in shape else shape
    return tuple(s for s in found if s is not None)


def element_type(value: SSAValue) -> DType:
    return dtype_of(memref_type(value).get_element_type())


def number(attribute: Any, default: Any = 0) -> Any:
    """The plain value of an optional attribute."""
    return default if attribute is None else attribute.data
