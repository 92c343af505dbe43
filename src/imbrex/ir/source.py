"""Where the IR came from: a parser that stamps every operation, and errors that show the place.

`SourceMap` keeps, beside the IR, the span of every literal, operand and type of the operations that were
read from text.  A verifier says which field is wrong (`InvalidField.path`); the map turns that into a
Diagnostic with carets under the literal, or under the operation when a rewrite made it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Final, NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, IntegerAttr, StringAttr, UnknownLoc, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser, ParserState, UnresolvedOperand
from xdsl.utils.exceptions import (
    DiagnosticException,
    MultipleSpansParseError,
    ParseError,
    VerifyException,
)
from xdsl.utils.lexer import Input, Position, Span

from imbrex.diagnostic import Diagnostic
from imbrex.ir.literal import Node
from imbrex.ir.printed import text_of
from imbrex.ir.slips import SlipLexer, better, unknown_operation

BORROWED_FAULTS = (
    IndexError, KeyError, ValueError, AssertionError, TypeError, AttributeError, OverflowError,
    NotImplementedError,
)  # fmt: skip
"""What xDSL raises now and then instead of an error with a place: for operations in their generic form with
another number of operands, results or regions than they have, for numbers without end."""

FAULTS: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    TypeError,
    ValueError,
)
"""What code breaks with that meets something it was not written for."""

Path = tuple[str | int, ...]
"""Where in an operation: ("layout", 1, "names", 0), ("operand", 0), ("type", 2) or ("result", 0)."""


class InvalidField(VerifyException):
    """A broken rule of an operation, and the field that breaks it."""

    def __init__(self, message: str, *path: str | int):
        super().__init__(message)
        self.path: Path = path


class InvalidOp(DiagnosticException):
    """A pass cannot go on because of `op`, at `path` in it."""

    def __init__(self, op: Operation, message: str, *path: str | int):
        super().__init__(message)
        self.op, self.path = op, path


class PassFault(Exception):
    """A pass broke at `op`, though the text verifies; `__cause__` is what it broke with."""

    def __init__(self, op: Operation, cause: Exception):
        super().__init__(f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__)
        self.op = op


def expect(holds: bool, message: str, *path: str | int) -> None:
    """Raise InvalidField at `path` unless `holds`."""
    if not holds:
        raise InvalidField(message, *path)


@dataclass(frozen=True)
class OpSource:
    """Places of the pieces of one operation."""

    config: Node | None = None
    operands: tuple[Span[str], ...] = ()
    types: tuple[Span[str], ...] = ()
    results: tuple[Span[str], ...] = ()

    def find(self, path: Path) -> Span[str] | None:
        """The place of a field, or of the nearest literal around it."""
        match path:
            case ("operand" | "type" | "result" as side, int(index)):
                spans = {"operand": self.operands, "type": self.types, "result": self.results}[side]
                return spans[index] if index < len(spans) else None
            case _:
                node = self.config.find(path) if self.config and path else None
                return node.span if node else None


@dataclass
class SourceMap:
    """The text that was read, and the place of each operation's pieces in it.

    first_line: how many lines of the file come before `text`, when a file is read in pieces.
    """

    file: str = "<input>"
    text: str = ""
    first_line: int = 0
    ops: dict[Operation, OpSource] = field(default_factory=dict[Operation, OpSource])

    def __post_init__(self) -> None:
        self._starts = [0] + [i + 1 for i, ch in enumerate(self.text) if ch == "\n"]

    def line_column(self, position: Position) -> tuple[int, int]:
        """Line and column, from 1, of a position in `text`; the line counts from the file's start."""
        line = bisect_right(self._starts, position)
        return line + self.first_line, position - self._starts[line - 1] + 1

    def at(self, span: Span[str], message: str, hint: str | None = None) -> Diagnostic:
        """A Diagnostic with carets under a span of the text."""
        line, column = self.line_column(span.start)
        return self._show(line, column, span.end - span.start, message, hint)

    def at_op(self, op: Operation, message: str, path: Path = ()) -> Diagnostic:
        """A Diagnostic at a field of an operation, at the operation, or without a place."""
        span = self.ops[op].find(path) if op in self.ops else None
        if span is not None:
            return self.at(span, message)
        message = f"{op.name}: {message}"
        loc = op.location
        if not isinstance(loc, FileLineColLoc) or loc.filename.data != self.file:
            return Diagnostic(message)
        length = len(self._line(loc.line.data).rstrip()) - loc.column.data + 1
        return self._show(loc.line.data, loc.column.data, length, message)

    @contextmanager
    def diagnosing(self) -> Generator[None, None, None]:
        """Turns every error that xDSL raises for bad input inside into a Diagnostic."""
        try:
            yield
        except ParseError as error:
            hint = None
            if isinstance(error, MultipleSpansParseError) and error.refs:
                line = self.line_column(error.refs[0][0].start)[0]
                hint = f"{(error.ref_text or 'see').rstrip(':')} on line {line}"
            span = Span(error.span.start, error.span.end, Input(self.text, self.file))
            raise self.at(span, better(error.msg), hint) from None
        except RecursionError:
            raise Diagnostic("brackets or regions are nested too deeply", self.file) from None
        except InvalidOp as error:
            found = self.at_op(error.op, str(error), error.path)
            hint = error.__cause__.hint if isinstance(error.__cause__, Diagnostic) else None
            raise replace(found, hint=hint) from None
        except PassFault as fault:
            found = self.at_op(fault.op, f"no pass is ready for this, {fault}")
            raise replace(found, hint="a fault of Imbrex: the text verifies") from fault
        except DiagnosticException as error:
            raise Diagnostic(better(str(error))) from None

    def verify(self, module: Operation) -> None:
        """Verify, innermost operations first; Diagnostic at the first one that fails."""
        for op in module.walk(region_first=True):
            try:
                op.verify(verify_nested_ops=False)
            except VerifyException as error:
                path = error.path if isinstance(error, InvalidField) else ()
                raise self.at_op(op, better(str(error)), path) from None
            except BORROWED_FAULTS as error:
                raise self.at_op(op, _borrowed(error)) from None
        with self.diagnosing():
            module.verify()

    def _line(self, line: int) -> str:
        start = self._starts[line - 1 - self.first_line]
        return self.text[start:].split("\n", 1)[0].rstrip("\r")

    def _show(self, line: int, column: int, length: int, message: str, hint: str | None = None) -> Diagnostic:
        return Diagnostic(
            message, self.file, line, column, source=self._line(line), length=max(1, length), hint=hint
        )


