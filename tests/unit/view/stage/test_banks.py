"""Bank conflicts: the count of a simulated access, and layouts whose conflicts are known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.view.neighbours import bank_conflicts

from imbrex.index.digits import row_major
from imbrex.index.expr import Lin, lin
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import Merge, PassThrough, Xor

P = PassThrough()


def _dims(**sizes: int) -> tuple[Dim, ...]:
    return tuple(Dim(n, s) for n, s in sizes.items())


def _counted(offsets: Sequence[int], size: int, banks: int, phase: int) -> int:
    """Each phase repeats until every bank has served all its words."""
    cycles = 0
    for start in range(0, len(offsets), phase):
        pending: dict[int, set[int]] = defaultdict(set)
        for o in offsets[start : start + phase]:
            for byte in range(o, o + size):
                pending[byte // 4 % banks].add(byte // 4)
        while any(pending.values()):
            cycles += 1
            for words in pending.values():
                if words:
                    words.pop()
        cycles -= 1
    return cycles


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(0, 4096), min_size=1, max_size=64),
    st.sampled_from((1, 2, 4, 8, 16)),
    st.sampled_from((16, 32, 64)),
    st.sampled_from((None, 8, 16)),
)
def test_bank_conflicts_are_counted(offsets: list[int], size: int, banks: int, phase: int | None) -> None:
    offsets = [o * size for o in offsets]
    default = banks * 4 // max(4, size)
    assert bank_conflicts(offsets, size, banks, phase) == _counted(offsets, size, banks, phase or default)


def _lds(layout: Callable[[int, int], Lin], width: int) -> list[int]:
    """Byte offsets of 64 lanes of which lane i reads `width` f32 of row i, column 0."""
    return [layout(row, 0).const * 4 for row in range(64)]


def _xor_layout(chunks: int, width: int) -> Callable[[int, int], Lin]:
    map = Map((
        layer_over(_dims(r=64, c=chunks, e=width), (P, "r", "r"), (Merge(), "k", "c e")),
        layer_over(_dims(r=64, c=chunks, e=width), (Xor(), "r c", "r c"), (P, "e", "e")),
    ))  # fmt: skip
    return lambda row, column: row_major(map.at([row, column]).coords, [d.size for d in map.lower])


def _rows(stride: int) -> Callable[[int, int], Lin]:
    return lambda row, column: lin(row * stride + column)


@pytest.mark.parametrize(
    ("what", "layout", "width", "extra"),
    [
        ("neighbours", _rows(1), 1, 0),
        ("one word for all", _rows(0), 1, 0),
        ("stride 32: all in one bank", _rows(32), 1, 2 * 31),
        ("stride 33: padded free", _rows(33), 1, 0),
        ("stride 2", _rows(2), 1, 2 * 1),
        ("stride 16", _rows(16), 1, 2 * 15),
        ("b128, stride 32", _rows(32), 4, 8 * 7),
        ("b128, stride 36: padded free", _rows(36), 4, 0),
        ("b128, xor of the chunks: free", _xor_layout(8, 4), 4, 0),
        ("b128, xor of four chunks", _xor_layout(4, 4), 4, 8 * 1),
        ("b64, stride 32", _rows(32), 2, 4 * 15),
        ("b64, xor of the chunks: free", _xor_layout(16, 2), 2, 0),
    ],
)
def test_known_layouts(what: str, layout: Callable[[int, int], Lin], width: int, extra: int) -> None:
    assert bank_conflicts(_lds(layout, width), 4 * width) == extra, what


def test_elements_smaller_than_a_word() -> None:
    assert bank_conflicts([2 * i for i in range(64)], 2) == 0, "two lanes share a word"
    assert bank_conflicts([2 * 33 * i for i in range(32)], 2) == _counted(
        [66 * i for i in range(32)], 2, 32, 32
    )
    assert bank_conflicts([2], 4) == 0, "two words, two banks"
    assert bank_conflicts([], 4) == 0
