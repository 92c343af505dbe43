"""Integer index expressions in one canonical form.

Every index is a `Lin`: a constant plus a sum of `coef * atom`.  An atom is a term that cannot be taken apart:
a variable, a runtime parameter, a quotient, a remainder, a product, a select, an xor.  Simplification happens
while an expression is built, so indices that the laws make equal are equal Python values, and there is no
separate simplifier to forget.  The laws, for constant d, k > 0 and floor division:

    d * (e / d) + e % d       = e              e - d * (e / d) = e % d, e - e % d = d * (e / d)
    d * ((e / d) % k) + e % d = e % (d * k)    (e / d) / k = e / (d * k)
    (d * q + r) / d = q, (d * q + r) % d = r   when 0 <= r < d
    (a ^ b) ^ b               = a

Only `_divmod` makes quotients and remainders: a `Div` built elsewhere would miss a reduction.
`without_simplification()` turns the laws off; every value must stay the same.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import chain
from math import gcd
from typing import TypeAlias, assert_never

from imbrex.cached import cached_property
from imbrex.index.atom import Atom, Div, Interval, Mod, Mul, Param, Select, Value, Var, Xor, sum_text

Index: TypeAlias = "Lin | int"

_simplifying: ContextVar[bool] = ContextVar("simplifying", default=True)


@contextmanager
def without_simplification() -> Generator[None]:
    """Build plain quotients and remainders inside this block: the control of the laws above."""
    token = _simplifying.set(False)
    try:
        yield
    finally:
        _simplifying.reset(token)


@dataclass(frozen=True, repr=False)
class Lin:
    """`const + sum(coef * atom)`: atoms distinct and ordered, no coefficient zero."""

    terms: tuple[tuple[Atom, int], ...]
    const: int

    def __hash__(self) -> int:
        return hash(self.text)

    @cached_property
    def bounds(self) -> Interval:
        """Inclusive interval of the value."""
        low = high = self.const
        for atom, c in self.terms:
            a, b = atom.bounds
            low, high = low + min(a * c, b * c), high + max(a * c, b * c)
        return low, high

    @cached_property
    def variables(self) -> frozenset[str]:
        """Names of the variables and runtime parameters that the value depends on."""
        return frozenset(name for a, _ in self.terms for name in a.variables)

    def mentions(self, name: str) -> bool:
        return name in self.variables

    @property
    def divisor(self) -> int:
        """A d that divides every value, the largest known; 0 for the constant 0."""
        return gcd(self.const, *(c for _, c in self.terms))

    @property
    def is_constant(self) -> bool:
        return not self.terms

    @cached_property
    def _is_settled(self) -> bool:
        """No law changes the sum, whatever constant is added; what `_collect` made is known to be so."""
        return _is_settled(self.terms)

    def __add__(self, other: Index) -> Lin:
        one, other = (self, lin(other)) if self.terms else (lin(other), self)
        if not other.terms and one._is_settled:
            return _settled(one.terms, one.const + other.const) if other.const else one
        return _collect((*one.terms, *other.terms), one.const + other.const)

    def __mul__(self, other: Index) -> Lin:
        if isinstance(other, Lin) and not other.is_constant:
            return _product(self, other)
        if (k := lin(other).const) == 1:
            return self
        return Lin(tuple([(a, c * k) for a, c in self.terms]), self.const * k) if k else Lin((), 0)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Lin:
        return self * -1

    def __sub__(self, other: Index) -> Lin:
        return self + (other * -1 if isinstance(other, Lin) else -other)

    def __rsub__(self, other: Index) -> Lin:
        return self * -1 + other

    def __floordiv__(self, den: Index) -> Lin:
        return divide(self, den)[0]

    def __mod__(self, den: Index) -> Lin:
        return divide(self, den)[1]

    def eval(self, env: Mapping[str, Value]) -> Value:
        """The value where each variable has the value that `env` gives it; arrays broadcast."""
        return sum((a.eval(env) if c == 1 else c * a.eval(env) for a, c in self.terms), self.const)

    def subs(self, env: Mapping[str, Lin]) -> Lin:
        """Replace variables, simplifying again from the leaves up."""
        if not self.variables & env.keys():
            return self
        made = [_subs(a, env) * c for a, c in self.terms]
        return _collect(chain(*(one.terms for one in made)), self.const + sum(one.const for one in made))

    @cached_property
    def text(self) -> str:
        return sum_text(self.terms, self.const)

    @property
    def factor_text(self) -> str:
        """The text in parentheses, where a factor needs them."""
        simple = self.is_constant or (not self.const and len(self.terms) == 1 and self.text.isidentifier())
        return self.text if simple else f"({self.text})"

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def lin(x: Index) -> Lin:
    return x if isinstance(x, Lin) else Lin((), int(x))


@lru_cache(maxsize=1 << 12)
def var(name: str, size: int) -> Lin:
    """A variable, one object for a name and a size; the constant 0 when its range holds one value."""
    if size < 1:
        raise ValueError(f"index '{name}' needs at least one value, got size {size}")
    return lin(0) if size == 1 else _atom(Var(name, size))


def param(name: str, low: int, high: int) -> Lin:
    """A runtime quantity with inclusive bounds."""
    if high < low:
        raise ValueError(f"parameter '{name}' has no value between {low} and {high}")
    return lin(low) if low == high else _atom(Param(name, low, high))


def select(cond: Index, then: Index, other: Index) -> Lin:
    """`then` where cond >= 0, `other` elsewhere."""
    cond, then, other = lin(cond), lin(then), lin(other)
    if cond.bounds[0] >= 0 or then == other:
        return then
    return other if cond.bounds[1] < 0 else _atom(Select(cond, then, other))


def xor(left: Index, right: Index) -> Lin:
    """Bitwise exclusive or; ValueError where a side may be negative."""
    a, b = sorted((lin(left), lin(right)), key=str)
    if a.bounds[0] < 0 or b.bounds[0] < 0:
        raise ValueError(f"xor needs non-negative indices, got {a} and {b}")
    if a == b:
        return lin(0)
    if a.is_constant and b.is_constant:
        return lin(a.const ^ b.const)
    for one, rest in ((a, b), (b, a)):
        if one == lin(0):
            return rest
        match rest:
            case Lin(((Xor(left, right), 1),), 0) if one in (left, right) and _simplifying.get():
                return right if one == left else left
            case _:
                pass
    return _atom(Xor(a, b))


def divide(num: Index, den: Index) -> tuple[Lin, Lin]:
    """`(num / den, num % den)`, rounded down, simplified together."""
    num, den = lin(num), lin(den)
    if den.bounds[0] <= 0:
        raise ValueError(f"index divisor must be positive, got {den}")
    if not den.is_constant:
        if num.bounds[0] >= 0 and num.bounds[1] < den.bounds[0]:
            return lin(0), num
        return _atom(Div(num, den)), _atom(Mod(num, den))
    if num.is_constant:
        return lin(num.const // den.const), lin(num.const % den.const)
    return _divmod(num, den.const) if _simplifying.get() else (_atom(Div(num, den)), _atom(Mod(num, den)))


def _atom(a: Atom) -> Lin:
    return Lin(((a, 1),), 0)


def _collect(terms: Iterable[tuple[Atom, int]], const: int) -> Lin:
    """Add up equal atoms, then undo every division that the laws can undo."""
    coefs: dict[Atom, int] = {}
    for atom, c in terms:
        coefs[atom] = coefs.get(atom, 0) + c
    is_simplifying = _simplifying.get()
    if is_simplifying and not _is_settled(coefs.items()):
        for old, new in chain(_completed(coefs), _cut(coefs)):
            return _collect((*coefs.items(), *(old * -1).terms, *new.terms), const - old.const + new.const)
    kept = [(a, c) for a, c in coefs.items() if c]
    if len(kept) > 1:
        kept.sort(key=lambda t: (-abs(t[1]), t[0].text))
    return _settled(tuple(kept), const) if is_simplifying else Lin(tuple(kept), const)


def _settled(terms: tuple[tuple[Atom, int], ...], const: int) -> Lin:
    """A sum of which is known that no law changes it, so that nobody looks again."""
    made = Lin(terms, const)
    made.__dict__["_is_settled"] = True
    return made


def _is_settled(terms: Iterable[tuple[Atom, int]]) -> bool:
    """No law can change the sum: one sign leaves nothing to cut, and no remainder nothing to complete."""
    sign = 0
    for atom, c in terms:
        if c * sign < 0 or (c and isinstance(atom, Mod)):
            return False
        sign = sign or c
    return True


def _completed(coefs: Mapping[Atom, int]) -> Iterator[tuple[Lin, Lin]]:
    """c*(d*q + m) and its equal c*e, for atoms q and m = e % d of the sum."""
    for m, c in coefs.items():
        if not c or not isinstance(m, Mod) or not m.den.is_constant:
            continue
        d = m.den.const
        for q in (q for q, k in coefs.items() if k == c * d):
            pair = Lin(((q, c * d), (m, c)), 0)
            if _divmod(m.num, d)[0] == _atom(q):
                yield pair, m.num * c
            elif isinstance(q, Mod) and q.den.is_constant:
                e = q.num * d + _atom(m)
                if all(a != m for a, _ in e.terms):
                    yield pair, e % (d * q.den.const) * c


def _cut(coefs: Mapping[Atom, int]) -> Iterator[tuple[Lin, Lin]]:
    """c*(e - d*q) or c*(e - m) and its equal c*m or c*d*q, for an atom q = e / d or m = e % d of the sum."""
    if min(coefs.values(), default=0) >= 0 or max(coefs.values()) <= 0:
        return  # the common sum, with nothing to cut
    for part, k in coefs.items():
        if k and isinstance(part, Div | Mod) and part.den.is_constant:
            for e, scale, rest in _wholes(part, k, coefs):
                c = -k // scale
                if all(coefs.get(a, 0) * w * c >= (w * c) ** 2 for a, w in e.terms):
                    yield Lin((*(e * c).terms, (part, k)), e.const * c), rest * c


def _wholes(part: Div | Mod, k: int, coefs: Mapping[Atom, int]) -> Iterator[tuple[Lin, int, Lin]]:
    """(e, s, e - s*part) for each e that the sum may hold, s a divisor of k."""
    den = part.den.const
    if isinstance(part, Mod):
        yield part.num, 1, part.num // den * den
    else:
        inner = {1, *(a.den.const for a in coefs if isinstance(a, Div) and a.den.is_constant)}
        for i in sorted(i for i in inner if den % i == 0 and i < den and k % (den // i) == 0):
            yield part.num // i, den // i, part.num // i % (den // i)
    for atom, c in coefs.items():
        e = _atom(atom)
        if c == -k and _divmod(e, den)[1] == _atom(part):
            yield e, 1, e // den * den
        if c and k % c == 0 and -k // c > 1 and _divmod(e, -k // c)[0] == _atom(part):
            yield e, -k // c, e % (-k // c)


def _product(x: Lin, y: Lin) -> Lin:
    total = x * y.const + Lin(tuple((a, c * x.const) for a, c in y.terms if x.const), 0)
    for a, ca in x.terms:
        for b, cb in y.terms:
            *first, last = sorted((*_factors(a), *_factors(b)), key=lambda t: t.text)
            product = reduce(lambda tail, head: Mul(head, tail), reversed(first), last)
            total = total + Lin(((product, ca * cb),), 0)
    return total


def _factors(a: Atom) -> tuple[Atom, ...]:
    return (*_factors(a.left), *_factors(a.right)) if isinstance(a, Mul) else (a,)


@lru_cache(maxsize=1 << 16)
def _divmod(x: Lin, d: int) -> tuple[Lin, Lin]:
    """Split off whole multiples of d; then look for a rest that stays inside one period.

    What is divided is never negative, since C rounds a negative quotient up: then some multiples stay.
    """
    if d == 1:
        return x, lin(0)
    whole = _collect(((a, c // d) for a, c in x.terms if c % d == 0), x.const // d)
    rest = _collect(((a, c) for a, c in x.terms if c % d), x.const % d)
    low, high = rest.bounds
    if low // d == high // d:
        return whole + low // d, rest - (low // d) * d
    for g in sorted({gcd(c, d) for _, c in rest.terms} - {1}, reverse=True):
        small = _collect(((a, c) for a, c in rest.terms if c % g), rest.const % g)
        if 0 <= small.bounds[0] and small.bounds[1] < g:
            big = _collect(((a, c // g) for a, c in rest.terms if c % g == 0), rest.const // g)
            q, r = _divmod(big, d // g)
            return whole + q, r * g + small
    below = min(low // d, 0)
    whole, rest = whole + below, rest - below * d
    q, r = _nested(rest, d) or (_atom(Div(rest, lin(d))), _atom(Mod(rest, lin(d))))
    return whole + q, r


def _nested(x: Lin, d: int) -> tuple[Lin, Lin] | None:
    """x / d and x % d where x is a quotient or a remainder itself: one division, not two."""
    match x:
        case Lin(((Div(num, Lin((), k)), 1),), f):
            return _divmod(num + f * k, k * d)[0], _atom(Mod(x, lin(d)))
        case Lin(((Mod(num, Lin((), k)), 1),), 0) if k % d == 0:
            return _divmod(_divmod(num, d)[0], k // d)[1], _divmod(num, d)[1]
        case _:
            return None


def _subs(a: Atom, env: Mapping[str, Lin]) -> Lin:
    match a:
        case Var() | Param():
            return env.get(a.name, _atom(a))
        case Div():
            return a.num.subs(env) // a.den.subs(env)
        case Mod():
            return a.num.subs(env) % a.den.subs(env)
        case Mul():
            return _subs(a.left, env) * _subs(a.right, env)
        case Select():
            return select(a.cond.subs(env), a.then.subs(env), a.other.subs(env))
        case Xor():
            return xor(a.left.subs(env), a.right.subs(env))
        case _:
            assert_never(a)
