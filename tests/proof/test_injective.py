"""Where a kernel stores without atomics, no two of its points meet: proved for every pair at once."""

from __future__ import annotations

import itertools

import pytest

from imbrex.index import query
from imbrex.index.map import Map
from imbrex.index.query import is_injective

from .presburger import shared_offset
from .views import PHASES, VIEWS, scatter


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_the_query_agrees_with_isl(view: Map, monkeypatch: pytest.MonkeyPatch) -> None:
    """By proof alone: not one point is tried, and yet no answer is weaker than it need be."""
    monkeypatch.setattr(query, "EXHAUSTIVE_POINTS", 0)
    assert is_injective(view) == (shared_offset(view) is None)


def test_both_answers_occur() -> None:
    assert {is_injective(view) for view in VIEWS.values()} == {True, False}


@pytest.mark.parametrize(("window", "dilation"), [(1, 1), (2, 1), (3, 1), (5, 1), (2, 3), (3, 2)])
def test_backward_data_stores_where_the_stride_steps_over_the_window(window: int, dilation: int) -> None:
    """`stride >= dilation * (window - 1) + 1` suffices; control: one less, undilated, collides."""
    reach = dilation * (window - 1) + 1
    for stride in (reach, reach + 1, reach + 3):
        view = scatter(window=window, stride=stride, dilation=dilation)
        assert shared_offset(view) is None and is_injective(view)
    if dilation == 1 and window > 1:
        view = scatter(window=window, stride=reach - 1, dilation=1)
        assert shared_offset(view) and not is_injective(view)


@pytest.mark.parametrize(
    ("window", "stride", "dilation"), list(itertools.product((2, 3), (1, 2, 3, 4), (1, 2, 3, 4)))
)
def test_overlapping_windows_are_decided_as_isl_does(window: int, stride: int, dilation: int) -> None:
    view = scatter(window=window, stride=stride, dilation=dilation)
    assert is_injective(view) == (shared_offset(view) is None)


def test_phases_of_backward_data_never_meet() -> None:
    """Kernels of v4r1 store side by side: each is injective, and no two share an element."""
    stores = [phase.c for phase in PHASES]
    assert len(stores) == 4
    assert all(shared_offset(store) is None for store in stores)
    for one, other in itertools.combinations(stores, 2):
        assert shared_offset(one, other) is None
    assert shared_offset(stores[0], stores[0]), "control: a phase meets itself"
