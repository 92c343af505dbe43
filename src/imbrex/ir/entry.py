"""Entry: how a `transform` makes some of its result dimensions from some of its source dimensions.

An entry is the text of one rule of `imbrex.index`: result dimensions are upper, source dimensions lower.

    kind         result   source   parameters
    passthrough  1        1
    merge        1        n
    unfold       1        n                          (a merge over neighbours in memory)
    unmerge      n        1
    pad          1        1        before, after
    prefix       1        1        least             (the first so many; how many is known when it runs)
    slice        1        1        begin, end
    embed        n        1        n, [c1, .., cn, offset]
    quotient     1        1        coefficient, offset
    broadcast    1        0
    fixed        0        1        value
    sunder       n        1
    xor          2        2        rows per step     (may be left out when 1)
    group        1        2        rows in a group   (the columns of a few rows, then of the next)
    ungroup      2        1        rows in a group
    deal         1        1        ways              (equal modulo ways, one after the other)
    undeal       1        1        ways
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from imbrex.index import rule as rules
from imbrex.index.rule import Rule
from imbrex.ir.literal import Node, Plain, fields, integer, listed, suggest, text
from imbrex.numeral import counted

Params: TypeAlias = tuple["int | tuple[int, ...]", ...]

KINDS = (
    "passthrough", "merge", "unfold", "unmerge", "pad", "prefix", "slice", "embed", "quotient", "broadcast",
    "fixed", "sunder", "xor", "group", "ungroup", "deal", "undeal",
)  # fmt: skip
KEYS = ("dimensions", "names", "transformation", "parameters", "source_dimensions", "source_names")


@dataclass(frozen=True)
class Entry:
    """One entry of `layout`; the numbers are positions in the result's and in the source's shape."""

    kind: str
    dimensions: tuple[int, ...]
    names: tuple[str, ...]
    source_dimensions: tuple[int, ...]
    source_names: tuple[str, ...]
    parameters: Params = ()

    @property
    def rule(self) -> Rule:
        """The rule of the index algebra; ValueError where the parameters are not this kind's."""
        return rule_of(self.kind, self.parameters)

    def plain(self) -> dict[str, Plain]:
        """The dictionary of the second draft."""
        out: dict[str, Plain] = {
            "dimensions": self.dimensions,
            "names": self.names,
            "transformation": self.kind,
        }
        if self.parameters:
            out["parameters"] = self.parameters
        return out | {"source_dimensions": self.source_dimensions, "source_names": self.source_names}

    def compact(self) -> str:
        """The line of the first draft: `1: merge(0: n, 2: ho, 3: wo), gemmN`."""
        sources = [f"{d}: {n}" for d, n in zip(self.source_dimensions, self.source_names, strict=True)]
        values = [str(list(p) if isinstance(p, tuple) else p) for p in self.parameters]
        body = f"{self.kind}({', '.join(sources + values)})"
        if len(self.names) == 1:
            return f"{self.dimensions[0]}: {body}, {self.names[0]}"
        return f"{list(self.dimensions)}: {body}, [{', '.join(self.names)}]"


def rule_of(kind: str, parameters: Params) -> Rule:
    """The rule that a kind and its parameters stand for; ValueError says what the parameters should be."""
    match kind, parameters:
        case "passthrough", ():
            return rules.PassThrough()
        case "merge", ():
            return rules.Merge()
        case "unfold", ():
            return rules.Unfold()
        case "unmerge", ():
            return rules.Unmerge()
        case "broadcast", ():
            return rules.Broadcast()
        case "sunder", ():
            return rules.Sunder()
        case "pad", (int(before), int(after)):
            return rules.Pad(before, after)
        case "prefix", (int(least),):
            return rules.Prefix(least)
        case "slice", (int(begin), int(end)):
            return rules.Slice(begin, end)
        case "quotient", (int(coef), int(offset)):
            return rules.Quotient(coef, offset)
        case "fixed", (int(value),):
            return rules.Fixed(value)
        case "xor", ():
            return rules.Xor()
        case "xor", (int(rows),):
            return rules.Xor(rows)
        case ("group" | "ungroup" | "deal" | "undeal") as name, (int(number),):
            return _ORDERS[name](number)
        case "embed", (int(count), (*coefs, offset)) if len(coefs) == count and count > 0:
            return rules.Embed(tuple(coefs), offset)
        case _:
            raise ValueError(
                f"'{kind}' takes {_FORMS.get(kind, 'no parameters')}, got {list_text(parameters)}"
            )


