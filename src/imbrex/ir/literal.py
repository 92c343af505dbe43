"""Literals of the text form: what the reader makes, with the place of every piece, and how it is decoded.

A `Node` is one literal; errors are raised at the node that causes them, so that the caret is under it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import NoReturn, TypeAlias, TypeVar, Union

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span

from imbrex.diagnostic import did_you_mean

T = TypeVar("T")


@dataclass(frozen=True)
class Reference:
    """The index-th SSA value named inside a configuration; in the generic form it is written `#index`."""

    index: int


Plain: TypeAlias = Union[int, float, str, Reference, SSAValue, "Sequence[Plain]", "Mapping[str, Plain]", None]
"""A literal without its place. `?` is None."""

Value: TypeAlias = Union[int, float, str, Reference, "tuple[Node, ...]", "dict[str, Node]", None]


@dataclass(frozen=True)
class Node:
    """A literal and where it stood; `key` is where its key stood, in a dictionary.

    needs_comma: False for an entry of the compact form, which may be followed by another without a comma.
    """

    value: Value
    span: Span[str]
    key: Span[str] | None = None
    needs_comma: bool = True

    def fail(self, message: str) -> NoReturn:
        raise ParseError(self.span, message)

    def find(self, path: Sequence[str | int]) -> Node | None:
        """The node at `path`, as far down as text exists; None when not even the first step does."""
        node, found = self, None
        for step in path:
            match node.value, step:
                case dict() as fields, str() if step in fields:
                    node = fields[step]
                case tuple() as items, int() if step < len(items):
                    node = items[step]
                case _:
                    return found
            found = node
        return found


def suggest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'strides'?`, or the whole list of known words when none is near."""
    known = list(known)
    near = did_you_mean(word, known)
    return f"; {near}" if near else f"; known: {', '.join(known)}"


def fields(node: Node, known: Iterable[str], required: Iterable[str], what: str) -> dict[str, Node]:
    """The entries of a dictionary: unknown keys point at themselves, missing ones at the whole."""
    known = list(known)
    if not isinstance(node.value, dict):
        node.fail(f"expected {what} as a '{{ key = value }}' dictionary")
    for key, entry in node.value.items():
        if key not in known:
            raise ParseError(entry.key or entry.span, f"unknown key '{key}'{suggest(key, known)}")
    for key in required:
        if key not in node.value:
            _open = Span(node.span.start, node.span.start + 1, node.span.input)
            raise ParseError(_open, f"{what} lacks '{key}'")
    return node.value


def integer(node: Node) -> int:
    if isinstance(node.value, bool) or not isinstance(node.value, int):
        node.fail(f"expected an integer, got {describe(node)}")
    return node.value


def number(node: Node) -> float:
    if isinstance(node.value, bool) or not isinstance(node.value, int | float):
        node.fail(f"expected a number, got {describe(node)}")
    if not isfinite(value := float(node.value)):
        node.fail(f"'{node.span.text}' is too large for a number")
    return value


def boolean(node: Node) -> bool:
    if not isinstance(node.value, bool):
        node.fail(f"expected true or false, got {describe(node)}")
    return node.value


def text(node: Node) -> str:
    if not isinstance(node.value, str):
        node.fail(f"expected a string in quotes, got {describe(node)}")
    return node.value


def size(node: Node) -> int | None:
    """A size: a number, or `?` for one that is not known yet."""
    return None if node.value is None else integer(node)


def listed(item: Callable[[Node], T]) -> Callable[[Node], tuple[T, ...]]:
    """A decoder of lists from a decoder of items."""

    def decode(node: Node) -> tuple[T, ...]:
        if not isinstance(node.value, tuple):
            node.fail(f"expected a list '[...]', got {describe(node)}")
        return tuple(item(n) for n in node.value)

    return decode


def describe(node: Node) -> str:
    match node.value:
        case str():
            return f'the string "{node.value}"'
        case dict():
            return "a dictionary"
        case tuple():
            return "a list"
        case _:
            return f"'{node.span.text}'"
