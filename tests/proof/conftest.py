"""Printed indices against naive compositions, as statements about integers that isl decides for every point at once.

The emitted side starts from the text of the expressions, as a kernel prints them.  The naive side never sees an
expression: every coordinate of every layer is a variable of its own, tied to its neighbours by the rule's law
without a division, and a proof is that some set of such points is empty.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import assert_never

import islpy as isl
import pytest

from imbrex.index import rule as rules
from imbrex.index.map import Dim, Layer, Map, Step, layer_over
from imbrex.index.query import linear
from imbrex.index.rule import Embed, Merge, Pad, PassThrough, Slice, Sunder, Unmerge

P = PassThrough()


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
    """Points of some variables, cut down by constraints; each method gives a point that breaks a claim, or None."""

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
        return self.value(text).ge_set(self.value("0")).intersect(self.value(text).lt_set(self.value(str(size))))

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
                return isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, self.names.index(name)))
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
    """The coordinates of a map's every layer as variables: `names[i]` above layer i, the last ones in memory."""

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
        return [f"({_law(layer, s, [up[n] for n in s.upper], [low[n] for n in s.lower])})" for s in layer.steps]

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
    """A point that all guards let pass, and that leaves a dim at some layer: layer by layer, so that the ones above
    are known to hold.
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


def shared_offset(map: Map) -> str | None:
    """Two points that exist, differ, and share their offset."""
    one, other = Naive(map), Naive(map, "__")
    depth = len(map.layers)
    both = Points(
        (*one.all_names(depth), *other.all_names(depth)),
        (*one.exists(depth), *other.exists(depth), f"{one.offset} = {other.offset}"),
    )
    pairs = zip(one.names[0], other.names[0], strict=True)
    return next((p for x, y in pairs if (p := both.where(both.value(x).lt_set(both.value(y))))), None)


def _law(layer: Layer, step: Step, u: Sequence[str], l: Sequence[str]) -> str:  # noqa: E741
    """The rule between its coordinates; that they lie in their dims is said elsewhere, and is all of a Pad's guard."""
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
        case _:
            assert_never(step.rule)


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


def _dims(**sizes: int) -> tuple[Dim, ...]:
    return tuple(Dim(n, s) for n, s in sizes.items())


def _window(layout: str, n: int, c: int, h: int, w: int, y: int, x: int, *, pad: tuple[int, int], stride: int = 1,
            dil: int = 1) -> Map:  # fmt: skip
    """(n c y ho x wo) of an image: the part that all three directions share."""
    sizes = {"n": n, "c": c, "h": h, "w": w}
    stored = tuple(Dim(d, sizes[d]) for d in layout)
    ho, wo = ((s + sum(pad) - dil * (k - 1) - 1) // stride + 1 for s, k in ((h, y), (w, x)))
    padded = layer_over(stored, *((Pad(*pad), f"{d}p", d) if d in "hw" else (P, d, d) for d in layout))
    slid = layer_over(
        padded.upper, (P, "n", "n"), (P, "c", "c"),
        (Embed((dil, stride)), "y ho", "hp"), (Embed((dil, stride)), "x wo", "wp"),
        y=y, x=x, ho=ho, wo=wo,
    )  # fmt: skip
    return Map((slid, padded))


def _over(map: Map, *entries: tuple[rules.Rule, str, str], **sizes: int) -> Map:
    return Map((layer_over(map.upper, *entries, **sizes),)).then(map)


def _v4r1(h: int, n: int, phase: int, y: int = 3, stride: int = 2, pad: int = 1) -> Map:
    """Backward data v4r1 in one spatial dim: the input that phase `phase` of the window writes."""
    ho = (h + 2 * pad - y) // stride + 1
    reach = ho + -(-(y - 1) // stride)
    left, right = max(0, pad - (stride - 1)) // stride, min(reach, -(-(pad + h - 1) // stride) + 1)
    before = pad
    after = max(0, stride - 1 + stride * (reach - 1) + 1 - (h + pad))
    padded = layer_over(_dims(n=n, h=h), (P, "n", "n"), (Pad(before, after), "hp", "h"))
    slid = layer_over(padded.upper, (P, "n", "n"), (Embed((1, stride)), "yt ht", "hp"), yt=stride, ht=reach)
    cut = layer_over(
        slid.upper, (P, "n", "n"), (Slice(phase, phase + 1), "yt", "yt"), (Slice(left, right), "ht", "ht")
    )
    return Map((layer_over(cut.upper, (P, "y", "yt"), (Merge(), "gemm_n", "n ht")), cut, slid, padded))


def _views() -> dict[str, Map]:
    """Views of the kernels' kind, constructed here: the proofs do not depend on `imbrex.view`."""
    resnet = _window("nchw", 4, 64, 56, 56, 3, 3, pad=(1, 1))
    strided = _window("nhwc", 4, 32, 28, 28, 3, 3, pad=(1, 1), stride=2)
    lopsided = _window("cnhw", 2, 8, 9, 11, 3, 2, pad=(0, 2), dil=2)
    forward = ((Merge(), "gemm_k", "c y x"), (Merge(), "gemm_n", "n ho wo"))
    by_row = ((Merge(), "gemm_k", "y x c"), (Merge(), "gemm_n", "n ho wo"))
    edge = layer_over(_dims(k=75, m=100), (Pad(0, 5), "k", "k"), (Pad(0, 28), "m", "m"))
    tiled = layer_over(
        edge.upper, (Unmerge(), "kt ki", "k"), (Unmerge(), "wg mi", "m"), kt=10, ki=8, wg=4, mi=32
    )
    two_tile = layer_over(_dims(tile=60), (Sunder(), "sk dp s", "tile"), sk=28, dp=32, s=2)
    return {
        "forward NCHW": _over(resnet, *forward),
        "forward NHWC stride 2": _over(strided, *by_row),
        "forward CNHW dilated, pads 0 and 2": _over(lopsided, *forward),
        "forward NCHW, tiled": _over(
            _over(resnet, *forward), (Unmerge(), "kt ki", "gemm_k"), (Unmerge(), "wg ni", "gemm_n"),
            kt=72, ki=8, wg=98, ni=128,
        ),
        "backward data v1r1": _over(strided, (Merge(), "gemm_m", "c y x"), (Merge(), "gemm_n", "n ho wo")),
        "backward data v4r1, phase 0": _v4r1(56, 4, 0),
        "backward data v4r1, phase 1": _v4r1(56, 4, 1),
        "backward weight": _over(lopsided, (Merge(), "gemm_n", "c y x"), (Merge(), "gemm_k", "n ho wo")),
        "gemm under tiles that overhang": Map((tiled, edge)),
        "two pieces of tiles": _over(
            Map((two_tile,)), (Unmerge(), "p q", "sk"), (P, "dp", "dp"), (P, "s", "s"), p=4, q=7
        ).then(Map((layer_over(_dims(m=5, n=12), (Merge(), "tile", "m n")),))),
    }  # fmt: skip


VIEWS = _views()


