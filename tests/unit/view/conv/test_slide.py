"""Strips of one axis meet the pairs of the convolution, each once; pieces hold what a window reads."""

from __future__ import annotations

from collections import Counter

import pytest

from imbrex.view.conv.slide import Slide

# image, taps, stride, dilation, before, after
AXES = [
    (14, 3, 1, 1, 1, 1),
    (13, 3, 2, 1, 1, 1),
    (16, 2, 3, 1, 1, 0),
    (9, 5, 2, 2, 2, 3),
    (11, 4, 1, 3, 0, 5),
    (28, 7, 1, 1, 3, 3),
    (7, 1, 2, 1, 0, 0),
    (8, 3, 4, 1, 0, 0),
    (5, 3, 2, 3, 3, 3),
]


def slide(axis: tuple[int, ...], strip: int, is_back: bool) -> Slide:
    image, taps, stride, dilation, before, after = axis
    out = (image + before + after - dilation * (taps - 1) - 1) // stride + 1
    read, written = (out, image) if is_back else (image, out)
    return Slide(read, written, taps, stride, dilation, before, min(strip, written), is_back)


def pairs(axis: tuple[int, ...], is_back: bool) -> Counter[tuple[int, int, int]]:
    """(tap, read, written) of the whole axis, from the definition."""
    image, taps, stride, dilation, before, after = axis
    out = (image + before + after - dilation * (taps - 1) - 1) // stride + 1
    found = [(t, o * stride + t * dilation - before, o) for t in range(taps) for o in range(out)]
    return Counter((t, o, i) if is_back else (t, i, o) for t, i, o in found if 0 <= i < image)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("is_back", [False, True])
@pytest.mark.parametrize("strides", [1, 2, 3, 8])
def test_strips_meet_each_pair_once(axis: tuple[int, ...], is_back: bool, strides: int) -> None:
    of = slide(axis, strides * axis[2], is_back)
    met = Counter(
        (tap, read + strip * of.step, written + strip * of.strip)
        for tap in range(of.taps)
        for strip in range(of.strips)
        for read, written in of.met(tap)
        if 0 <= read + strip * of.step < of.read and written + strip * of.strip < of.written
    )
    assert met == pairs(axis, is_back)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("is_back", [False, True])
def test_runs_are_what_is_met(axis: tuple[int, ...], is_back: bool) -> None:
    of = slide(axis, 2 * axis[2], is_back)
    for tap in range(of.taps):
        found = [
            (run.first + i * run.step - 5, run.start + i * run.stride)
            for run in of.runs(tap, -5)
            for i in range(run.length)
        ]
        assert found == list(of.met(tap))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("is_back", [False, True])
@pytest.mark.parametrize("most", [1, 2, 99])
def test_taps_that_are_alike_have_their_runs(axis: tuple[int, ...], is_back: bool, most: int) -> None:
    of = slide(axis, 2 * axis[2], is_back)
    found = {
        some.first + i * some.apart: some.run._replace(first=some.run.first + i * some.step)
        for some in of.alike(-5, most)
        for i in range(some.taps)
    }
    assert found == {tap: run for tap in range(of.taps) for run in of.runs(tap, -5)}
    assert sum(some.taps for some in of.alike(-5, most)) == len(found)
    assert all(some.taps <= most for some in of.alike(-5, most))


@pytest.mark.parametrize(("is_back", "stride", "groups"), [(False, 2, 1), (True, 1, 1), (True, 2, 2)])
def test_taps_go_together_that_meet_the_same_of_a_strip(is_back: bool, stride: int, groups: int) -> None:
    """Those of one phase of the strides of a gradient of images."""
    of = Slide(28, 28, 5, stride, 1, 2, 4, is_back)
    assert [some.taps for some in of.alike(0, 5)] == {1: [5], 2: [3, 2]}[groups]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("vector", [1, 2, 4, 8])
def test_pieces_hold_the_window_and_are_aligned(axis: tuple[int, ...], vector: int) -> None:
    of = slide(axis, 4 * axis[2], False)
    pieces = of.pieces(vector)
    held = {piece.first + i for piece in pieces for i in range(piece.width)}
    assert set(of.reads) <= held
    assert len(held) == sum(piece.width for piece in pieces)
    if vector > 1:
        assert all(piece.first % piece.width == 0 and piece.width <= vector for piece in pieces)


def test_a_row_with_a_place_at_each_end_takes_three_loads() -> None:
    assert [tuple(p) for p in slide((56, 3, 1, 1, 1, 1), 8, False).pieces(8)] == [(-1, 1), (0, 8), (8, 1)]


def test_places_outside_for_all_strips_are_not_read() -> None:
    assert slide((14, 3, 1, 1, 1, 1), 14, False).reads == tuple(range(14))
    assert slide((14, 3, 1, 1, 1, 1), 7, False).reads == tuple(range(-1, 8))


def test_alignment_is_that_of_rows_and_of_steps() -> None:
    assert [slide((size, 3, 1, 1, 1, 1), 4, False).aligned(8) for size in (56, 14, 15)] == [4, 2, 1]
    assert slide((56, 3, 1, 1, 1, 1), 56, False).aligned(8) == 8


def test_strips_of_a_gradient_hold_whole_strides() -> None:
    with pytest.raises(AssertionError, match="cuts a stride"):
        assert slide((16, 3, 2, 1, 1, 1), 3, True).step
