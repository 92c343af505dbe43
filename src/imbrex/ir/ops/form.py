"""The text form shared by every operation, driven by its IRDL definition.

    op ::= name `(` operands `)` (`{` config `}`)? (`attributes` dictionary)? (`:` types (`to` type)?)?

- A memref operand is typed in the list after `:`; an index operand is not; a scalar operand need not be.
- A variadic operand named `x_index` is written in brackets after operand `x`: `%x[%i, %j]`.
- A variadic operand named `sizes` holds the SSA values that stand inside the configuration.
- An operation without memref operands lists the type of its result instead.
- The types may be left out on input when every operand is defined above and there is no result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    OperandDef,
    OptOperandDef,
    OptPropertyDef,
    RangeLengthConstraint,
    RangeOf,
    VarOperandDef,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span

from imbrex.ir.attrs import Layout, Literal, Names
from imbrex.ir.literal import Node, fields
from imbrex.ir.printed import Seed, write_fields
from imbrex.ir.shape import flaw_of
from imbrex.ir.source import InvalidField, LocatedParser, OpSource
from imbrex.ir.text import Reader

SIZES = "sizes"
ON_ONE_LINE = 4
"""A configuration of at most so many keys, none of them a layout, is printed on one line."""


@dataclass(frozen=True)
class Slot:
    """How one operand definition is written: its name, and whether it is a memref, an index or either."""

    name: str
    is_memref: bool
    is_index: bool
    is_optional: bool
    is_variadic: bool

    @property
    def follows(self) -> str | None:
        """The operand after which these indices stand in brackets."""
        return (
            self.name.removesuffix("_index")
            if self.is_variadic and self.is_index and self.name != SIZES
            else None
        )

    @property
    def takes_the_rest(self) -> bool:
        """Is it the last of the operands, and takes all that follow?"""
        return self.is_variadic and self.is_memref


@cache
def slots_of(op: type[IRDLOperation]) -> tuple[Slot, ...]:
    """The operand definitions of an operation."""
    return tuple(_slot(name, d) for name, d in op.get_irdl_definition().operands)


def _slot(name: str, d: OperandDef) -> Slot:
    constr = d.constr.constraint if isinstance(d.constr, RangeLengthConstraint) else d.constr
    bases = (constr.constr.get_bases() if isinstance(constr, RangeOf) else None) or set()
    optional = isinstance(d, OptOperandDef)
    variadic = isinstance(d, VarOperandDef) and not optional
    return Slot(name, MemRefType in bases, IndexType in bases, optional, variadic)


@cache
def keys_of(op: type[IRDLOperation]) -> Mapping[str, type[Literal[Any]]]:
    """The attribute class of each configuration key, in the order of definition."""
    out: dict[str, type[Literal[Any]]] = {}
    for key, d in op.get_irdl_definition().properties.items():
        for base in d.constr.get_bases() or ():
            if issubclass(base, Literal):
                out[key] = base
    return out


@cache
def required_of(op: type[IRDLOperation]) -> tuple[str, ...]:
    """The configuration keys that must be given."""
    properties = op.get_irdl_definition().properties
    inferred = op.INFERRED if issubclass(op, MiopenOp) else ()
    required = [k for k in keys_of(op) if not isinstance(properties[k], OptPropertyDef)]
    return tuple(k for k in required if k not in inferred)


@dataclass
class Written:
    """What stood in the text of one operation."""

    name: Span[str]
    operands: dict[str, list[UnresolvedOperand]]
    config: Node | None = None
    types: list[MemRefType | Attribute] = field(default_factory=list[Attribute])
    type_spans: list[Span[str]] = field(default_factory=list[Span[str]])
    result: Attribute | None = None
    result_span: Span[str] | None = None

    def source(self, slots: Sequence[Slot]) -> OpSource:
        """The places, for errors found later; an operand stands for its type where that is left out."""
        operands = [o.span for os in self.operands.values() for o in os]
        typed = [o.span for s in slots if not s.is_index for o in self.operands[s.name]]
        results = (self.result_span,) if self.result_span else ()
        return OpSource(self.config, tuple(operands), tuple(self.type_spans or typed), results)


class MiopenOp(IRDLOperation):
    """An operation in the seeds' syntax."""

    INFERRED: ClassVar[tuple[str, ...]] = ()
    """Required keys that the text may leave out, because `infer` knows them."""

    @classmethod
    def infer(cls, properties: dict[str, Attribute], operands: Mapping[str, Sequence[SSAValue]]) -> None:
        """Fill in the properties that the text may leave out."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Read one operation; also notes where its pieces stood."""
        reader = Reader(parser)
        written = Written(reader.next.span, _read_operands(reader, cls))
        if reader.next.text == "{":
            written.config = reader.config()
        written.operands[SIZES] = reader.references
        if reader.references and SIZES not in [s.name for s in slots_of(cls)]:
            raise ParseError(
                reader.references[0].span, f"'{cls.name}' takes no SSA value in its configuration"
            )
        properties = _decode(cls, written)
        notes = parser.parse_optional_attr_dict_with_keyword()
        _read_types(parser, cls, written)
        operands = _resolve(parser, cls, written)
        cls.infer(properties, operands)
        op = cls.build(
            operands=[operands[s.name] for s in slots_of(cls)],
            result_types=[written.result] if written.result else [],
            properties=properties,
            attributes=dict(notes.data) if notes else {},
        )
        if isinstance(parser, LocatedParser):
            parser.sources.ops[op] = written.source(slots_of(cls))
        return op

    def verify(self, verify_nested_ops: bool = True) -> None:
        typed = [v for s in slots_of(type(self)) if not s.is_index for v in self.operands_of(s.name)]
        for side, values in (("type", typed), ("result", self.results)):
            for i, value in enumerate(values):
                if isinstance(value.type, MemRefType) and (flaw := flaw_of(value)):
                    raise InvalidField(flaw, side, i)
        super().verify(verify_nested_ops)

    def print(self, printer: Printer) -> None:
        self.print_head(printer)
        types = [v.type for s in slots_of(type(self)) if s.is_memref for v in self.operands_of(s.name)]
        for before, listed in zip(
            (" : ", " to " if types else " : "), (types, self.result_types), strict=True
        ):
            if listed:
                printer.print_string(before)
                printer.print_list(listed, printer.print_attribute)

    @classmethod
    def read_config(cls, parser: Parser) -> tuple[dict[str, Attribute], Node | None]:
        """The configuration alone, of an operation with a form of its own."""
        reader = Reader(parser)
        written = Written(reader.next.span, {}, reader.config() if reader.next.text == "{" else None)
        return _decode(cls, written), written.config

    def print_head(self, printer: Printer) -> None:
        """Operands, configuration and notes."""
        with printer.in_parens():
            first = True
            for slot in slots_of(type(self)):
                if slot.follows is None and slot.name != SIZES:
                    for value in self.operands_of(slot.name):
                        printer.print_string("" if first else ", ")
                        printer.print_ssa_value(value)
                        self._print_index(printer, slot)
                        first = False
        self.print_config(printer)
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)

    def operands_of(self, name: str) -> Sequence[SSAValue]:
        """The operands of a definition, however many it takes."""
        value: SSAValue | Sequence[SSAValue] | None = getattr(self, name)
        if value is None:
            return ()
        return (value,) if isinstance(value, SSAValue) else value

    def _print_index(self, printer: Printer, slot: Slot) -> None:
        name = f"{slot.name}_index"
        if any(s.name == name for s in slots_of(type(self))) and (index := self.operands_of(name)):
            with printer.in_square_brackets():
                printer.print_list(index, printer.print_ssa_value)

    def print_config(self, printer: Printer) -> None:
        """` { key = value }`, or nothing when there is no key."""
        compact = isinstance(printer, Seed) and printer.compact
        given: dict[str, Callable[[], None]] = {}
        for key in self.printed_keys(compact):
            if isinstance(value := self.properties.get(key), Literal):
                literal = cast(Literal[Any], value)
                given[key] = partial(self.write_value, printer, key, literal, compact)
        if not given:
            return
        lists = any(isinstance(self.properties[key], Names | Layout) for key in given)
        printer.print_string(" ")
        write_fields(printer, given, broken=lists or len(given) > ON_ONE_LINE)

    def printed_keys(self, compact: bool) -> Sequence[str]:
        """Configuration keys in the order in which they are printed."""
        return tuple(keys_of(type(self)))

    def write_value(self, printer: Printer, key: str, value: Literal[Any], compact: bool) -> None:
        """Print the value of one configuration key."""
        value.write(printer, compact)


