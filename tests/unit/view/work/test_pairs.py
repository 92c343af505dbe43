"""Loops that take k tiles two at a time: every tile is met once, by bounds that stay below their sizes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from imbrex.index.expr import lin, var
from imbrex.view.work.pairs import BOUNDS, bound, size

K = 40


@given(st.integers(0, K - 1), st.integers(1, K))
def test_every_tile_is_met_once(first: int, count: int) -> None:
    count = min(count, K - first)
    env = {"first": first, "count": count}
    found = {name: int(bound(name, var("first", K), var("count", K + 1)).eval(env)) for name in BOUNDS}
    assert all(found[name] < size(name, K) for name in BOUNDS)
    done: list[int] = []
    for step in range(first, found["pairs"], 2):
        done += [step, step + 1]
    if found["even"]:
        assert found["rest"] == first + len(done)
        done += [found["rest"], found["rest"] + 1]
    if found["odd"]:
        done.append(found["whole"])
    assert found["even"] + found["odd"] == 1
    assert done == list(range(first, first + count))


@given(st.integers(0, K - 1), st.integers(1, K), st.integers(2, 6))
def test_every_tile_is_met_once_in_turns(first: int, count: int, turn: int) -> None:
    """Whole turns, then one tile for each `more` that is 1; no tile past the last is asked for."""
    count = min(count, K - first)
    env = {"first": first, "count": count}
    start, size_ = var("first", K), var("count", K + 1)
    end = int(bound("turns", start, size_, turn).eval(env))
    assert first <= end < size("turns", K)
    more = [int(bound("more", lin(place), size_, turn).eval(env)) for place in range(turn - 1)]
    assert [*range(first, end), *(end + i for i, is_one in enumerate(more) if is_one)] == [
        *range(first, first + count)
    ]
    assert int(bound("lesser", start, size_).eval(env)) == min(first, count)