_ORDERS: dict[str, Callable[[int], Rule]] = {
    "group": rules.Group,
    "ungroup": rules.Ungroup,
    "deal": rules.Deal,
    "undeal": rules.Undeal,
}

_FORMS = {
    "group": "parameters [rows]",
    "ungroup": "parameters [rows]",
    "deal": "parameters [ways]",
    "undeal": "parameters [ways]",
    "pad": "parameters [before, after]",
    "prefix": "parameters [least]",
    "slice": "parameters [begin, end]",
    "quotient": "parameters [coefficient, offset]",
    "fixed": "parameters [value]",
    "xor": "at most one parameter [rows per step]",
    "embed": "parameters [n, [c1, ..., cn, offset]]",
}


def spelled(rule: Rule) -> tuple[str, Params]:
    """Kind and parameters of a rule; the inverse of `rule_of`."""
    match rule:
        case rules.PassThrough() | rules.Merge() | rules.Unfold() | rules.Unmerge():
            return type(rule).__name__.lower(), ()
        case rules.Broadcast() | rules.Sunder():
            return type(rule).__name__.lower(), ()
        case rules.Pad(before, after):
            return "pad", (before, after)
        case rules.Prefix(least):
            return "prefix", (least,)
        case rules.Slice(begin, end):
            return "slice", (begin, end)
        case rules.Quotient(coef, offset):
            return "quotient", (coef, offset)
        case rules.Fixed(value):
            return "fixed", (value,)
        case rules.Xor(rows):
            return "xor", () if rows == 1 else (rows,)
        case rules.Group(rows) | rules.Ungroup(rows):
            if not isinstance(rows, int):
                raise ValueError(f"a group of a runtime number of rows, {rows}, has no text form")
            return type(rule).__name__.lower(), (rows,)
        case rules.Deal(ways) | rules.Undeal(ways):
            return type(rule).__name__.lower(), (ways,)
        case rules.Embed(coefs, offset):
            return "embed", (len(coefs), (*coefs, offset))
        case _:
            assert_never(rule)


def decode_entry(node: Node) -> Entry:
    """The entry that a dictionary of the text form says; every mistake points at its own literal."""
    got = fields(node, KEYS, [k for k in KEYS if k != "parameters"], "a transformation")
    kind = text(got["transformation"])
    if kind not in KINDS:
        got["transformation"].fail(f"unknown transformation '{kind}'{suggest(kind, KINDS)}")
    entry = Entry(
        kind,
        listed(integer)(got["dimensions"]),
        listed(text)(got["names"]),
        listed(integer)(got["source_dimensions"]),
        listed(text)(got["source_names"]),
        listed(_parameter)(got["parameters"]) if "parameters" in got else (),
    )
    try:
        rule = entry.rule
    except ValueError as error:
        got.get("parameters", got["transformation"]).fail(str(error))
    upper, lower = rules.arity(rule)
    for key, have, want in (
        ("dimensions", entry.dimensions, upper),
        ("source_dimensions", entry.source_dimensions, lower),
    ):
        if (want is not None and len(have) != want) or (want is None and not have):
            count = "at least 1 entry" if want is None else f"{want} {'entry' if want == 1 else 'entries'}"
            got[key].fail(f"'{kind}' takes {count} in '{key}', got {len(have)}")
    for key, names in (("dimensions", "names"), ("source_dimensions", "source_names")):
        numbers, words = got[key].value, got[names].value
        assert isinstance(numbers, tuple) and isinstance(words, tuple)
        if len(numbers) != len(words):
            got[names].fail(f"'{names}' has {counted(len(words), 'entry')}, '{key}' has {len(numbers)}")
    return entry


def _parameter(node: Node) -> int | tuple[int, ...]:
    return listed(integer)(node) if isinstance(node.value, tuple) else integer(node)


def list_text(values: Sequence[object]) -> str:
    """`[1, [2, 3]]`: values as the text has them."""
    return "[" + ", ".join(str(list(v)) if isinstance(v, tuple) else str(v) for v in values) + "]"  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