def _read_operands(reader: Reader, op: type[IRDLOperation]) -> dict[str, list[UnresolvedOperand]]:
    """`(%a[%i, %j], %b)`: the operands by the name of their definition."""
    parser = reader.parser
    assert isinstance(parser, Parser)
    slots = [s for s in slots_of(op) if s.follows is None and s.name != SIZES]
    indexed = {s.follows for s in slots_of(op)}
    out: dict[str, list[UnresolvedOperand]] = {s.name: [] for s in slots_of(op)}
    least = sum(not (s.is_optional or s.takes_the_rest) for s in slots)
    start, place = reader.next.span, 0

    def operand() -> None:
        nonlocal place
        span = reader.next.span
        value = parser.parse_unresolved_operand(f"expected an operand such as %a, got '{span.text}'")
        if place >= len(slots) and slots and slots[-1].takes_the_rest:
            out[slots[-1].name].append(value)
            return
        if place >= len(slots):
            raise ParseError(span, f"'{op.name}' takes {_count(slots)}, this is operand {place + 1}")
        name = slots[place].name
        out[name] = [value]
        if name in indexed and reader.next.text == "[":
            square = parser.Delimiter.SQUARE
            out[f"{name}_index"] = parser.parse_comma_separated_list(square, parser.parse_unresolved_operand)
        elif reader.next.text == "[":
            raise ParseError(reader.next.span, f"'{name}' of '{op.name}' takes no index")
        place += 1

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, operand, f" after '{op.name}'")
    if place < least:
        raise ParseError(start, f"'{op.name}' takes {_count(slots)}, got {place}")
    return out


