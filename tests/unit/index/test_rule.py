"""Rules: each law at every point of small dims, every message, and each inverse both ways round."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from math import prod

import pytest

from imbrex.index import rule as rules
from imbrex.index.expr import lin, param, var
from imbrex.index.map import Dim, Layer, Map, Step
from imbrex.index.rule import (
    COUNT,
    Broadcast,
    Deal,
    Embed,
    Fixed,
    Group,
    Guard,
    Merge,
    Pad,
    PassThrough,
    Prefix,
    Quotient,
    Rule,
    Slice,
    Sunder,
    Undeal,
    Unfold,
    Ungroup,
    Unmerge,
    Xor,
)

Sizes = tuple[int, ...]
Law = Callable[[Rule, Sequence[int], Sequence[int], Sequence[int]], "tuple[int, ...] | None"]

# rows in a group, places, the grid; then ways, places: whole, ragged, one, more than there are
GRIDS = [
    (2, 24, (6, 4)),
    (4, 42, (6, 7)),
    (4, 15, (5, 3)),
    (9, 15, (5, 3)),
    (1, 6, (3, 2)),
    (2, 5, (5, 1)),
    (3, 7, (1, 7)),
]
HANDS = [(4, 12), (8, 43), (3, 10), (7, 7), (9, 4), (1, 5), (2, 1)]

# rule, upper sizes, lower sizes
CASES: list[tuple[Rule, Sizes, Sizes]] = [
    (PassThrough(), (5,), (5,)),
    (PassThrough(), (1,), (1,)),
    (Pad(0, 0), (5,), (5,)),
    (Pad(2, 1), (8,), (5,)),
    (Pad(0, 3), (8,), (5,)),
    (Pad(3, 0), (4,), (1,)),
    (Prefix(1), (5,), (5,)),
    (Prefix(3), (5,), (5,)),
    (Slice(0, 5), (5,), (5,)),
    (Slice(2, 4), (2,), (5,)),
    (Slice(4, 5), (1,), (5,)),
    (Embed((1, 1)), (3, 6), (8,)),
    (Embed((2, 3)), (3, 4), (14,)),
    (Embed((2, 1)), (2, 4), (6,)),
    (Embed((-1, 1), 2), (3, 6), (8,)),
    (Embed((-2,), 8), (5,), (9,)),
    (Embed((3,), 1), (4,), (12,)),
    (Embed((0, 1)), (3, 4), (4,)),
    (Embed((4, 2, 1)), (2, 2, 2), (8,)),
    (Quotient(3, 1), (12,), (4,)),
    (Quotient(2), (9,), (3,)),
    (Quotient(-2, 8), (9,), (5,)),
    (Quotient(1, 2), (5,), (9,)),
    (Unmerge(), (2, 3, 4), (24,)),
    (Unmerge(), (1, 5, 1), (5,)),
    (Unmerge(), (6,), (6,)),
    (Merge(), (24,), (2, 3, 4)),
    (Merge(), (5,), (1, 5, 1)),
    (Merge(), (6,), (6,)),
    (Unfold(), (12,), (3, 4)),
    (Broadcast(), (4,), ()),
    (Broadcast(), (1,), ()),
    (Fixed(3), (), (5,)),
    (Fixed(0), (), (1,)),
    (Sunder(), (3, 5, 2), (8,)),
    (Sunder(), (2, 4, 3, 3), (9,)),
    (Xor(), (5, 8), (5, 8)),
    (Xor(2), (16, 4), (16, 4)),
    (Xor(), (3, 1), (3, 1)),
    *(
        (rule(rows), *((n,), g)[:: 1 if rule is Group else -1])
        for rule in (Group, Ungroup)
        for rows, n, g in GRIDS
    ),
    *((rule(ways), (n,), (n,)) for rule in (Deal, Undeal) for ways, n in HANDS),
]
IDS = [f"{rule} {upper} {lower}" for rule, upper, lower in CASES]


def _exists(guards: Sequence[Guard], env: dict[str, int]) -> bool:
    return all(0 <= g.index.eval(env) < lin(g.size).eval(env) for g in guards)


def _count(rule: Rule) -> dict[str, int]:
    """The run-time size, as the naive law has it."""
    return {COUNT: rule.least + 1} if isinstance(rule, Prefix) else {}


def _wrong_points(rule: Rule, upper: Sizes, lower: Sizes, law: Law) -> list[Sizes]:
    """Upper points where the rule, at constants or at variables, says other than the naive law.

    A piece of a Sunder that is not selected may have any coordinate, so every point counts.
    """
    names = [f"u{i}" for i in range(len(upper))]
    symbolic = rules.lower(rule, [var(n, s) for n, s in zip(names, upper, strict=True)], upper, lower)
    wrong: list[Sizes] = []
    for u in itertools.product(*map(range, upper)):
        want = law(rule, u, upper, lower)
        env = dict(zip(names, u, strict=True)) | _count(rule)
        constant = rules.lower(rule, [lin(x) for x in u], upper, lower)
        for out in (symbolic, constant):
            got = tuple(x.eval(env) for x in out.coords) if _exists(out.guards, env) else None
            if got != want:
                wrong.append(u)
    return wrong


@pytest.mark.parametrize(("rule", "upper", "lower"), CASES, ids=IDS)
def test_law_at_every_point(rule: Rule, upper: Sizes, lower: Sizes, law: Law) -> None:
    assert rules.flaw(rule, upper, lower) is None
    assert _wrong_points(rule, upper, lower, law) == []


@pytest.mark.parametrize(
    ("rule", "other", "upper", "lower"),
    [
        (Pad(2, 1), Pad(1, 2), (8,), (5,)),
        (Slice(1, 3), Slice(2, 4), (2,), (5,)),
        (Embed((2, 3)), Embed((3, 2)), (3, 3), (11,)),
        (Merge(), Unfold(), (12,), (4, 3)),
        (Xor(), Xor(2), (8, 4), (8, 4)),
        (Fixed(1), Fixed(2), (), (3,)),
        (Group(2), Group(3), (12,), (4, 3)),
        (Ungroup(2), Ungroup(3), (4, 3), (12,)),
        (Deal(2), Deal(3), (7,), (7,)),
        (Undeal(2), Undeal(3), (7,), (7,)),
    ],
)
def test_control_another_law_is_seen(rule: Rule, other: Rule, upper: Sizes, lower: Sizes, law: Law) -> None:
    def wrong(_: Rule, u: Sequence[int], up: Sequence[int], low: Sequence[int]) -> Sizes | None:
        return law(other, u, up, low[::-1])

    assert _wrong_points(rule, upper, lower, wrong)


@pytest.mark.parametrize(("rule", "upper", "lower"), CASES, ids=IDS)
def test_sizes_that_the_rule_settles(rule: Rule, upper: Sizes, lower: Sizes) -> None:
    assert rules.upper_sizes(rule, lower) in (None, upper)


def test_a_pad_guards_only_the_sides_that_can_fail() -> None:
    def guards(rule: Rule, upper: int, lower: int) -> list[str]:
        return [str(g) for g in rules.lower(rule, [var("u", upper)], (upper,), (lower,)).guards]

    assert guards(Pad(0, 0), 5, 5) == []
    assert guards(Pad(2, 1), 8, 5) == ["0 <= u - 2 < 5"]
    # what is asked lies inside although the dim is padded
    inside = rules.lower(Pad(2, 2), [var("v", 5) + 2], (9,), (5,))
    assert inside.guards == () and str(inside.coords[0]) == "v"
    assert guards(Quotient(2, 1), 7, 3) == ["0 <= (u + 1) % 2 < 1", "0 <= ((u + 1) / 2) - 1 < 3"]


FLAWS: list[tuple[Rule, Sizes, Sizes, str]] = [
    (PassThrough(), (4,), (5,), "makes upper size [5] of lower size [5], got [4]"),
    (PassThrough(), (4, 4), (4,), "takes 1 upper dimension, got 2"),
    (PassThrough(), (4,), (), "takes 1 lower dimension, got 0"),
    (Pad(1, 1), (6,), (5,), "makes upper size [7] of lower size [5], got [6]"),
    (Pad(-1, 1), (5,), (5,), "needs non-negative pads, got -1 and 1"),
    (Pad(1, -1), (5,), (5,), "needs non-negative pads, got 1 and -1"),
    (Prefix(0), (5,), (5,), "needs at least one coordinate and at most 5, got 0"),
    (Prefix(6), (5,), (5,), "needs at least one coordinate and at most 5, got 6"),
    (Prefix(2), (4,), (5,), "makes upper size [5] of lower size [5], got [4]"),
    (Slice(1, 3), (3,), (5,), "makes upper size [2] of lower size [5], got [3]"),
    (Slice(3, 6), (3,), (5,), "takes [3, 6) of a dimension of size 5"),
    (Slice(-1, 2), (3,), (5,), "takes [-1, 2) of a dimension of size 5"),
    (Slice(2, 2), (0,), (5,), "takes [2, 2) of a dimension of size 5"),
    (Embed((1, 1)), (3, 6), (7,), "reaches [0, 7] of a dimension of size 7"),
    (Embed((-1, 1)), (3, 6), (8,), "reaches [-2, 5] of a dimension of size 8"),
    (Embed((1,), -1), (3,), (8,), "reaches [-1, 1] of a dimension of size 8"),
    (Embed((1, 1)), (3,), (8,), "takes 2 upper dimensions, got 1"),
    (Quotient(0), (3,), (3,), "needs a coefficient other than 0"),
    (Unmerge(), (2, 3), (7,), "makes lower size 6 of upper size [2, 3], got 7"),
    (Unmerge(), (), (1,), "takes one or more upper dimensions, got 0"),
    (Merge(), (7,), (2, 3), "makes upper size [6] of lower size [2, 3], got [7]"),
    (Merge(), (2, 3), (6,), "takes 1 upper dimension, got 2"),
    (Merge(), (1,), (), "takes one or more lower dimensions, got 0"),
    (Unfold(), (7,), (2, 3), "makes upper size [6] of lower size [2, 3], got [7]"),
    (Broadcast(), (3,), (3,), "takes 0 lower dimensions, got 1"),
    (Fixed(5), (), (5,), "holds coordinate 5 of a dimension of size 5"),
    (Fixed(-1), (), (5,), "holds coordinate -1 of a dimension of size 5"),
    (Fixed(0), (1,), (5,), "takes 0 upper dimensions, got 1"),
    (Sunder(), (3, 5, 2), (9,), "needs pieces that add up to 9 and a selector over them, got [3, 5, 2]"),
    (Sunder(), (3, 5, 3), (8,), "needs pieces that add up to 8 and a selector over them, got [3, 5, 3]"),
    (Sunder(), (8,), (8,), "needs pieces that add up to 8 and a selector over them, got [8]"),
    (Xor(), (4, 6), (4, 6), "needs a power of two columns and a positive step, got 6 and 1"),
    (Xor(0), (4, 8), (4, 8), "needs a power of two columns and a positive step, got 8 and 0"),
    (Xor(), (4, 8), (8, 4), "makes upper size [8, 4] of lower size [8, 4], got [4, 8]"),
    (Xor(), (8,), (8,), "takes 2 upper dimensions, got 1"),
    (Group(0), (6,), (2, 3), "needs at least one row in a group, got 0"),
    (Group(2), (7,), (2, 3), "makes upper size [6] of lower size [2, 3], got [7]"),
    (Ungroup(0), (2, 3), (6,), "needs at least one row in a group, got 0"),
    (Ungroup(2), (2, 3), (7,), "makes lower size 6 of upper size [2, 3], got 7"),
    (Deal(0), (6,), (6,), "needs at least one way to deal, got 0"),
    (Undeal(0), (6,), (6,), "needs at least one way to deal, got 0"),
]


@pytest.mark.parametrize(("rule", "upper", "lower", "message"), FLAWS, ids=[f"{f[0]}: {f[3]}" for f in FLAWS])
def test_flaws(rule: Rule, upper: Sizes, lower: Sizes, message: str) -> None:
    assert rules.flaw(rule, upper, lower) == message


ONE_WAY = [
    (rule, upper, lower)
    for rule, upper, lower in CASES
    if (isinstance(rule, Embed) and len(rule.coefs) > 1)
    or (isinstance(rule, Broadcast) and upper != (1,))
    or (isinstance(rule, Fixed) and lower != (1,))
    or isinstance(rule, Sunder | Prefix)
    or rule == Quotient(1, 2)  # its way back would leave the dim
]
BOTH_WAYS = [case for case in CASES if case not in ONE_WAY]


def _map(rule: Rule, upper: Sizes, lower: Sizes) -> Map:
    up = tuple(Dim(f"u{i}", s) for i, s in enumerate(upper))
    low = tuple(Dim(f"l{i}", s) for i, s in enumerate(lower))
    return Map((Layer(up, low, (Step(rule, tuple(d.name for d in up), tuple(d.name for d in low)),)),))


def _lower(map: Map, point: Sequence[int]) -> Sizes | None:
    at = map.at(point)
    return tuple(x.const for x in at.coords) if _exists(at.guards, {}) else None


@pytest.mark.parametrize(("rule", "upper", "lower"), BOTH_WAYS)
def test_inverse_both_ways_round(rule: Rule, upper: Sizes, lower: Sizes) -> None:
    """down then up is the identity where down exists; up then down is the identity where up exists."""
    down = _map(rule, upper, lower)
    up = down.inverse()
    assert (down.upper, down.lower) == (up.lower, up.upper)
    met: set[Sizes] = set()
    for u in itertools.product(*map(range, upper)):
        if (low := _lower(down, u)) is not None:
            assert _lower(up, low) == u
            met.add(low)
    for low in itertools.product(*map(range, lower)):
        u = _lower(up, low)
        assert (u is not None) == (low in met), "the inverse exists where the rule arrives"
        assert u is None or _lower(down, u) == low


@pytest.mark.parametrize(("rule", "upper", "lower"), ONE_WAY)
def test_no_inverse(rule: Rule, upper: Sizes, lower: Sizes) -> None:
    assert rules.inverse(rule, upper, lower) is None
    with pytest.raises(ValueError, match=rf"'{type(rule).__name__.lower()}' of '.*' has no inverse"):
        _map(rule, upper, lower).inverse()


@pytest.mark.parametrize("rows", range(1, 9))
def test_a_runtime_number_of_rows_gives_the_same_order(rows: int) -> None:
    """One kernel, a new value a launch."""
    given = param("rows", 1, 8)
    for sizes in ((6, 8), (5, 3), (1, 4), (7, 1)):
        place = var("u", prod(sizes))
        symbolic = rules.lower(Group(given), [place], (prod(sizes),), sizes)
        back = rules.lower(Ungroup(given), list(symbolic.coords), sizes, (prod(sizes),))
        for u in range(prod(sizes)):
            baked = rules.lower(Group(rows), [lin(u)], (prod(sizes),), sizes)
            env = {"rows": rows, "u": u}
            assert [x.eval(env) for x in symbolic.coords] == [x.const for x in baked.coords]
            assert back.coords[0].eval(env) == u


def test_every_rule_is_in_the_table() -> None:
    assert {type(rule) for rule, _, _ in CASES} == set(Rule.__args__)
    assert {type(rule) for rule, *_ in FLAWS} == set(Rule.__args__)
    assert {type(rule) for rule, *_ in (*ONE_WAY, *BOTH_WAYS)} == set(Rule.__args__)
    assert all(prod(upper) <= 200 for _, upper, _ in CASES), "every point is tried"
