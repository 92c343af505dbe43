"""Reader of the seeds' configuration syntax, in both drafts, keeping the place of every literal.

    config  ::= `{` (key `=` value) (`,` key `=` value)* `}`
    value   ::= integer | float | string | true | false | `?` | %ssa | `[` item* `]` | config
    item    ::= value | compact
    compact ::= integer `:` name                                            (`0: k`)
              | (integer | `[` integers `]`) `:` kind `(` source* parameter* `)` `,` names
                                                     (`[2, 3]: embed(2: hipad, 2, [1, 1, 0]), [y, ho]`)

The compact entries of the first draft become the same nodes as the dictionaries of the second one.
A comma between two compact transforms may be left out, as the first draft does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span, Token
from xdsl.utils.mlir_lexer import MLIRTokenKind

from imbrex.ir.literal import Node, Reference
from imbrex.numeral import whole

MOST_REFERENCES = 1_000_000

STARTS = (
    MLIRTokenKind.BARE_IDENT,
    MLIRTokenKind.STRING_LIT,
    MLIRTokenKind.INTEGER_LIT,
    MLIRTokenKind.FLOAT_LIT,
    MLIRTokenKind.QUESTION,
    MLIRTokenKind.PERCENT_IDENT,
    MLIRTokenKind.L_SQUARE,
    MLIRTokenKind.L_BRACE,
)


class Tokens(Parser):
    """The next token of any xDSL parser; xDSL keeps it for subclasses."""

    @staticmethod
    def next(parser: AttrParser) -> Token[MLIRTokenKind, str]:
        return parser._current_token


@dataclass
class Reader:
    """Reads configuration from an xDSL parser; `references` are the SSA values met on the way."""

    parser: AttrParser
    references: list[UnresolvedOperand] = field(default_factory=list[UnresolvedOperand])
    _keys: list[str] = field(default_factory=list[str], init=False)

    @property
    def next(self) -> Token[MLIRTokenKind, str]:
        return Tokens.next(self.parser)

    def config(self) -> Node:
        """`{ key = value, ... }`; a key may be given once."""
        start = self.next.span
        entries: dict[str, Node] = {}

        def entry() -> Node:
            key = self.next.span
            name = self.parser.parse_identifier(" as a key (is a '}' missing before this?)")
            if name in entries:
                raise ParseError(key, f"'{name}' is given twice")
            if self.next.text != "=":
                raise ParseError(key, f"'{name}' needs a value; write '{name} = ...'")
            self.parser.parse_punctuation("=")
            self._keys.append(name)
            entries[name] = replace(self.value(), key=key)
            self._keys.pop()
            return entries[name]

        self.parser.parse_punctuation("{")
        end = self._until("}", entry, start)[1]
        return Node(entries, self._span(start, end))

    def value(self) -> Node:
        """One literal."""
        token = self.next
        span = token.span
        match token.kind:
            case MLIRTokenKind.L_BRACE:
                return self.config()
            case MLIRTokenKind.L_SQUARE:
                return self._list()
            case MLIRTokenKind.BARE_IDENT:
                return self._word()
            case MLIRTokenKind.QUESTION:
                self.parser.parse_punctuation("?")
                return Node(None, span)
            case MLIRTokenKind.STRING_LIT:
                return Node(self.parser.parse_str_literal(), span)
            case MLIRTokenKind.BYTES_LIT:
                return Node(self.parser.parse_bytes_literal().decode("utf-8", "replace"), span)
            case MLIRTokenKind.PERCENT_IDENT if isinstance(self.parser, Parser):
                self.references.append(self.parser.parse_unresolved_operand())
                return Node(Reference(len(self.references) - 1), span)
            case MLIRTokenKind.HASH_IDENT if token.text[1:].isdigit():
                self.parser.parse_characters(token.text)
                number = whole(token.text[1:], 0, MOST_REFERENCES)
                if number is None:
                    raise ParseError(span, "this number has too many digits")
                return Node(Reference(number), span)
            case _:
                return self._number()

    def _number(self) -> Node:
        start = self.next.span
        try:
            value = self.parser.parse_optional_number()
        except ValueError:
            raise ParseError(start, "this number has too many digits") from None
        if value is None:
            what = "a number, a string, true, false, '?', a list or a dictionary"
            raise ParseError(start, f"expected {what}, got {_shown(self.next.text)}")
        said = start.input.content[start.start : self.parser.pos].split("//")[0].rstrip()
        end = start.start + len(said)
        if self.next.kind == MLIRTokenKind.BARE_IDENT and self.next.span.start == end:
            fix = f"write '{said}.0{self.next.text}'" if self.next.text[0] in "eE" else "put a ',' between"
            raise ParseError(self.next.span, f"'{said}{self.next.text}' is not a number; {fix}")
        return Node(value, Span(start.start, end, start.input))

    def _word(self) -> Node:
        span = self.next.span
        word = self.parser.parse_identifier()
        if word in ("true", "false"):
            return Node(word == "true", span)
        if self.next.text == "=" and word in self._keys:
            raise ParseError(span, f"'{word} =' is opened a second time; remove this line")
        if self.next.text == "=":
            around = f"inside the value of '{self._keys[-1]}'; close that first" if self._keys else "here"
            raise ParseError(span, f"'{word} =' cannot start {around}")
        if word == "TBD":
            raise ParseError(span, "'TBD' marks a value that the notes leave open; write a number")
        raise ParseError(
            span, f"expected a value, got the word '{word}'; write its number, or \"{word}\" for a name"
        )

    def _list(self) -> Node:
        start = self.next.span
        self.parser.parse_punctuation("[")
        items, end = self._until("]", self._item, start)
        span = self._span(start, end)
        return Node(_numbered(items), span)

    def _item(self) -> Node:
        """A value, or an entry of the compact form."""
        value = self.value()
        if self.parser.parse_optional_punctuation(":") is None:
            return value
        word = self.next.span
        if self.next.kind != MLIRTokenKind.BARE_IDENT:
            raise ParseError(word, f"expected a name or a transformation after ':', got {_shown(word.text)}")
        self.parser.parse_identifier()
        if self.next.text == "(":
            return self._compact(value, word)
        if not isinstance(value.value, int):
            raise ParseError(value.span, f"expected the number of '{word.text}', as in '0: {word.text}'")
        return Node(word.text, word, key=value.span)

    def _compact(self, dims: Node, kind: Span[str]) -> Node:
        """The rest of `dims: kind(sources, parameters), names`, as the dictionary that says the same."""
        start = self.next.span
        self.parser.parse_punctuation("(")
        items, end = self._until(")", self._item, start)
        sources = [n for n in items if n.key is not None]
        parameters = [n for n in items if n.key is None]
        if items[: len(sources)] != sources:
            raise ParseError(parameters[0].span, "parameters come after the source dimensions")
        inside = self._span(start, end)
        if self.next.text != ",":
            raise ParseError(_after(inside), f"missing ', <name>' after '{kind.text}(...)'")
        self.parser.parse_punctuation(",")
        names = self._names()
        dims = dims if isinstance(dims.value, tuple) else Node((dims,), dims.span)
        numbers = [Node(int(n.key.text), n.key) for n in sources if n.key]
        entries = {
            "dimensions": dims,
            "names": names,
            "transformation": Node(kind.text, kind),
            "source_dimensions": Node(tuple(numbers), inside),
            "source_names": Node(tuple(replace(n, key=None) for n in sources), inside),
        }
        if parameters:
            entries["parameters"] = Node(tuple(parameters), inside)
        return Node(entries, self._span(dims.span, names.span), needs_comma=False)

    def _names(self) -> Node:
        start = self.next.span

        def name() -> Node:
            span = self.next.span
            self.parser.parse_identifier(" as a dimension name")
            return Node(span.text, span)

        if self.next.text != "[":
            one = name()
            return Node((one,), one.span)
        self.parser.parse_punctuation("[")
        items, end = self._until("]", name, start)
        return Node(tuple(items), self._span(start, end))

    def _until(self, close: str, read: Callable[[], Node], opened: Span[str]) -> tuple[list[Node], Span[str]]:
        """Items up to `close`, with commas between them; also the place of `close`."""
        items: list[Node] = []
        comma: Span[str] | None = None
        while True:
            end = self.next.span
            if self.next.text == close:
                if comma:
                    raise ParseError(comma, "nothing follows this ','; remove it")
                self.parser.parse_characters(close)
                return items, end
            if items and not comma and items[-1].needs_comma:
                self._missing(items[-1], close, opened)
            items.append(read())
            comma = self.next.span if self.next.text == "," else None
            self.parser.parse_optional_characters(",")

    def _missing(self, last: Node, close: str, opened: Span[str]) -> None:
        if self.next.kind not in STARTS:
            at = f"on line {opened.get_location().line}"
            got = _shown(self.next.text)
            raise ParseError(
                self.next.span, f"expected ',' or the '{close}' of the '{opened.text}' {at}, got {got}"
            )
        said = last.span.text
        if last.key is not None and last.key.start < last.span.start:
            said = last.span.input.content[last.key.start : last.span.end]
        shown = f"'{said}'" if "\n" not in said and len(said) < 60 else "this"
        raise ParseError(_after(last.span), f"missing ',' after {shown}")

    def _span(self, start: Span[str], end: Span[str]) -> Span[str]:
        return Span(start.start, end.end, start.input)


def _numbered(items: list[Node]) -> tuple[Node, ...]:
    """Drops the numbers of `[0: k, 1: c]` once they are seen to count up from 0."""
    for position, item in enumerate(items):
        if item.key is None and items[0].key is not None:
            item.fail(f"the entries before this one are numbered; write '{position}: <name>'")
        if item.key is not None and item.key.text != str(position):
            raise ParseError(
                item.key, f"'{item.span.text}' is entry {position} of this list; write {position}:"
            )
    return tuple(replace(item, key=None) for item in items)


def _after(span: Span[str]) -> Span[str]:
    return Span(span.end, span.end + 1, span.input)


def _shown(token: str) -> str:
    return f"'{token}'" if token else "the end of the text"