def _count(slots: Sequence[Slot]) -> str:
    names = ", ".join(
        f"[{s.name}]" if s.is_optional else f"{s.name}.." if s.takes_the_rest else s.name for s in slots
    )
    return f"{len(slots)} operands ({names})" if slots else "no operands"


def _decode(op: type[IRDLOperation], written: Written) -> dict[str, Attribute]:
    """The configuration as attributes; unknown and missing keys are errors."""
    kinds, required = keys_of(op), required_of(op)
    if written.config is None:
        if required:
            raise ParseError(written.name, f"'{op.name}' lacks its configuration '{{ {required[0]} = ... }}'")
        return {}
    found = fields(written.config, kinds, required, f"'{op.name}'")
    return {key: kinds[key].new(kinds[key].decode(found[key])) for key in kinds if key in found}


def _read_types(parser: Parser, op: type[IRDLOperation], written: Written) -> None:
    """`: types to result`; an operation with no memref operand lists its result."""
    has_result = bool(op.get_irdl_definition().results)
    takes_types = any(not s.is_index for s in slots_of(op))
    if not has_result and not takes_types:
        return
    if not has_result and parser.parse_optional_punctuation(":") is None:
        return
    if has_result:
        parser.parse_punctuation(":", f" and the types after '{op.name}(...)'")
    if takes_types:
        parser.parse_comma_separated_list(
            parser.Delimiter.NONE, lambda: _read_type(parser, written.types, written.type_spans)
        )
    if has_result:
        if takes_types and parser.parse_optional_keyword("to") is None:
            parser.raise_error(f"'{op.name}' has a result; write 'to' and its type after the operand's type")
        results: list[Attribute] = []
        spans: list[Span[str]] = []
        _read_type(parser, results, spans)
        written.result, written.result_span = results[0], spans[0]


def _read_type(parser: Parser, types: list[Attribute], spans: list[Span[str]]) -> None:
    start = parser.pos
    types.append(parser.parse_type())
    content = parser.lexer.input.content
    said = content[start : parser.pos].split("//")[0].rstrip()
    spans.append(Span(start, start + len(said), parser.lexer.input))


def _resolve(parser: Parser, op: type[IRDLOperation], written: Written) -> dict[str, list[SSAValue]]:
    """Operands with their types: listed, known from above, or index."""
    typed = [s for s in slots_of(op) if not s.is_index for _ in written.operands[s.name]]
    memrefs = [s for s in typed if s.is_memref]
    if len(written.types) not in (0, len(memrefs), len(typed)):
        given = f"{len(written.types)} {'type' if len(written.types) == 1 else 'types'}"
        raise ParseError(
            written.type_spans[-1], f"'{op.name}' has {len(memrefs)} memref operands, got {given}"
        )
    types = iter(written.types)
    out: dict[str, list[SSAValue]] = {}
    for slot in slots_of(op):
        values: list[SSAValue] = []
        for operand in written.operands[slot.name]:
            if slot.is_index:
                ty: Attribute | None = IndexType()
            else:
                ty = next(types, None) or _known_type(parser, operand)
            if slot.is_memref and ty is not None and ty.name != MemRefType.name:
                message = f"'{slot.name}' of '{op.name}' is a memref, got {ty}; bufferize first"
                raise ParseError(operand.span, message)
            if ty is None:
                raise ParseError(
                    operand.span, f"'%{operand.operand_name}' is not defined above; write the types after ':'"
                )
            values.append(parser.resolve_operand(operand, ty))
        out[slot.name] = values
    return out


def _known_type(parser: Parser, operand: UnresolvedOperand) -> Attribute | None:
    values = parser.ssa_values.get(operand.operand_name)
    return values[operand.index].type if values and operand.index < len(values) else None
