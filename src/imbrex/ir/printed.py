"""Printer of the seeds' text: lists of dictionaries broken over lines, everything else on one.

`Seed` is xDSL's printer that also writes address spaces as the seeds do (`#3`) and, when asked, the
compact form of the first draft.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Final, TypeVar

from xdsl.dialects.builtin import IntegerAttr, MemRefType, NoneAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.printer import Printer

from imbrex.ir.literal import Plain, Reference

T = TypeVar("T")
LINE: Final = "\n"


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
        case SSAValue():
            printer.print_ssa_value(value)
        case Sequence() if not isinstance(value, str) and any(isinstance(v, SSAValue) for v in value):
            with printer.in_square_brackets():
                printer.print_list(value, lambda v: write(printer, v))
        case _:
            printer.print_string(_text(value, LINE, " " * printer.indent_num_spaces))


def _text(value: Plain, newline: str, step: str) -> str:
    """A literal without SSA values.  newline: with what is before a line of it; step: before one inside."""
    match value:
        case str():
            return _quoted(value)
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case Mapping():
            lines = (f"{key} = {_text(v, newline + step, step)}" for key, v in value.items())
            return _lines("{}", lines, newline, step)
        case Sequence() if any(isinstance(v, Mapping) for v in value):
            return _lines("[]", (_text(v, newline + step, step) for v in value), newline, step)
        case Sequence():
            return f"[{', '.join(_text(v, newline, step) for v in value)}]"
        case None:
            return "?"
        case float():
            return _float(value)
        case Reference(index):
            return f"#{index}"
        case SSAValue():
            raise AssertionError(f"an SSA value inside of a literal: {value}")


def _lines(brackets: str, lines: Iterable[str], newline: str, step: str) -> str:
    """Brackets around lines that are a step further inside."""
    inside = ",".join(f"{newline}{step}{line}" for line in lines)
    return f"{brackets[0]}{inside}{newline}{brackets[1]}"


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
    step = " " * printer.indent_num_spaces
    fields = (f"{key} = {_text(value, LINE, step)}" for key, value in entries.items())
    printer.print_string(f"{{ {', '.join(fields)} }}")


def write_numbered(printer: Printer, names: Sequence[str]) -> None:
    """Print names as the first draft does: `[0: k, 1: c]`."""
    printer.print_string("[" + ", ".join(f"{i}: {n}" for i, n in enumerate(names)) + "]")


def write_entries(printer: Printer, lines: Sequence[str]) -> None:
    """Print the compact entries of a transform, one a line."""
    _block(printer, "[]", lines, printer.print_string)


def _block(printer: Printer, brackets: str, items: Iterable[T], each: Callable[[T], object]) -> None:
    printer.print_string(brackets[0])
    with printer.indented():
        for i, item in enumerate(items):
            printer.print_string(",\n" if i else "\n")
            each(item)
    printer.print_string("\n" + brackets[1])


def _quoted(value: str) -> str:
    """A string literal; MLIR reads `\\0A` as one byte, so only ASCII is escaped."""
    if value.isidentifier():
        return f'"{value}"'
    return '"' + "".join(f"\\{ord(c):02X}" if c < " " or c in '\x7f"\\' else c for c in value) + '"'


def _float(value: float) -> str:
    """Shortest text that reads back equal; MLIR's numbers need a point before an exponent."""
    shown = repr(value)
    return shown if "." in shown else shown.replace("e", ".0e")
