"""Expressions: no value depends on simplification, the bounds hold, and what the laws make equal is equal."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imbrex.index import expr
from imbrex.index.atom import Div, Mod
from imbrex.index.expr import Lin, divide, lin, param, select, var, without_simplification, xor

VARIABLES = {"a": 5, "b": 4, "c": 12, "one": 1}
PARAMS = {"p": (1, 3), "q": (-2, 2)}
DIVISORS = (1, 2, 3, 4, 6, 8, 12)
Tree = tuple[Any, ...]
Function = Callable[..., Any]

# Deterministic, so that a run repeats; `--hypothesis-seed` has no say.  A failure prints its tree.
random_trees = settings(max_examples=250, deadline=None, derandomize=True)


def _grid() -> dict[str, Any]:
    axes = [np.arange(s) for s in VARIABLES.values()]
    axes += [np.arange(low, high + 1) for low, high in PARAMS.values()]
    flat = (g.ravel() for g in np.meshgrid(*axes, indexing="ij"))
    return dict(zip((*VARIABLES, *PARAMS), flat, strict=True))


GRID = _grid()  # every point: 5 * 4 * 12 * 3 * 5 of them


def _branches(child: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    d = st.sampled_from(DIVISORS)
    return st.one_of(
        st.tuples(st.sampled_from(("add", "sub", "mul", "xor", "div by", "mod by")), child, child),
        st.tuples(st.just("scale"), child, st.integers(-6, 12)),
        st.tuples(st.sampled_from(("div", "mod", "div", "mod", "whole", "cut")), child, d),
        st.tuples(st.just("digits"), child, d, d),
        st.tuples(st.just("select"), child, child, child),
    )


LEAVES = st.one_of(
    st.tuples(st.just("name"), st.sampled_from((*VARIABLES, *PARAMS))),
    st.tuples(st.just("const"), st.integers(-20, 40)),
)
TREES = st.recursive(LEAVES, _branches, max_leaves=8)


def _evaluate(tree: Tree, leaf: Mapping[str, Any], choose: Function, flip: Function) -> Any:
    """A tree over any kind of number that has + - * // %; `whole`, `cut` and `digits` are spelt out."""
    kind, *rest = tree
    if kind == "name":
        return leaf[rest[0]]
    if kind == "const":
        return leaf["const"](rest[0])
    x, *more = (_evaluate(r, leaf, choose, flip) if isinstance(r, tuple) else r for r in rest)
    y = more[0] if more else None
    match kind:
        case "add":
            return x + y
        case "sub":
            return x - y
        case "mul" | "scale":
            return x * y
        case "div":
            return x // y
        case "mod":
            return x % y
        case "div by":
            return x // (y % 5 + 1)
        case "mod by":
            return x % (y % 5 + 1)
        case "whole":
            return x // y * y + x % y
        case "cut":
            return x - x // y * y
        case "digits":
            return x // y % more[1] * y + x % y
        case "xor":
            return flip(x % 16, y % 8)
        case "select":
            return choose(x, y, more[1])
        case _:
            raise AssertionError(kind)


def _build(tree: Tree) -> Lin:
    leaves: dict[str, Any] = {n: var(n, s) for n, s in VARIABLES.items()}
    leaves |= {n: param(n, *bounds) for n, bounds in PARAMS.items()}
    return _evaluate(tree, {**leaves, "const": lin}, select, xor)


def _naive(tree: Tree, env: Mapping[str, Any]) -> Any:
    def choose(cond: Any, then: Any, other: Any) -> Any:
        return np.where(np.asarray(cond) >= 0, then, other)

    return _evaluate(tree, {**env, "const": int}, choose, lambda x, y: x ^ y)


