"""Printer of the seeds' text: lists of dictionaries broken over lines, everything else on one.

`Seed` is xDSL's printer that also writes address spaces as the seeds do (`#3`) and, when asked, the
compact form of the first draft.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import TypeVar

from xdsl.dialects.builtin import IntegerAttr, MemRefType, NoneAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.printer import Printer

from imbrex.ir.literal import Plain, Reference

T = TypeVar("T")


@dataclass(eq=False, repr=False)
class Seed(Printer):
    """xDSL's printer in the seeds' dialect of the text."""

    compact: bool = field(default=False, kw_only=True)

    def print_attribute(self, attribute: Attribute) -> None:
        match attribute:
            case MemRefType(memory_space=IntegerAttr() as space, layout=NoneAttr()) if (
                space.type == i32 and not self.print_generic_format
            ):
                self.print_string("memref<")
                self.print_dimension_list(attribute.get_shape())
                self.print_string("x" if attribute.get_num_dims() else "")
                self.print_attribute(attribute.get_element_type())
                self.print_string(f", #{space.value.data}>")
            case _:
                super().print_attribute(attribute)

    def print_op(self, op: Operation) -> None:
        if self.compact and op.name == "miopen.conv2d":
            self.print_string("miopen.conv")
            op.print(self)
        else:
            super().print_op(op)


def print_module(module: Operation, *, generic: bool = False, compact: bool = False) -> str:
    """The text of an operation, ending in a newline."""
    out = StringIO()
    printer = Seed(out, print_generic_format=generic, compact=compact)
    printer.print_op(module)
    return out.getvalue() + "\n"


def text_of(attribute: Attribute) -> str:
    """A type or an attribute as the text has it."""
    out = StringIO()
    Seed(out).print_attribute(attribute)
    return out.getvalue()


def print_compact(module: Operation) -> str:
    """The text in the form of the first draft: `0: merge(1: c, 2: y, 3: x), gemmK`."""
    return print_module(module, compact=True)


def write(printer: Printer, value: Plain) -> None:
    """Print a literal."""
    match value:
        case None:
            printer.print_string("?")
        case bool():
            printer.print_string(str(value).lower())
        case int():
            printer.print_string(str(value))
        case float():
            printer.print_string(_float(value))
        case str():
            printer.print_string(_quoted(value))
        case Reference(index):
            printer.print_string(f"#{index}")
        case SSAValue():
            printer.print_ssa_value(value)
        case Mapping():
            write_fields(printer, {k: _writer(printer, v) for k, v in value.items()}, broken=True)
        case Sequence() if any(isinstance(v, Mapping) for v in value):
            _block(printer, "[]", value, lambda v: write(printer, v))
        case Sequence():
            with printer.in_square_brackets():
                printer.print_list(value, lambda v: write(printer, v))


def write_fields(printer: Printer, entries: Mapping[str, Callable[[], None]], broken: bool) -> None:
    """Print `{ key = value, ... }`, one a line when `broken`."""

    def each(key: str) -> None:
        printer.print_string(f"{key} = ")
        entries[key]()

    if broken:
        _block(printer, "{}", entries, each)
    else:
        printer.print_string("{ ")
        printer.print_list(entries, each)
        printer.print_string(" }")


def write_line(printer: Printer, entries: Mapping[str, Plain]) -> None:
    """Print a short dictionary, on one line."""
    write_fields(printer, {key: _writer(printer, value) for key, value in entries.items()}, broken=False)


def write_numbered(printer: Printer, names: Sequence[str]) -> None:
    """Print names as the first draft does: `[0: k, 1: c]`."""
    printer.print_string("[" + ", ".join(f"{i}: {n}" for i, n in enumerate(names)) + "]")


def write_entries(printer: Printer, lines: Sequence[str]) -> None:
    """Print the compact entries of a transform, one a line."""
    _block(printer, "[]", lines, printer.print_string)


def _writer(printer: Printer, value: Plain) -> Callable[[], None]:
    return lambda: write(printer, value)


def _block(printer: Printer, brackets: str, items: Iterable[T], each: Callable[[T], object]) -> None:
    printer.print_string(brackets[0])
    with printer.indented():
        for i, item in enumerate(items):
            printer.print_string(",\n" if i else "\n")
            each(item)
    printer.print_string("\n" + brackets[1])


def _quoted(value: str) -> str:
    """A string literal; MLIR reads `\\0A` as one byte, so only ASCII is escaped."""
    return '"' + "".join(f"\\{ord(c):02X}" if c < " " or c in '\x7f"\\' else c for c in value) + '"'


def _float(value: float) -> str:
    """Shortest text that reads back equal; MLIR's numbers need a point before an exponent."""
    shown = repr(value)
    return shown if "." in shown else shown.replace("e", ".0e")
