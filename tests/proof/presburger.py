"""Printed indices against naive compositions, as statements about integers that isl decides for all points.

The printed side starts from the text of the expressions, as a kernel has it.  The naive side never sees an
expression: every coordinate of every layer is a variable of its own, tied to its neighbours by the rule's law
without a division.  A proof is that some set of such points is empty; a sample of it says what is wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, assert_never

import pytest

from imbrex.index import rule as rules
from imbrex.index.map import Layer, Map, Step
from imbrex.index.query import linear
from imbrex.index.rule import Pad

isl: Any = pytest.importorskip("islpy", reason="islpy is not installed")


@dataclass(frozen=True)
class Kernel:
    """What a kernel prints for a map: the offset of its element, and the guards of that element."""

    offset: str
    guards: tuple[tuple[str, int], ...]

    @staticmethod
    def of(map: Map) -> Kernel:
        offset, guards = linear(map)
        return Kernel(str(offset), tuple((str(g.index), g.size) for g in guards))


class Points:
    """Points of some variables that meet constraints; a method gives one that breaks its claim, or None."""

    def __init__(self, names: Sequence[str], constraints: Iterable[str]) -> None:
        self.names = tuple(names)
        self.set = isl.Set(f"{{ [{', '.join(self.names)}] : {' and '.join(constraints) or 'true'} }}")

    def where(self, *claims: isl.Set) -> str | None:
        found = self.set
        for claim in claims:
            found = found.intersect(claim)
        return None if found.is_empty() else str(found.sample_point())

    def outside(self, text: str, size: int | str, *claims: isl.Set) -> str | None:
        """A point where `0 <= text < size` is false."""
        x = self.value(text)
        return self.where(*claims, x.lt_set(self.value("0"))) or self.where(
            *claims, x.ge_set(self.value(str(size)))
        )

    def differ(self, one: str, other: str) -> str | None:
        x, y = self.value(one), self.value(other)
        return self.where(x.lt_set(y)) or self.where(x.gt_set(y))

    def inside(self, text: str, size: int) -> isl.Set:
        return (
            self.value(text).ge_set(self.value("0")).intersect(self.value(text).lt_set(self.value(str(size))))
        )

    def value(self, text: str) -> isl.PwAff:
        """The printed expression as a function of the point."""
        return self._term(ast.parse(_python(text), mode="eval").body)

    def _term(self, node: ast.expr) -> isl.PwAff:
        space = isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=self.names)
        local = isl.LocalSpace.from_space(space)
        match node:
            case ast.Constant(int(k)):
                return isl.PwAff.from_aff(isl.Aff.zero_on_domain(local)) + k
            case ast.Name(name):
                return isl.PwAff.from_aff(
                    isl.Aff.var_on_domain(local, isl.dim_type.set, self.names.index(name))
                )
            case ast.UnaryOp(ast.USub(), x):
                return self._term(x).neg()
            case ast.BinOp(x, ast.Add(), y):
                return self._term(x) + self._term(y)
            case ast.BinOp(x, ast.Sub(), y):
                return self._term(x) - self._term(y)
            case ast.BinOp(x, ast.Mult(), y):
                return self._term(x).mul(self._term(y))
            case ast.BinOp(x, ast.FloorDiv(), ast.Constant(int(k))):
                return self._term(x).scale_down_val(isl.Val(k)).floor()
            case ast.BinOp(x, ast.Mod(), ast.Constant(int(k))):
                return self._term(x).mod_val(isl.Val(k))
            case ast.IfExp(ast.Compare(cond, [ast.GtE()], [ast.Constant(0)]), then, other):
                holds = self._term(cond).ge_set(self.value("0"))
                left = self._term(then).intersect_domain(holds)
                return left.union_max(self._term(other).subtract_domain(holds))
            case _:
                raise AssertionError(ast.dump(node))


class Naive:
    """The coordinates of a map's every layer as variables: `names[i]` above layer i, the last in memory."""

    def __init__(self, map: Map, suffix: str = "") -> None:
        self.map = map
        self.names = [[d.name + suffix for d in map.upper]]
        self.names += [[f"{d.name}_{i}{suffix}" for d in layer.lower] for i, layer in enumerate(map.layers)]
        self.offset = _row_major(self.names[-1], [d.size for d in map.lower])
        self.size = prod(d.size for d in map.lower)

    def box(self, depth: int) -> list[str]:
        dims = self.map.upper if depth == 0 else self.map.layers[depth - 1].lower
        return [f"0 <= {n} < {d.size}" for n, d in zip(self.names[depth], dims, strict=True)]

    def laws(self, depth: int) -> list[str]:
        layer = self.map.layers[depth]
        up = dict(zip((d.name for d in layer.upper), self.names[depth], strict=True))
        low = dict(zip((d.name for d in layer.lower), self.names[depth + 1], strict=True))
        return [
            f"({_law(layer, s, [up[n] for n in s.upper], [low[n] for n in s.lower])})" for s in layer.steps
        ]

    def exists(self, depth: int) -> list[str]:
        """Every coordinate above and at this depth lies in its dim."""
        return [c for i in range(depth + 1) for c in (*self.box(i), *(self.laws(i - 1) if i else ()))]

    def all_names(self, depth: int) -> list[str]:
        return [n for names in self.names[: depth + 1] for n in names]


