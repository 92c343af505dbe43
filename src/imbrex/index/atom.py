"""The terms of an index that cannot be taken apart; `expr` adds them up and simplifies.

An atom knows its bounds, its variables, its text and its value.  The text orders atoms and gives their hash.
Its parts are sums of atoms: a `Lin` is known here as a type only, and made by its own operators alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from imbrex.cached import cached_property

if TYPE_CHECKING:
    from imbrex.index.expr import Lin

Interval: TypeAlias = tuple[int, int]
Value: TypeAlias = Any  # an int, or an integer array that is evaluated element by element
Atom: TypeAlias = "Var | Param | Div | Mod | Mul | Select | Xor"


class _Term:
    """A term whose text, spelt once, gives the hash (a string keeps its own: terms can be pickled)."""

    def _spell(self) -> str:
        raise NotImplementedError

    @cached_property
    def text(self) -> str:
        return self._spell()

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class _Named(_Term):
    """A quantity that has a name and no parts."""

    name: str
    __hash__ = _Term.__hash__

    def _spell(self) -> str:
        return self.name

    @property
    def variables(self) -> frozenset[str]:
        return frozenset((self.name,))

    def eval(self, env: Mapping[str, Value]) -> Value:
        return env[self.name]


@dataclass(frozen=True, repr=False)
class Var(_Named):
    """A free index in `0 <= name < size`."""

    size: int
    __hash__ = _Term.__hash__

    @property
    def bounds(self) -> Interval:
        return 0, self.size - 1


@dataclass(frozen=True, repr=False)
class Param(_Named):
    """A quantity known when the kernel starts, in `low <= name <= high`."""

    low: int
    high: int
    __hash__ = _Term.__hash__

    @property
    def bounds(self) -> Interval:
        return self.low, self.high


@dataclass(frozen=True, repr=False)
class Div(_Term):
    """`num / den`, rounded down; den > 0."""

    num: Lin
    den: Lin
    __hash__ = _Term.__hash__

    @cached_property
    def bounds(self) -> Interval:
        corners = [n // d for n in self.num.bounds for d in self.den.bounds]
        return min(corners), max(corners)

    def _spell(self) -> str:
        return f"{self.num.factor_text} / {self.den.factor_text}"

    @cached_property
    def variables(self) -> frozenset[str]:
        return self.num.variables | self.den.variables

    def eval(self, env: Mapping[str, Value]) -> Value:
        return self.num.eval(env) // self.den.eval(env)


@dataclass(frozen=True, repr=False)
class Mod(_Term):
    """`num % den`, in `0 <= . < den`; den > 0."""

    num: Lin
    den: Lin
    __hash__ = _Term.__hash__

    @cached_property
    def bounds(self) -> Interval:
        low, high = self.num.bounds
        top = self.den.bounds[1] - 1
        return 0, min(high, top) if low >= 0 else top

    def _spell(self) -> str:
        return f"{self.num.factor_text} % {self.den.factor_text}"

    @cached_property
    def variables(self) -> frozenset[str]:
        return self.num.variables | self.den.variables

    def eval(self, env: Mapping[str, Value]) -> Value:
        return self.num.eval(env) % self.den.eval(env)


@dataclass(frozen=True, repr=False)
class Mul(_Term):
    """`left * right` of two atoms, at least one of them a runtime quantity."""

    left: Atom
    right: Atom
    __hash__ = _Term.__hash__

    @cached_property
    def bounds(self) -> Interval:
        corners = [a * b for a in self.left.bounds for b in self.right.bounds]
        return min(corners), max(corners)

    def _spell(self) -> str:
        return f"({self.left}) * ({self.right})"

    @cached_property
    def variables(self) -> frozenset[str]:
        return self.left.variables | self.right.variables

    def eval(self, env: Mapping[str, Value]) -> Value:
        return self.left.eval(env) * self.right.eval(env)


@dataclass(frozen=True, repr=False)
class Select(_Term):
    """`then if cond >= 0 else other`: one branch of a piecewise map."""

    cond: Lin
    then: Lin
    other: Lin
    __hash__ = _Term.__hash__

    @cached_property
    def bounds(self) -> Interval:
        (low, high), other = self.then.bounds, self.other.bounds
        above, below = self.then - self.cond, self.then + self.cond
        if above.is_constant:  # the greater of two
            low = max(low, above.const)
        if below.is_constant:  # the lesser of two
            high = min(high, below.const)
        return min(low, other[0]), max(high, other[1])

    def _spell(self) -> str:
        return f"({self.cond} >= 0 ? {self.then} : {self.other})"

    @cached_property
    def variables(self) -> frozenset[str]:
        return self.cond.variables | self.then.variables | self.other.variables

    def eval(self, env: Mapping[str, Value]) -> Value:
        holds = 1 * (self.cond.eval(env) >= 0)
        return holds * self.then.eval(env) + (1 - holds) * self.other.eval(env)


@dataclass(frozen=True, repr=False)
class Xor(_Term):
    """Bitwise exclusive or of two indices that are never negative."""

    left: Lin
    right: Lin
    __hash__ = _Term.__hash__

    @cached_property
    def bounds(self) -> Interval:
        bits = max(self.left.bounds[1].bit_length(), self.right.bounds[1].bit_length())
        return 0, (1 << bits) - 1

    def _spell(self) -> str:
        return f"{self.left.factor_text} ^ {self.right.factor_text}"

    @cached_property
    def variables(self) -> frozenset[str]:
        return self.left.variables | self.right.variables

    def eval(self, env: Mapping[str, Value]) -> Value:
        return self.left.eval(env) ^ self.right.eval(env)


def sum_text(terms: Sequence[tuple[Atom, int]], const: int) -> str:
    """The text of `const + sum(coef * atom)`."""
    parts = [_term_text(*t) for t in terms]
    if len(terms) > 1 or (terms and const):
        parts = [f"({t})" if any(op in t for op in (" % ", " / ", " ^ ")) else t for t in parts]
    if const or not parts:
        parts.append(str(const))
    return " + ".join(parts).replace("+ -", "- ")


def _term_text(a: Atom, c: int) -> str:
    if c == 1:
        return a.text
    return f"{c}*{a.text}" if isinstance(a, Var | Param | Select) else f"{c}*({a.text})"
