"""Search: what is proposed and when, what is remembered, and that it finds what the model alone does not."""

from __future__ import annotations

from collections import Counter
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imbrex.tuner.features import Floats, family_of, features
from imbrex.tuner.search import LOOKED_AT, OPENING, PER_FAMILY, TURN, Search

from .spaces import Point, lawful_space

POINTS, TIMES = lawful_space(300, 0.2, seed=3)
ROWS = features(POINTS)
BY_MODEL = sorted(range(300), key=lambda i: POINTS[i].cycles)


def begun(until: float = 0.0, points: list[Point] = POINTS) -> Search:
    """A search whose opening is measured."""
    search = Search(points, features(points), until=until)
    for index in search.propose(OPENING):
        search.tell(index, TIMES[index])
    return search


def test_the_first_is_the_models_pick_and_seeds_follow() -> None:
    search = Search(POINTS, ROWS, seeds=[BY_MODEL[200], BY_MODEL[0], BY_MODEL[100], BY_MODEL[200]])
    assert search.propose(4)[:3] == [BY_MODEL[0], BY_MODEL[200], BY_MODEL[100]]


def test_the_candidates_order_is_the_models() -> None:
    """The pick may have a price that is not the least, or, where no model prices it, none."""
    points = [Point(p.configuration, inf if i == 0 else 7.0) for i, p in enumerate(POINTS)]
    search = Search(points, features(points))
    assert search.propose(2) == [0, 1]
    search.tell(0, 3.0), search.tell(1, 2.0)
    assert 0 < search.may_gain <= 1


def test_the_opening_is_the_models_order_without_crowding_a_family() -> None:
    found = Search(POINTS, ROWS).propose(OPENING)
    counts = Counter(family_of(POINTS[i].configuration) for i in found)
    assert max(counts.values()) <= PER_FAMILY
    assert found == sorted(found, key=BY_MODEL.index)
    one = [Point(POINTS[i].configuration, POINTS[i].cycles) for i in range(300)]
    family = family_of(one[0].configuration)
    alike = [p for p in one if family_of(p.configuration) == family]
    assert len(Search(alike, features(alike)).propose(100)) == len(alike) > PER_FAMILY


def test_turns_have_places_for_the_model_and_for_what_was_neglected() -> None:
    search = begun()
    assert Counter(TURN) == {"corrected": 5, "model": 2, "family": 1}
    taken = Counter(family_of(POINTS[i].configuration) for i in BY_MODEL if i in set(search.finalists(300)))
    proposed = search.propose(len(TURN))
    left = [i for i in BY_MODEL if i not in search.finalists(300)]
    by_model = proposed[TURN.index("model")]
    assert by_model == next(i for i in left if i not in proposed[: TURN.index("model")])
    neglected = family_of(POINTS[proposed[-1]].configuration)
    assert taken[neglected] == 0 and proposed[-1] in BY_MODEL[:LOOKED_AT]


def test_a_batch_is_the_same_in_one_call_or_in_many() -> None:
    one, many = begun(), begun()
    assert one.propose(16) == [many.propose(1)[0] for _ in range(16)]


def test_control_what_was_measured_decides_what_is_next() -> None:
    other = Search(POINTS, ROWS, until=0.0)
    for index in other.propose(OPENING):
        other.tell(index, TIMES[-index])
    assert begun().propose(8) != other.propose(8)


def test_only_what_was_proposed_or_told_leaves_the_search() -> None:
    search = begun()
    search.tell(BY_MODEL[-1], 5.0)
    rest = search.propose(1000)
    assert len(rest) == len(set(rest)) == 300 - OPENING - 1
    assert BY_MODEL[-1] not in rest
    assert search.propose(1) == []
    assert search.may_gain == 0.0


def test_a_resumed_search_goes_on_where_it_was() -> None:
    first, second = begun(), Search(POINTS, ROWS, until=0.0)
    for index in reversed(first.finalists(OPENING)):
        second.tell(index, TIMES[index])
    assert first.propose(8) == second.propose(8)