def _borrowed(error: Exception) -> str:
    """What one of BORROWED_FAULTS says of an operation."""
    if "int_max_str_digits" in str(error):  # Python's own limit, in its words
        return "a number in this operation has too many digits"
    return f"not well-formed ({type(error).__name__}: {error})"


class LocatedParser(Parser):
    """xDSL's parser that stamps each operation with file, line and column, and knows the notes' slips."""

    def __init__(self, ctx: Context, text: str, file: str = "<input>", first_line: int = 0):
        super().__init__(ctx, "", file)
        self.sources = SourceMap(file, text, first_line)
        self._parser_state = ParserState(SlipLexer(Input(text, file)))
        self._file = StringAttr(file)
        self._defined: set[str] = set()
        self._used: dict[str, Span[str]] = {}
        for space in (3, 5):
            self.attribute_aliases[f"#{space}"] = IntegerAttr(space, i32)

    def parse_operation(self) -> Operation:
        start = self._current_token.span
        line, column = self.sources.line_column(start.start)
        try:
            op = super().parse_operation()
        except BORROWED_FAULTS as error:
            raise ParseError(start, _borrowed(error)) from None
        if isinstance(op.location, UnknownLoc):
            op.location = FileLineColLoc(self._file, IntAttr(line), IntAttr(column))
        return op

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._used.setdefault(operand.operand_name, operand.span)
        known = self.ssa_values.get(operand.operand_name, ())
        if operand.index < len(known) and known[operand.index].type != type:
            have = text_of(known[operand.index].type)
            message = f"'%{operand.operand_name}' has type {have}; write that instead of {text_of(type)}"
            raise ParseError(operand.span, message)
        return super().resolve_operand(operand, type)

    def raise_error(
        self,
        msg: str,
        at_position: Span[str] | Position | None = None,
        end_position: Position | None = None,
    ) -> NoReturn:
        if msg.startswith("values used but not defined"):
            self._undefined()
        if end_position is not None and isinstance(at_position, int):
            super().raise_error(msg, at_position, end_position)
        super().raise_error(msg, at_position)

    def parse_shape_delimiter(self) -> None:
        element = self._current_token
        if not element.text.startswith("x"):
            at = Span(element.span.start, element.span.end, element.span.input)
            raise ParseError(
                at, f"missing 'x' between the last size and '{element.text}'; write 'x{element.text}'"
            )
        super().parse_shape_delimiter()

    def parse_ranked_shape(self) -> tuple[list[int], Attribute]:
        word = self._current_token
        try:
            return super().parse_ranked_shape()
        except ParseError as error:
            if error.msg == "Expected shape type." and error.span.start == word.span.start:
                message = f"'{word.text}' is not a shape; a size is a number or '?', as in 'memref<?x?xf32>'"
                raise ParseError(word.span, message) from None
            raise

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span[str]) -> None:
        self._defined.add(name)
        super()._register_ssa_definition(name, values, span)

    def _get_op_by_name(self, name: str) -> type[Operation]:
        found = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if found is not None:
            return found
        start = self.lexer.input.content.rfind(name, 0, self.pos)
        known = [op.name for d in self.ctx.loaded_dialects for op in d.operations]
        raise ParseError(Span(start, start + len(name), self.lexer.input), unknown_operation(name, known))

    def _undefined(self) -> NoReturn:
        name = next(iter(self.forward_ssa_references))
        near = get_close_matches(name, self._defined, 1)
        fix = f"; did you mean '%{near[0]}'?" if near else ""
        self.raise_error(f"'%{name}' is used but not defined{fix}", self._used.get(name))
