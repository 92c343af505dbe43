"""LineStreams: every line of every tile is in one stream, and none is longer than another by two."""

from __future__ import annotations

from collections import Counter

import pytest

from imbrex.view.work.line_stream import LineStreams

CASES = [
    LineStreams(128, 56, 4, 132, 2),
    LineStreams(64, 28, 8, 128, 3),
    LineStreams(3, 7, 2, 6, 2),
    LineStreams(1, 13, 1, 5, 1),
    LineStreams(2, 3, 1, 4, 3),
]


@pytest.mark.parametrize("one", CASES, ids=str)
def test_each_line_is_in_one_stream(one: LineStreams) -> None:
    met: Counter[tuple[int, int]] = Counter()
    first, unit = one.first_line(one.slot, one.consumer), one.unit(one.slot, one.tile)
    for slot in range(one.workgroups):
        for group in range(one.consumers):
            line, end = (int(first.eval({"slot": slot, "group": g})) for g in (group, group + 1))
            assert one.most_lines - 1 <= end - line <= one.most_lines
            lines = range(line, end)
            assert len({x // one.lines for x in lines}) <= one.most_parts
            for x in lines:
                number = int(unit.eval({"slot": slot, "tile": x // one.lines}))
                met[number, x % one.lines] += 1
    units = one.tiles * one.filters
    assert met == Counter({(u, x): 1 for u in range(units) for x in range(one.lines)})


@pytest.mark.parametrize("one", CASES, ids=str)
def test_a_workgroup_keeps_its_part_of_the_filter(one: LineStreams) -> None:
    unit = one.unit(one.slot, one.tile)
    for slot in range(one.workgroups):
        parts = {int(unit.eval({"slot": slot, "tile": t})) % one.filters for t in range(one.tiles)}
        assert len(parts) == 1