def test_the_incumbent_is_read_off_the_labels() -> None:
    search = Search(POINTS, ROWS)
    assert search.incumbent is None and search.finalists(3) == []
    a, b, c = search.propose(3)
    for index, ns in ((a, 10.0), (b, 8.0), (c, 9.0)):
        search.tell(index, ns)
    assert search.finalists(2) == [b, c]
    search.tell(b, 11.0)  # timed again
    assert search.finalists(3) == [c, a, b]
    search.tell(c, None)  # found to be wrong
    assert search.finalists(3) == [a, b]


def test_a_label_that_changes_changes_what_is_next() -> None:
    one, two = begun(), begun()
    one.propose(1), two.propose(1)
    for index in one.finalists(6):
        two.tell(index, 3 * TIMES[index])
    assert one.propose(8) != two.propose(8)


def test_failures_are_no_times() -> None:
    """Of families that always fail less is proposed, and the forecast of times is that of the others."""
    failing = {family_of(POINTS[BY_MODEL[0]].configuration), family_of(POINTS[BY_MODEL[1]].configuration)}

    def proposed(fails: set[str]) -> int:
        search = Search(POINTS, ROWS, until=0.0)
        for _ in range(8):
            for index in search.propose(8):
                search.tell(index, None if family_of(POINTS[index].configuration) in fails else TIMES[index])
        return sum(family_of(POINTS[i].configuration) in failing for i in search._proposed)

    assert proposed(failing) < proposed(set())


def test_where_all_fails_families_take_turns() -> None:
    search = Search(POINTS, ROWS)
    for index in (found := search.propose(40)):
        search.tell(index, None)
    assert search.incumbent is None and search.may_gain == 1.0
    assert max(Counter(family_of(POINTS[i].configuration) for i in found).values()) <= PER_FAMILY
    assert len(search.propose(1000)) == 260


def test_what_takes_much_longer_than_the_best_is_hopeless() -> None:
    search = Search(POINTS, ROWS)
    assert search.hopeless_ns is None
    search.tell(0, 100.0)
    search.tell(1, 120.0)
    assert search.hopeless_ns == pytest.approx(150.0)


def test_the_search_ends_where_little_can_be_gained() -> None:
    """A model that is right: nothing left is faster, and the search sees that long before the end."""
    search = Search(POINTS, ROWS)
    tried = 0
    while batch := search.propose(8):
        for index in batch:
            search.tell(index, 3 * POINTS[index].cycles)
            tried += 1
    assert OPENING <= tried < 100
    assert search.may_gain < 0.05
    assert search.incumbent == BY_MODEL[0]


def regret(times: Floats, found: list[int]) -> float:
    return float(min(times[found]) / times.min() - 1)


@pytest.mark.parametrize("explained", [0.75, 0.0])
def test_it_finds_what_the_models_order_does_not(explained: float) -> None:
    """Where numbers explain what the model is off by, far better; where nothing does, no worse."""
    searched, by_model = [], []
    for seed in range(6):
        points, times = lawful_space(800, 0.3, seed, explained)
        rng = np.random.default_rng(seed)
        search = Search(points, features(points), until=0.0)
        for _ in range(6):
            for index in search.propose(8):
                search.tell(index, times[index] * np.exp(0.02 * rng.normal()))
        searched.append(regret(times, search.finalists(8)))
        by_model.append(regret(times, sorted(range(800), key=lambda i: points[i].cycles)[:48]))
    if explained:
        assert 2 * np.mean(searched) < np.mean(by_model)
    else:
        assert np.mean(searched) < np.mean(by_model) + 0.01


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(OPENING)), st.floats(0.01, 100), st.floats(0.01, 100))
def test_units_and_the_order_of_labels_do_not_matter(order: list[int], clock: float, cycles: float) -> None:
    scaled = [Point(p.configuration, p.cycles * cycles) for p in POINTS]
    one, two = Search(POINTS, ROWS, until=0.0), Search(scaled, features(scaled), until=0.0)
    opening = one.propose(OPENING)
    assert two.propose(OPENING) == opening
    for index in opening:
        one.tell(index, TIMES[index])
    for place in order:
        two.tell(opening[place], clock * TIMES[opening[place]])
    assert one.propose(8) == two.propose(8)
    assert one.may_gain == pytest.approx(two.may_gain, abs=1e-6)
