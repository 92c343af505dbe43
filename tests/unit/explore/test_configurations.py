"""Which candidates the panel of configurations draws, where they are many."""

from __future__ import annotations

from itertools import pairwise

import pytest

from imbrex.explore.panels.configurations import shown_of


@pytest.mark.parametrize("count", [1, 24, 400])
def test_few_are_all_drawn(count: int) -> None:
    assert shown_of(count) == list(range(count))


@pytest.mark.parametrize("count", [401, 999, 100_000])
def test_of_many_the_first_half_and_the_rest_evenly_apart(count: int) -> None:
    ranks = shown_of(count)
    assert len(set(ranks)) == 400
    assert ranks[:201] == list(range(201)) and 0 < count - ranks[-1] <= -(-(count - 200) // 200)
    gaps = {b - a for a, b in pairwise(ranks[200:])}
    assert max(gaps) - min(gaps) <= 1