def wrong_offset(map: Map, kernel: Kernel) -> str | None:
    """A point that exists, and is elsewhere than the kernel says."""
    naive = Naive(map)
    depth = len(map.layers)
    return Points(naive.all_names(depth), naive.exists(depth)).differ(kernel.offset, naive.offset)


def needless_guard(map: Map, kernel: Kernel) -> str | None:
    """A point that exists, and that a guard drops."""
    naive = Naive(map)
    depth = len(map.layers)
    points = Points(naive.all_names(depth), naive.exists(depth))
    return next((p for text, size in kernel.guards if (p := points.outside(text, size))), None)


def missing_guard(map: Map, kernel: Kernel) -> str | None:
    """A point that all guards let pass, and that leaves a dim at some layer.

    Layer by layer, so that all coordinates above are known to exist.
    """
    naive = Naive(map)
    for depth, layer in enumerate(map.layers):
        points = Points(naive.all_names(depth + 1), (*naive.exists(depth), *naive.laws(depth)))
        passed = [points.inside(text, size) for text, size in kernel.guards]
        for step in layer.steps:
            if isinstance(step.rule, Pad):
                i = [d.name for d in layer.lower].index(step.lower[0])
                if point := points.outside(naive.names[depth + 1][i], layer.lower[i].size, *passed):
                    return point
    return None


def out_of_bounds(map: Map, kernel: Kernel) -> str | None:
    """A point that all guards let pass, and whose offset is not in the buffer."""
    naive = Naive(map)
    points = Points(naive.names[0], naive.box(0))
    passed = [points.inside(text, size) for text, size in kernel.guards]
    return points.outside(kernel.offset, naive.size, *passed)


def shared_offset(map: Map, another: Map | None = None) -> str | None:
    """Two points that exist and share their offset: different ones of one map, or any of two maps."""
    one, other = Naive(map), Naive(another or map, "__")
    both = Points(
        (*one.all_names(len(one.map.layers)), *other.all_names(len(other.map.layers))),
        (
            *one.exists(len(one.map.layers)),
            *other.exists(len(other.map.layers)),
            f"{one.offset} = {other.offset}",
        ),
    )
    if another is not None:
        return both.where()
    pairs = zip(one.names[0], other.names[0], strict=True)
    return next((p for x, y in pairs if (p := both.where(both.value(x).lt_set(both.value(y))))), None)