def _check(tree: Tree) -> None:
    """Value at every point, bounds, and the same without simplification."""
    want = np.broadcast_to(_naive(tree, GRID), GRID["a"].shape)
    simplified = _build(tree)
    with without_simplification():
        plain = _build(tree)
    for x in (simplified, plain):
        got = np.broadcast_to(x.eval(GRID), want.shape)
        assert (got == want).all(), f"{x} differs at {np.flatnonzero(got != want)[:3]}"
        low, high = x.bounds
        assert low <= want.min() and want.max() <= high, f"{x} leaves its bounds {x.bounds}"
        assert not (want % x.divisor).any() if x.divisor else not want.any()


@random_trees
@given(TREES)
def test_random_expressions_have_the_naive_value_at_every_point(tree: Tree) -> None:
    _check(tree)


@pytest.mark.parametrize("d", [2, 3, 4, 6, 8, 12])
def test_every_small_numerator(d: int) -> None:
    """c1*x + c2*y + k, at the edges of the laws that split off a rest."""
    x, y, env = var("x", 3), var("y", 5), {"x": np.arange(3)[:, None], "y": np.arange(5)}
    for c1, c2, k in itertools.product((-6, 4, 6, 8), (-2, -1, 1, 2, 3, 5), range(-4, 6)):
        num = c1 * x + c2 * y + k
        want = c1 * env["x"] + c2 * env["y"] + k
        for got, naive in zip(divide(num, d), (want // d, want % d), strict=True):
            assert (np.broadcast_to(got.eval(env), (3, 5)) == naive).all(), f"{num} by {d}: {got}"
            divided = [atom.num for atom, _ in got.terms if isinstance(atom, Div | Mod)]
            assert all(x.bounds[0] >= 0 for x in divided), f"{num} by {d}: {got}, and C rounds to zero"
            assert got.bounds[0] <= naive.min() and naive.max() <= got.bounds[1]


@random_trees
@given(TREES, st.integers(0, len(GRID["a"]) - 1))
def test_arrays_and_scalars_have_the_same_value(tree: Tree, at: int) -> None:
    x = _build(tree)
    env = {n: int(v[at]) for n, v in GRID.items()}
    value = x.eval(env)
    assert type(value) is int
    assert value == np.broadcast_to(x.eval(GRID), GRID["a"].shape)[at]


@random_trees
@given(TREES)
def test_the_text_is_unambiguous(tree: Tree) -> None:
    """Python reads the text, `/` taken as floor division, and finds the same values."""
    x = _build(tree)
    if "?" not in x.text:
        got = eval(x.text.replace("/", "//"), {}, GRID)
        assert (np.broadcast_to(got, GRID["a"].shape) == x.eval(GRID)).all(), x.text


@random_trees
@given(TREES, TREES)
def test_substitution_is_evaluation(tree: Tree, inner: Tree) -> None:
    x, y = _build(tree), _build(inner) % VARIABLES["c"]
    got = x.subs({"c": y})
    assert not got.mentions("c") or y.mentions("c")
    env = {**GRID, "c": y.eval(GRID)}
    assert (np.broadcast_to(got.eval(GRID), GRID["a"].shape) == x.eval(env)).all()


TILES = [
    lambda v: v("g", 784),
    lambda v: v("g", 784) - 15,
    lambda v: 28 * v("w", 50) + v("t", 64),
    lambda v: 49 * v("w", 50) + 7 * v("b", 4) + v("c", 12),
    lambda v: 4 * v("w", 50) + v("b", 4),
]
CUTS = st.tuples(st.sampled_from(("//", "%", "+")), st.sampled_from((2, 3, 4, 7, 14, 28, 196)))


@random_trees
@given(st.sampled_from(TILES), st.lists(CUTS, max_size=3), st.sampled_from((2, 3, 4, 7, 14, 28)))
def test_quotient_and_remainder_make_the_whole(
    tile: Callable[[Callable[[str, int], Lin]], Lin], cuts: list[tuple[str, int]], d: int
) -> None:
    """As Python values, not only as numbers."""
    x = tile(var)
    for op, k in cuts:
        x = x // k if op == "//" else x % k if op == "%" else x + k
    q, r = divide(x, d)
    assert q * d + r == x
    assert x - r == q * d


@random_trees
@given(TREES, TREES, TREES)
def test_sums_and_products_do_not_depend_on_order(one: Tree, two: Tree, three: Tree) -> None:
    with without_simplification():
        x, y, z = _build(one), _build(two), _build(three)
        assert x + y == y + x
        assert (x + y) + z == x + (y + z)
        assert (x + y) - y == x
        assert x * y == y * x
        assert (x * y) * z == x * (y * z)
        assert x * (y + z) == x * y + x * z


CONTROLS: dict[str, tuple[str, Function, Tree]] = {
    "a rest outside one period is taken for inside": (
        "_nested",
        lambda x, d: (lin(0), x),
        ("mod", ("add", ("name", "a"), ("name", "c")), 3),
    ),
    "nested quotients lose the factor": (
        "_nested",
        lambda x, d: (expr._atom(Div(x, lin(d))), expr._atom(Mod(x, lin(d + 1)))),
        ("digits", ("name", "c"), 2, 4),
    ),
    "a remainder completes the wrong quotient": (
        "_cut",
        lambda coefs: ((Lin(((q, k),), 0), lin(0)) for q, k in coefs.items() if isinstance(q, Div) and k),
        ("cut", ("add", ("name", "a"), ("name", "c")), 4),
    ),
}


@contextmanager
def _law_replaced(name: str, broken: Function) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        expr._divmod.cache_clear()
        patch.setattr(expr, name, broken)
        try:
            yield
        finally:
            expr._divmod.cache_clear()


@pytest.mark.parametrize("name", CONTROLS)
def test_control_a_broken_law_is_seen(name: str) -> None:
    function, broken, tree = CONTROLS[name]
    _check(tree)
    with _law_replaced(function, broken), pytest.raises(AssertionError, match=r"differs|bounds"):
        _check(tree)


A, B, C = var("a", 5), var("b", 4), var("c", 12)
G, W, T = var("g", 784), var("w", 50), var("t", 64)
P, M, N = param("p", 1, 3), param("m", 3, 9), param("n", 8, 1 << 20)

# expression, its text, its bounds
CANONICAL: list[tuple[Lin | int, str, int, int]] = [
    (A + A, "2*a", 0, 8),
    (A - A, "0", 0, 0),
    (3 - A, "-1*a + 3", -1, 3),
    (C // 1, "c", 0, 11),
    (C % 1, "0", 0, 0),
    (C // 12, "0", 0, 0),
    (C % 12, "c", 0, 11),
    (C % 5, "c % 5", 0, 4),
    (C // 5, "c / 5", 0, 2),
    (A % 8, "a", 0, 4),
    ((A - 8) // 8, "-1", -1, -1),
    ((A - 8) % 8, "a", 0, 4),
    ((12 * B + C) // 12, "b", 0, 3),
    ((12 * B + C) % 12, "c", 0, 11),
    ((12 * B + C) // 4, "3*b + (c / 4)", 0, 11),
    ((12 * B + C) % 4, "c % 4", 0, 3),
    (4 * (C // 4) + C % 4, "c", 0, 11),
    (C - C // 4 * 4, "c % 4", 0, 3),
    (C // 2 - C // 6 * 3, "(c / 2) % 3", 0, 2),
    (2 * C - C // 4 * 4, "c + (c % 4)", 0, 14),
    (C - C // 4 * 8, "(-8*(c / 4)) + c", -16, 11),
    (C // 2 // 3, "c / 6", 0, 1),
    (C // 4 % 2 * 4 + C % 4, "c % 8", 0, 7),
    (C % 8 // 4, "(c / 4) % 2", 0, 1),
    (C % 8 % 4, "c % 4", 0, 3),
    (G // 14 // 14 * 784 + G // 14 % 14 * 14 + G % 14, "(784*(g / 196)) + (g % 196)", 0, 2547),
    (G // 196 * 196 + G // 14 % 14 * 14 + G % 14, "g", 0, 783),
    # the digits of an index that a tile has split already
    ((28 * W + T) // 14 % 14 * 14 + (28 * W + T) % 14, "(28*w + t) % 196", 0, 195),
    ((T + 4 * (W // 2)) // 4, "(t / 4) + (w / 2)", 0, 39),
    ((W // 2 + 3 * A) // 4, "(3*a + (w / 2)) / 4", 0, 9),
    ((W // 2 + 3) // 4, "(w + 6) / 8", 0, 6),
    ((C - A + 4) // 2, "(-1*a + c + 4) / 2", 0, 7),
    ((C - A) % 4, "(-1*a + c + 4) % 4", 0, 3),
    (P * C, "(c) * (p)", 0, 33),
    (A * (B * C), "(a) * ((b) * (c))", 0, 132),
    (C // P, "c / p", 0, 11),
    (C % P, "c % p", 0, 2),
    (A // N, "0", 0, 0),
    (A % N, "a", 0, 4),
    (A // M, "a / m", 0, 1),
    (A % M, "a % m", 0, 4),
    (select(A - 5, B, C), "c", 0, 11),
    (select(A, B, C), "b", 0, 3),
    (select(A - 2, B, C), "(a - 2 >= 0 ? b : c)", 0, 11),
    (select(A - 2, C, C), "c", 0, 11),
    (xor(A, 0), "a", 0, 4),
    (xor(A, A), "0", 0, 0),
    (xor(lin(5), 3), "6", 6, 6),
    (xor(A, C), "a ^ c", 0, 15),
    (xor(xor(A, C), C), "a", 0, 4),
    (xor(A, xor(C, A)), "c", 0, 11),
    (xor(C, A) + 1, "(a ^ c) + 1", 1, 16),
    (xor(A + 1, C) * 2, "2*((a + 1) ^ c)", 0, 30),
    (var("one", 1) + 7, "7", 7, 7),
    (param("fixed", 3, 3) * A, "3*a", 0, 12),
]


@pytest.mark.parametrize(("x", "text", "low", "high"), CANONICAL, ids=[t for _, t, _, _ in CANONICAL])
def test_canonical_form(x: Lin, text: str, low: int, high: int) -> None:
    assert (str(x), x.bounds) == (text, (low, high))


EQUAL: list[tuple[Lin, Lin]] = [
    (A + B + C, C + B + A),
    (xor(A, C), xor(C, A)),
    ((A + C) * P, C * P + A * P),
    (P * A * C, C * (A * P)),
    ((G // 28) % 7, G % 196 // 28),
    (G // 4 // 7, G // 7 // 4),
    (((G + 3) // 4) % 7, (G + 3) % 28 // 4),
    (G - G % 14, G // 14 * 14),
    (G + 14 * (W % 3) - 14 * (W % 3) - G // 14 * 14, G % 14),
    ((T // 2 + 1) // 3, (T + 2) // 6),
    (divide(G, 14)[0] * 14 + divide(G, 14)[1], G),
]


@pytest.mark.parametrize(("one", "other"), EQUAL, ids=[f"{one}" for one, _ in EQUAL])
def test_equal_indices_are_equal_values(one: Lin, other: Lin) -> None:
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [(A, A + 1), (A, B), (A, 2 * A), (A, var("a", 6)), (C // 5, C % 5), (var("p", 4), param("p", 0, 3))],
)
def test_different_indices_are_different_values(one: Lin, other: Lin) -> None:
    assert one != other


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 7), min_size=1, max_size=4), st.integers(1, 9), st.integers(0, 5))
def test_bounds_of_mixed_radix_forms_are_tight(sizes: list[int], d: int, shift: int) -> None:
    total = int(np.prod(sizes))
    x, at = var("x", total), {"x": np.arange(total)}
    forms = [x // d, x % d, x // d % 3, (x + shift) // d]
    if total % d == 0:
        forms.append(x // d * (d + 2) + x % d)  # rows of d, two elements apart
    rest = x
    for size in reversed(sizes):
        rest, digit = divide(rest, size)
        assert digit.bounds == (0, size - 1)
        forms.append(digit)
    pieces = [var(f"u{i}", s) for i, s in enumerate(sizes)]
    merged = sum((u * 10**i for i, u in enumerate(pieces)), lin(0))
    assert merged.bounds == (0, sum((s - 1) * 10**i for i, s in enumerate(sizes)))
    for form in forms:
        values = np.asarray(form.eval(at))
        assert form.bounds == (values.min(), values.max()), form


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: A // 0, "index divisor must be positive, got 0"),
        (lambda: A % 0, "index divisor must be positive, got 0"),
        (lambda: A // -2, "index divisor must be positive, got -2"),
        (lambda: A % -1, "index divisor must be positive, got -1"),
        (lambda: A // B, "index divisor must be positive, got b"),
        (lambda: divide(7, A - 1), "index divisor must be positive, got a - 1"),
        (lambda: (C // P).subs({"p": A}), "index divisor must be positive, got a"),
        (lambda: xor(A - 1, C), "xor needs non-negative indices, got a - 1 and c"),
        (lambda: var("x", 0), "index 'x' needs at least one value, got size 0"),
        (lambda: var("x", -3), "index 'x' needs at least one value, got size -3"),
        (lambda: param("n", 4, 3), "parameter 'n' has no value between 4 and 3"),
    ],
)
def test_errors(make: Callable[[], Lin], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value) == message


def test_numpy_integers_count_as_integers() -> None:
    big = np.int64(1 << 40)
    assert (A * big * big).bounds == (0, 4 << 80)
    assert A * np.int64(2) + np.int64(3) == 2 * A + 3


def test_names_and_divisors() -> None:
    x = C % P + A // 2
    assert x.variables == {"a", "c", "p"}
    assert x.mentions("c") and not x.mentions("b")
    assert [y.divisor for y in (lin(0), lin(-6), 4 * A + 6 * B, 4 * A + 8, A + 4)] == [0, 6, 2, 4, 1]


def test_without_simplification_ends_with_its_block() -> None:
    with pytest.raises(RuntimeError), without_simplification():
        assert str(12 * A // 4) == "(12*a) / 4"
        raise RuntimeError
    assert str(12 * A // 4) == "3*a"


def test_a_pickled_index_is_found_by_another_process() -> None:
    x = G // 14 % 14 * 14 + xor(A, C) * P
    program = (
        "import pickle, sys; from imbrex.index.expr import *;"
        "x = pickle.loads(sys.stdin.buffer.read());"
        "y = var('g', 784) // 14 % 14 * 14 + xor(var('a', 5), var('c', 12)) * param('p', 1, 3);"
        "sys.exit(0 if x == y and {x: 1}.get(y) and x - y == lin(0) else 1)"
    )
    env = {**os.environ, "PYTHONHASHSEED": "1234"}
    hash(x)
    assert subprocess.run([sys.executable, "-c", program], input=pickle.dumps(x), env=env).returncode == 0


@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(1, 9))
def test_the_greater_and_the_lesser_of_two_know_their_bounds(low: int, limit: int, size: int) -> None:
    x = param("x", low, low + size)
    greater, lesser = select(x - limit, x, lin(limit)), select(limit - x, x, lin(limit))
    for value in range(low, low + size + 1):
        assert greater.eval({"x": value}) == max(value, limit) >= greater.bounds[0]
        assert lesser.eval({"x": value}) == min(value, limit) <= lesser.bounds[1]
    assert greater.bounds == (max(low, limit), max(low + size, limit))
    assert lesser.bounds == (min(low, limit), min(low + size, limit))


def test_a_variable_is_one_object() -> None:
    """Of a name and a size: another size is another variable, whatever was asked before."""
    assert var("i", 4) is var("i", 4)
    assert var("i", 5) != var("i", 4) != var("j", 4) and var("i", 5).bounds == (0, 4)
    with pytest.raises(ValueError, match="at least one value, got size 0"):
        var("i", 0)
