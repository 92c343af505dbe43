"""Reading the text of an operation: its operands and their types, in the form that `form` describes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span

from imbrex.ir.literal import Node
from imbrex.ir.ops.slot import SIZES, Slot, slots_of
from imbrex.ir.source import OpSource
from imbrex.ir.text import Reader


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
        """The spans, for errors found later; an operand stands for its type where that is left out."""
        operands = [o.span for os in self.operands.values() for o in os]
        typed = [o.span for s in slots if not s.is_index for o in self.operands[s.name]]
        results = (self.result_span,) if self.result_span else ()
        return OpSource(self.config, tuple(operands), tuple(self.type_spans or typed), results)


def read_operands(reader: Reader, op: type[IRDLOperation]) -> dict[str, list[UnresolvedOperand]]:
    """`(%a[%i, %j], %b)`: the operands by the name of their definition."""
    parser = reader.parser
    assert isinstance(parser, Parser)
    slots = [s for s in slots_of(op) if s.follows is None and s.name != SIZES]
    indexed = {s.follows for s in slots_of(op)}
    out: dict[str, list[UnresolvedOperand]] = {s.name: [] for s in slots_of(op)}
    least = sum(not (s.is_optional or s.takes_the_rest) for s in slots)
    start, number = reader.next.span, 0

    def operand() -> None:
        nonlocal number
        span = reader.next.span
        value = parser.parse_unresolved_operand(f"expected an operand such as %a, got '{span.text}'")
        if number >= len(slots) and slots and slots[-1].takes_the_rest:
            out[slots[-1].name].append(value)
            return
        if number >= len(slots):
            raise ParseError(span, f"'{op.name}' takes {_count(slots)}, this is operand {number + 1}")
        name = slots[number].name
        out[name] = [value]
        if name in indexed and reader.next.text == "[":
            square = parser.Delimiter.SQUARE
            out[f"{name}_index"] = parser.parse_comma_separated_list(square, parser.parse_unresolved_operand)
        elif reader.next.text == "[":
            raise ParseError(reader.next.span, f"'{name}' of '{op.name}' takes no index")
        number += 1

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, operand, f" after '{op.name}'")
    if number < least:
        raise ParseError(start, f"'{op.name}' takes {_count(slots)}, got {number}")
    return out


def _count(slots: Sequence[Slot]) -> str:
    one_each = [s for s in slots if not s.takes_the_rest]
    names = ", ".join(f"[{s.name}]" if s.is_optional else s.name for s in one_each)
    fixed = f"{len(one_each)} operands ({names})" if one_each else "no operands"
    return " ".join([fixed, *(f"and any number of {s.name}" for s in slots if s.takes_the_rest)])


def read_types(parser: Parser, op: type[IRDLOperation], written: Written) -> None:
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


def resolve(parser: Parser, op: type[IRDLOperation], written: Written) -> dict[str, list[SSAValue]]:
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
