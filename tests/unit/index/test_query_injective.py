"""Injectivity: a proof is never wrong, small maps are exact, and what kernels store through is proved."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imbrex.index import query
from imbrex.index.map import Dim, Layer, Map, Step, layer_over
from imbrex.index.query import is_injective
from imbrex.index.rule import Embed, Merge, Pad, PassThrough, Slice, Sunder

P = PassThrough()
Maps = st.SearchStrategy[Map]
random_maps = settings(max_examples=200, deadline=None, derandomize=True)


def _dims(**sizes: int) -> tuple[Dim, ...]:
    return tuple(Dim(n, s) for n, s in sizes.items())


def _one(rule: Any, lower: int, upper: str = "u", **sizes: int) -> Map:
    return Map((layer_over(_dims(x=lower), (rule, upper, "x"), **sizes),))


def _collides(map: Map) -> bool:
    """Do two upper points that exist share their lower point?"""
    grid = np.indices([d.size for d in map.upper])
    coords, valid = map.evaluate(list(grid))
    offset = np.zeros(grid[0].shape, dtype=np.int64)
    for x, d in zip(coords, map.lower, strict=True):
        offset = offset * d.size + x
    kept = offset[np.broadcast_to(valid, offset.shape)]
    return len(np.unique(kept)) != kept.size


@pytest.fixture
def by_proof_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "EXHAUSTIVE_POINTS", 0)


@random_maps
@given(st.data())
def test_injectivity_of_small_maps_is_exact(maps: Maps, data: st.DataObject) -> None:
    map = data.draw(maps)
    assert is_injective(map) == (not _collides(map))


def test_injective_by_proof_is_injective(maps: Maps, by_proof_alone: None) -> None:
    proved = Counter[bool]()

    @random_maps
    @given(st.data())
    def check(data: st.DataObject) -> None:
        map = data.draw(maps)
        if is_injective(map):
            assert not _collides(map)
        proved[is_injective(map)] += 1

    check()
    assert min(proved.values()) > 20, "both answers are met"


def test_two_terms_are_decided_exactly(by_proof_alone: None) -> None:
    for c1, c2, n1, n2 in itertools.product(range(-4, 5), range(5), range(1, 6), range(1, 5)):
        offset = -min(c1, 0) * (n1 - 1)
        size = offset + max(c1, 0) * (n1 - 1) + c2 * (n2 - 1) + 1
        map = _one(Embed((c1, c2), offset), size, "a b", a=n1, b=n2)
        assert is_injective(map) == (not _collides(map)), (c1, c2, n1, n2)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=4))
def test_a_few_terms_are_decided_exactly(terms: list[tuple[int, int]]) -> None:
    sizes = {f"u{i}": n for i, (_, n) in enumerate(terms)}
    size = 1 + sum(c * (n - 1) for c, n in terms)
    map = _one(Embed(tuple(c for c, _ in terms)), size, " ".join(sizes), **sizes)
    assert is_injective(map) == (not _collides(map))


def _scatter(h: int, window: int, pad: int, stride: int, dil: int, n: int = 1, c: int = 1) -> Map:
    """Backward data v1r1: where the product (c y, n ho) is added up."""
    ho = (h + 2 * pad - dil * (window - 1) - 1) // stride + 1
    padded = layer_over(_dims(n=n, c=c, h=h), (P, "n", "n"), (P, "c", "c"), (Pad(pad, pad), "hp", "h"))
    slid = layer_over(
        padded.upper, (P, "n", "n"), (P, "c", "c"), (Embed((dil, stride)), "y ho", "hp"), y=window, ho=ho
    )
    return Map((layer_over(slid.upper, (Merge(), "m", "c y"), (Merge(), "n", "n ho")), slid, padded))


def test_backward_data_stores_where_the_stride_steps_over_the_window(by_proof_alone: None) -> None:
    proved = 0
    for window, stride, dil, pad in itertools.product((1, 2, 3, 5), (1, 2, 3, 4, 5), (1, 2, 3), (0, 1)):
        map = _scatter(21, window, pad, stride, dil, n=2, c=3)
        if stride >= dil * (window - 1) + 1:
            assert is_injective(map)
        if is_injective(map):
            proved += 1
            assert not _collides(map)
        elif not pad:
            assert _collides(map), (window, stride, dil)
    assert proved > 30


def test_large_maps_are_proved_without_points() -> None:
    assert is_injective(_scatter(1 << 20, 3, 1, 3, 1, n=64, c=64))
    assert is_injective(_scatter(1 << 20, 2, 1, 2, 3, n=64, c=64)), "odd and even positions"
    assert not is_injective(_scatter(1 << 20, 3, 1, 2, 1, n=64, c=64))


def test_a_slice_above_a_window_leaves_one_phase() -> None:
    """Backward data v4r1: of the window's positions, one phase; the rest do not collide with it."""
    h, out = 1 << 32, 1 << 31
    window = layer_over(_dims(h=h + 2), (Embed((1, 2)), "y ho", "h"), y=3, ho=out)
    one = layer_over(window.upper, (Slice(1, 2), "y", "y"), (P, "ho", "ho"))
    two = layer_over(window.upper, (Slice(0, 2), "y", "y"), (P, "ho", "ho"))
    assert not is_injective(Map((window,)))
    assert is_injective(Map((one, window)))
    assert is_injective(Map((two, window)))


def _pieces(*sizes: int, select: slice | None = None, hold: Sequence[int] = ()) -> Map:
    """Pieces end to end; `select` slices the selector, pieces in `hold` are held at 0."""
    names = [f"p{i}" for i in range(len(sizes))]
    given = dict(zip(names, sizes, strict=True))
    sunder = layer_over(_dims(x=sum(sizes)), (Sunder(), " ".join((*names, "s")), "x"), s=len(sizes), **given)
    cut = select or slice(0, len(sizes))
    steps = [Step(Slice(0, 1) if i in hold else P, (n,), (n,)) for i, n in enumerate(names)]
    upper = [Dim(n, 1 if i in hold else s) for i, (n, s) in enumerate(given.items())]
    steps.append(Step(Slice(cut.start, cut.stop), ("s",), ("s",)))
    above = Layer((*upper, Dim("s", cut.stop - cut.start)), sunder.upper, tuple(steps))
    return Map((above, sunder))


@pytest.mark.parametrize(
    ("map", "want"),
    [
        (_pieces(3, 5), False),
        (_pieces(3, 5, select=slice(0, 1), hold=(1,)), True),
        (_pieces(3, 5, select=slice(1, 2), hold=(0,)), True),
        (_pieces(3, 5, select=slice(1, 2)), False),
        (_pieces(3, 5, select=slice(1, 2), hold=(1,)), False),
        (_pieces(3, 5, hold=(0, 1)), True),
        (_pieces(1, 1, 1), True),
        (_pieces(2, 3, 4, select=slice(1, 2), hold=(0, 2)), True),
        (_pieces(2, 3, 4, select=slice(0, 2), hold=(0, 2)), False),
    ],
)
def test_pieces(map: Map, want: bool, by_proof_alone: None) -> None:
    assert is_injective(map) == want == (not _collides(map))


def test_control_a_broken_proof_is_seen(
    monkeypatch: pytest.MonkeyPatch, maps: Maps, by_proof_alone: None
) -> None:
    monkeypatch.setattr(query, "_embed_is_injective", lambda coefs, counts: True)
    with pytest.raises(AssertionError):
        test_backward_data_stores_where_the_stride_steps_over_the_window(None)
