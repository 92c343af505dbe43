"""Attributes of the dialect: each has one plain Python payload, its decoder and its text.

In an operation's own syntax an attribute is written as its bare literal; in the generic form as
`#miopen.names<["k", "c", "y", "x"]>`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeAlias, TypeVar

from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from imbrex.ir.entry import Entry, decode_entry
from imbrex.ir.literal import Node, Plain, Reference, boolean, integer, listed, number, size, text
from imbrex.ir.printed import write, write_entries, write_numbered
from imbrex.ir.text import Reader
from imbrex.numeral import counted

Payload = TypeVar("Payload")


class Literal(Data[Payload], ABC, Generic[Payload]):
    """An attribute whose text is one literal of the configuration syntax."""

    @classmethod
    @abstractmethod
    def decode(cls, node: Node) -> Payload:
        """The payload that a literal stands for; ParseError at the literal that is wrong."""

    @abstractmethod
    def plain(self) -> Plain:
        """The literal, without places."""

    def write(self, printer: Printer, compact: bool = False) -> None:
        """Print the literal; `compact` asks for the first draft's form where there is one."""
        write(printer, self.plain())

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Payload:
        with parser.in_angle_brackets():
            return cls.decode(Reader(parser).value())

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.write(printer)


@irdl_attr_definition
class Int(Literal[int]):
    """A whole number."""

    name = "miopen.int"

    @classmethod
    def decode(cls, node: Node) -> int:
        return integer(node)

    def plain(self) -> Plain:
        return self.data


@irdl_attr_definition
class Float(Literal[float]):
    """A number, as alpha and beta are."""

    name = "miopen.float"

    @classmethod
    def decode(cls, node: Node) -> float:
        return number(node)

    def plain(self) -> Plain:
        return self.data


@irdl_attr_definition
class Bool(Literal[bool]):
    """true or false."""

    name = "miopen.bool"

    @classmethod
    def decode(cls, node: Node) -> bool:
        return boolean(node)

    def plain(self) -> Plain:
        return self.data


@irdl_attr_definition
class Keyword(Literal[str]):
    """One word of a small set, such as a kernel algorithm."""

    name = "miopen.keyword"

    @classmethod
    def decode(cls, node: Node) -> str:
        return text(node)

    def plain(self) -> Plain:
        return self.data


@irdl_attr_definition
class Ints(Literal[tuple[int, ...]]):
    """Whole numbers, such as strides."""

    name = "miopen.ints"

    @classmethod
    def decode(cls, node: Node) -> tuple[int, ...]:
        return listed(integer)(node)

    def plain(self) -> Plain:
        return self.data


@irdl_attr_definition
class Names(Literal[tuple[str, ...]]):
    """Names of dimensions, outermost first."""

    name = "miopen.names"

    @classmethod
    def decode(cls, node: Node) -> tuple[str, ...]:
        return listed(text)(node)

    def plain(self) -> Plain:
        return self.data

    def write(self, printer: Printer, compact: bool = False) -> None:
        if compact:
            write_numbered(printer, self.data)
        else:
            write(printer, self.data)


@irdl_attr_definition
class Sizes(Literal[tuple[int | None, ...]]):
    """Sizes of a shape; None for `?`."""

    name = "miopen.sizes"

    @classmethod
    def decode(cls, node: Node) -> tuple[int | None, ...]:
        return listed(size)(node)

    def plain(self) -> Plain:
        return self.data


@irdl_attr_definition
class Extents(Literal[tuple[int | Reference | None, ...]]):
    """Sizes that may also be SSA values: `[8, ?, %m]`."""

    name = "miopen.extents"

    @classmethod
    def decode(cls, node: Node) -> tuple[int | Reference | None, ...]:
        return listed(lambda n: n.value if isinstance(n.value, Reference) else size(n))(node)

    def plain(self) -> Plain:
        return self.data


Pair: TypeAlias = tuple[int, int]


@irdl_attr_definition
class Padding(Literal[tuple[Pair, ...]]):
    """Pads (before, after) of height and width; `[h, w]` is short for the same on both sides."""

    name = "miopen.padding"

    @classmethod
    def decode(cls, node: Node) -> tuple[Pair, ...]:
        def pair(side: Node) -> Pair:
            if not isinstance(side.value, tuple):
                both = integer(side)
                return both, both
            if len(side.value) != 2:
                side.fail(f"expected [before, after], got {counted(len(side.value), 'number')}")
            return integer(side.value[0]), integer(side.value[1])

        return listed(pair)(node)

    def plain(self) -> Plain:
        if all(before == after for before, after in self.data):
            return tuple(before for before, _ in self.data)
        return self.data


@irdl_attr_definition
class Offset(Literal[int | tuple[int, ...]]):
    """An offset in elements: one number, or one a dimension."""

    name = "miopen.offset"

    @classmethod
    def decode(cls, node: Node) -> int | tuple[int, ...]:
        return listed(integer)(node) if isinstance(node.value, tuple) else integer(node)

    def plain(self) -> Plain:
        return self.data


@irdl_attr_definition
class Layout(Literal[tuple[Entry, ...]]):
    """The entries of a transform."""

    name = "miopen.layout"

    @classmethod
    def decode(cls, node: Node) -> tuple[Entry, ...]:
        return listed(decode_entry)(node)

    def plain(self) -> Plain:
        return tuple(entry.plain() for entry in self.data)

    def write(self, printer: Printer, compact: bool = False) -> None:
        if compact:
            write_entries(printer, [entry.compact() for entry in self.data])
        else:
            write(printer, self.plain())


ATTRIBUTES: list[type[Attribute]] = [
    Int,
    Float,
    Bool,
    Keyword,
    Ints,
    Names,
    Sizes,
    Extents,
    Padding,
    Offset,
    Layout,
]
