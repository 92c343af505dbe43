"""A covering sweep: for any two axes, every pair of their values that may go together is in some row."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
Pair: TypeAlias = tuple[tuple[str, Any], tuple[str, Any]]
TRIES = 60


def covering(axes: Mapping[str, Sequence[Any]], allowed: Callable[[Row], bool], seed: int = 0) -> list[Row]:
    """Rows, few of them, each with a value of every axis.

    allowed: says of a row with some or all axes whether it may be.  A pair that no row was found for is left
    out, so that a test should look at what is covered.
    """
    rng = random.Random(seed)
    missing = {pair: None for pair in _all_pairs(axes) if allowed(dict(pair))}
    rows: list[Row] = []
    while missing:
        pair = next(iter(missing))
        made = [row for _ in range(TRIES) if (row := _row(dict(pair), axes, allowed, rng))]
        if made:
            rows.append(max(made, key=lambda row: sum(p in missing for p in pairs(row))))
        for covered in [pair, *(pairs(rows[-1]) if made else ())]:
            missing.pop(covered, None)
    return rows


def pairs(row: Row) -> Iterator[Pair]:
    """Every two entries of a row."""
    yield from combinations(sorted(row.items(), key=lambda entry: entry[0]), 2)


def _all_pairs(axes: Mapping[str, Sequence[Any]]) -> Iterator[Pair]:
    for first, second in combinations(sorted(axes), 2):
        yield from (((first, x), (second, y)) for x, y in product(axes[first], axes[second]))


def _row(
    start: Row, axes: Mapping[str, Sequence[Any]], allowed: Callable[[Row], bool], rng: random.Random
) -> Row | None:
    """The start with a random value for each further axis; None where the values chosen allow none."""
    row = dict(start)
    for name in rng.sample(list(axes), len(axes)):
        if name not in row:
            fitting = [value for value in axes[name] if allowed(row | {name: value})]
            if not fitting:
                return None
            row[name] = rng.choice(fitting)
    return row