def _law(layer: Layer, step: Step, u: Sequence[str], l: Sequence[str]) -> str:  # noqa: E741
    """The rule between its coordinates; that they lie in their dims (a Pad guards that) is said elsewhere."""
    upper, lower = layer.upper_sizes(step), layer.lower_sizes(step)
    match step.rule:
        case rules.PassThrough():
            return f"{l[0]} = {u[0]}"
        case rules.Pad(before, _):
            return f"{l[0]} = {u[0]} - {before}"
        case rules.Slice(begin, _):
            return f"{l[0]} = {u[0]} + {begin}"
        case rules.Embed(coefs, offset):
            return f"{l[0]} = {offset} + " + " + ".join(f"{c} * {x}" for c, x in zip(coefs, u, strict=True))
        case rules.Quotient(coef, offset):
            return f"{u[0]} = {coef} * {l[0]} + {offset}"
        case rules.Unmerge():
            return f"{l[0]} = {_row_major(u, upper)}"
        case rules.Merge() | rules.Unfold():
            return f"{u[0]} = {_row_major(l, lower)}"
        case rules.Broadcast():
            return "true"
        case rules.Fixed(value):
            return f"{l[0]} = {value}"
        case rules.Sunder():
            return " or ".join(
                f"({u[-1]} = {i} and {l[0]} = {u[i]} + {sum(upper[:i])})" for i in range(len(u) - 1)
            )
        case rules.Xor():
            raise NotImplementedError(
                "an exclusive or is not affine; its law is tried at every point instead"
            )
        case rules.Group(int(rows)):
            return _walked(u[0], l, rows, lower)
        case rules.Ungroup(int(rows)):
            return _walked(l[0], u, rows, upper)
        case rules.Group() | rules.Ungroup():
            raise NotImplementedError("a product of runtime quantities is not affine")
        case rules.Deal(ways):
            return _dealt(u[0], l[0], ways, upper[0])
        case rules.Undeal(ways):
            return _dealt(l[0], u[0], ways, upper[0])
        case _:
            assert_never(step.rule)


def _walked(place: str, cell: Sequence[str], rows: int, sizes: Sequence[int]) -> str:
    """Groups of `rows` whole rows, then a group of the rows that are left."""
    r, c = cell
    whole = sizes[0] // rows
    start = f"{rows * sizes[1]} * g"
    inside = f"0 <= g < {whole} and 0 <= i < {rows}"
    full = f"{inside} and {r} = {rows} * g + i and {place} = {start} + {rows} * {c} + i"
    rest = sizes[0] - whole * rows
    last = (
        f"{r} >= {whole * rows} and {place} = {whole * rows * sizes[1]} + {rest} * {c} + {r} - {whole * rows}"
    )
    return f"((exists g, i: {full}) or ({last}))"


def _dealt(card: str, place: str, ways: int, size: int) -> str:
    """The hands that got one more come first."""
    length, longer = divmod(size, ways)
    early = f"h < {longer} and {place} = {length + 1} * h + t and 0 <= t <= {length}"
    late = f"h >= {longer} and {place} = {longer} + {length} * h + t and 0 <= t < {length}"
    return f"(exists h, t: 0 <= h < {ways} and {card} = {ways} * t + h and (({early}) or ({late})))"


def _row_major(names: Sequence[str], sizes: Sequence[int]) -> str:
    return " + ".join(f"{prod(sizes[i + 1 :])} * {x}" for i, x in enumerate(names))


def _python(text: str) -> str:
    """The text with `//` for `/`, and `a ? b : c` turned into Python's order, innermost last one first."""
    while "?" in text:
        mark = text.rindex("?")
        start = mark - next(i for i, depth in _depths(text[:mark][::-1], ")(") if depth < 0)
        colon = mark + next(i for i, c in enumerate(text[mark:]) if c == ":" and _flat(text[mark : mark + i]))
        end = colon + next(i for i, depth in _depths(text[colon:], "()") if depth < 0)
        cond, then, other = text[start:mark], text[mark + 1 : colon], text[colon + 1 : end]
        text = f"{text[:start]}({then.strip()}) if {cond.strip()} else ({other.strip()}){text[end:]}"
    return text.replace("/", "//")


def _depths(text: str, brackets: str) -> Iterator[tuple[int, int]]:
    depth = 0
    for i, c in enumerate(text):
        depth += (c == brackets[0]) - (c == brackets[1])
        yield i, depth


def _flat(text: str) -> bool:
    return text.count("(") == text.count(")")
