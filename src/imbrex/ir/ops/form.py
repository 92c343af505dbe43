"""The text form shared by every operation, driven by its IRDL definition.

    op ::= name `(` operands `)` (`{` config `}`)? (`attributes` dictionary)? (`:` types (`to` type)?)?

- A memref operand is typed in the list after `:`; an index operand is not; a scalar operand need not be.
- A variadic operand named `x_index` is written in brackets after operand `x`: `%x[%i, %j]`.
- The entries of an attribute that is a `Spread` stand among the keys.
- A variadic operand named `sizes` holds the SSA values that stand inside the configuration.
- An operation without memref operands lists the type of its result instead.
- The types may be left out on input when every operand is defined above and there is no result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, OptPropertyDef, VarIRConstruct, verify_variadic_size
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError

from imbrex.ir.attrs import Layout, Literal, Names
from imbrex.ir.chosen import Tuned
from imbrex.ir.literal import Node, fields
from imbrex.ir.ops.read import Written, read_operands, read_types, resolve
from imbrex.ir.ops.slot import SIZES, Slot, keys_of, slots_of
from imbrex.ir.planned import Spread
from imbrex.ir.printed import Seed, write, write_fields
from imbrex.ir.shape import flaw_of
from imbrex.ir.source import InvalidField, LocatedParser
from imbrex.ir.text import Reader

ON_ONE_LINE = 4
"""A configuration of at most so many keys, none of them a layout, is printed on one line."""


@cache
def required_of(op: type[IRDLOperation]) -> tuple[str, ...]:
    """The configuration keys that must be given."""
    properties = op.get_irdl_definition().properties
    inferred = op.INFERRED if issubclass(op, MiopenOp) else ()
    required = [k for k in keys_of(op) if not isinstance(properties[k], OptPropertyDef)]
    return tuple(k for k in required if k not in inferred)


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
        written = Written(reader.next.span, read_operands(reader, cls))
        if reader.next.text == "{":
            written.config = reader.config()
        written.operands[SIZES] = reader.references
        if reader.references and SIZES not in [s.name for s in slots_of(cls)]:
            raise ParseError(
                reader.references[0].span, f"'{cls.name}' takes no SSA value in its configuration"
            )
        properties = _decode(cls, written)
        notes = parser.parse_optional_attr_dict_with_keyword()
        read_types(parser, cls, written)
        operands = resolve(parser, cls, written)
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
        verify_variadic_size(self, self.get_irdl_definition(), VarIRConstruct.OPERAND)
        if any(map(_flaw, self.operands)) or any(map(_flaw, self.results)):
            typed = [v for s in slots_of(type(self)) if not s.is_index for v in self.operands_of(s.name)]
            for side, values in (("type", typed), ("result", self.results)):
                for i, value in enumerate(values):
                    if flaw := _flaw(value):
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
            value = self.properties.get(key)
            if isinstance(value, Spread):
                spread = cast(Spread[Any], value).plain()
                given |= {name: partial(write, printer, entry) for name, entry in spread.items()}
            elif isinstance(value, Literal):
                literal = cast(Literal[Any], value)
                given[key] = partial(self.write_value, printer, key, literal, compact)
        if not given:
            return
        lists = any(isinstance(self.properties.get(key), Names | Layout | Tuned) for key in given)
        printer.print_string(" ")
        write_fields(printer, given, broken=lists or len(given) > ON_ONE_LINE)

    def printed_keys(self, compact: bool) -> Sequence[str]:
        """Configuration keys in the order in which they are printed."""
        return tuple(keys_of(type(self)))

    def write_value(self, printer: Printer, key: str, value: Literal[Any], compact: bool) -> None:
        """Print the value of one configuration key."""
        value.write(printer, compact)


def _flaw(value: SSAValue) -> str | None:
    """Why a value is of no memref of this dialect; None when it is, or of none at all."""
    return flaw_of(value) if isinstance(value.type, MemRefType) else None


def _decode(op: type[IRDLOperation], written: Written) -> dict[str, Attribute]:
    """The configuration as attributes; unknown and missing keys are errors."""
    kinds, required = keys_of(op), required_of(op)
    spread = {key: kind for key, kind in kinds.items() if issubclass(kind, Spread)}
    if written.config is None:
        if required:
            first = "pipeline" if required[0] in spread else required[0]
            raise ParseError(written.name, f"'{op.name}' lacks its configuration '{{ {first} = ... }}'")
        return {}
    own = [key for key in kinds if key not in spread]
    known = [*own, *(key for kind in spread.values() for key in kind.known())]
    found = fields(written.config, known, [key for key in required if key in own], f"'{op.name}'")
    nodes = {key: found[key] for key in own if key in found}
    rest = {key: node for key, node in found.items() if key not in nodes}
    nodes |= {key: replace(written.config, value=rest) for key in spread}
    return {key: kinds[key].new(kinds[key].decode(nodes[key])) for key in kinds if key in nodes}
