"""Sums of the algebra as JSON: integers, names, and lists that begin with their operator.

    7    "gemmM"    ["+", E, ..]    ["*", E, E]    ["/", E, E]    ["%", E, E]    ["?", E, E, E]    ["^", E, E]

`/` rounds down, `%` is never negative, `?` is its second part where its first is 0 or more, else its third.
Law: whoever evaluates a tree by these words has what `Lin.eval` has; no formula is written a second time.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from imbrex.index.atom import Atom, Div, Mod, Mul, Param, Select, Var, Xor
from imbrex.index.expr import Lin

__all__ = ["Tree", "tree"]

Tree: TypeAlias = "int | str | list[str | Tree]"


def tree(index: Lin) -> Tree:
    """The sum as JSON."""
    parts: list[str | Tree] = [_scaled(atom, coefficient) for atom, coefficient in index.terms]
    if index.const or not parts:
        parts.append(index.const)
    return parts[0] if len(parts) == 1 else ["+", *parts]


def _scaled(atom: Atom, coefficient: int) -> Tree:
    found = _atom(atom)
    return found if coefficient == 1 else ["*", coefficient, found]


def _atom(atom: Atom) -> Tree:
    match atom:
        case Var() | Param():
            return atom.name
        case Div():
            return ["/", tree(atom.num), tree(atom.den)]
        case Mod():
            return ["%", tree(atom.num), tree(atom.den)]
        case Mul():
            return ["*", _atom(atom.left), _atom(atom.right)]
        case Select():
            return ["?", tree(atom.cond), tree(atom.then), tree(atom.other)]
        case Xor():
            return ["^", tree(atom.left), tree(atom.right)]
        case _:
            assert_never(atom)
