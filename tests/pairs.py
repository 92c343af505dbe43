"""Few cases of many: of a test with three parameters and more those that have every pair of values between
them, of other tests those that a function here names, and of all that take long (thinned.txt) every second
or third one.

What breaks a kernel is seldom one case alone, and never needs all.  IMBREX_TESTS=all runs every case.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

import pytest

__all__ = ["fewest", "in_turn", "keep_few", "one_in", "one_of", "seen_here", "thinned"]

THINNED = Path(__file__).with_name("thinned.txt")
"""Functions of tests, `unit.test_x.test_y`, that all together take half of the time of all."""
MANY = 8
"""Cases of a function of which every third one runs, of fewer every other one."""

Pairs = frozenset[tuple[tuple[Any, str], ...]]
Row = TypeVar("Row")


def keep_few(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects the cases whose pairs others have, then of functions that take long most cases; none where
    nothing else would be left.
    """
    if os.environ.get("IMBREX_TESTS") == "all":
        return
    for gone in (_with_pairs_of_others, _too_many):
        dropped = gone(items)
        if dropped and len(dropped) < len(items):
            config.hook.pytest_deselected(items=[item for item in items if item in dropped])
            items[:] = [item for item in items if item not in dropped]


def thinned() -> frozenset[str]:
    """The functions of whose cases few run."""
    return frozenset(line for line in THINNED.read_text("utf-8").splitlines() if not line.startswith("#"))


def _too_many(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """All but each second or third case of the functions of thinned.txt, in an order that says nothing of
    parameters.
    """
    cases, names = defaultdict[str, list[pytest.Item]](list), thinned()
    for item in items:
        path, _, rest = item.nodeid.partition("[")[0].partition(".py::")
        name = f"{path.removeprefix('tests/').replace('/', '.')}.{rest.rpartition('::')[2]}"
        if name in names:
            cases[name].append(item)
    in_order = (sorted(of, key=lambda item: crc32(item.nodeid.encode())) for of in cases.values())
    return {item for of in in_order for i, item in enumerate(of) if i % (3 if len(of) >= MANY else 2)}


def _with_pairs_of_others(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    cases: dict[str, dict[pytest.Item, Pairs]] = {}
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and len(callspec.params) > 2:
            values = [(key, str(value)) for key, value in sorted(callspec.params.items())]
            of_test = cases.setdefault(item.nodeid.partition("[")[0], {})
            of_test[item] = frozenset(combinations(values, 2))
    return {item for of_test in cases.values() for item in of_test.keys() - _fewest(of_test)}


def seen_here(cases: Iterable[str], elsewhere: Collection[str]) -> list[str]:
    """The cases but those whose like another test sees; all of them with IMBREX_TESTS=all."""
    found = list(cases)
    assert set(elsewhere) <= set(found), set(elsewhere) - set(found)
    return [case for case in found if case not in elsewhere or os.environ.get("IMBREX_TESTS") == "all"]


def in_turn(*values: Sequence[Any], whole: Collection[Any] = ()) -> list[tuple[Any, ...]]:
    """Rows of a value of each parameter: the next of one with the next of the others, until all were there.

    whole: values that meet every other, such as the hardest shape.  All rows with IMBREX_TESTS=all.
    """
    rows = dict(zip(product(*(range(len(v)) for v in values)), product(*values), strict=True))
    if os.environ.get("IMBREX_TESTS") == "all":
        return list(rows.values())
    turn = {tuple(i % len(v) for v in values) for i in range(max(map(len, values)))}
    return [row for at, row in rows.items() if at in turn or any(value in whole for value in row)]


def fewest(rows: Mapping[Row, Sequence[object]]) -> list[Row]:
    """Those of few rows that have every pair of values of any two columns; all with IMBREX_TESTS=all."""
    if os.environ.get("IMBREX_TESTS") == "all":
        return list(rows)
    kept = _fewest({of: frozenset(combinations(enumerate(map(str, row)), 2)) for of, row in rows.items()})
    return [of for of in rows if of in kept]


def one_of(values: Sequence[Row], turn: int) -> list[Row]:
    """The next of the values at each turn; all of them with IMBREX_TESTS=all."""
    return list(values if os.environ.get("IMBREX_TESTS") == "all" else [values[turn % len(values)]])


def one_in(count: int, rows: Sequence[Row], turn: int = 0) -> list[Row]:
    """The row of that turn and each `count`-th after it; all of them with IMBREX_TESTS=all."""
    return list(rows if os.environ.get("IMBREX_TESTS") == "all" else rows[turn % count :: count])


def _fewest(cases: Mapping[Row, Pairs]) -> set[Row]:
    """Few of the cases that show every pair that any of them shows, always the same ones."""
    left = set[tuple[tuple[Any, str], ...]]().union(*cases.values())
    kept: set[Row] = set()
    while left:
        best = max(cases, key=lambda case: len(cases[case] & left))
        kept.add(best)
        left -= cases[best]
    return kept
