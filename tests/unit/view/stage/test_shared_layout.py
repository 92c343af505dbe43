"""Shared memory laid out: parts follow one another, at every choice of them."""

from __future__ import annotations

from itertools import pairwise, product

from imbrex.view.stage.shared_layout import ALIGNMENT, BARRIER_BYTES, PIECES, SharedLayout


def ranges(one: SharedLayout) -> list[tuple[int, int]]:
    """(first byte, the one behind) of all parts."""
    found = [(stage * one.stage_bytes, one.a_bytes) for stage in range(one.all_stages)]
    count = one.all_stages if one.b_residency == "step" else 1
    found += [(one.b_offset + stage * one.b_step, one.b_bytes) for stage in range(count)]
    found += [
        (one.pieces_offset + i * one.piece_bytes, one.piece_bytes) for i in range(one.consumers * PIECES)
    ]
    for name, number in one.barriers.items():
        found += [(one.barrier_offsets[name] + i * BARRIER_BYTES, BARRIER_BYTES) for i in range(number)]
    return sorted((first, first + size) for first, size in found if size)


CHOICES = [
    SharedLayout(a, b, 3, consumers, piece, residency, own, turns, parts)
    for a, b, consumers, piece, residency, own, turns, parts in product(
        (4096, 5120 + 64), (2048, 1000), (1, 2, 3), (0, 8192), ("step", "tile", "kernel"), (False, True),
        (False, True), (1, 2),
    )
]  # fmt: skip


def test_no_part_overlaps_another() -> None:
    for one in CHOICES:
        found = ranges(one)
        assert all(end <= first for (_, end), (first, _) in pairwise(found)), one
        assert found[-1][1] == one.bytes and found[0][0] == 0, one
        assert (
            one.stage_bytes % ALIGNMENT == one.b_offset % ALIGNMENT == one.pieces_offset % ALIGNMENT == 0
        ), one


def test_control_stages_too_near() -> None:
    class Near(SharedLayout):
        @property
        def stage_bytes(self) -> int:
            return super().stage_bytes - ALIGNMENT

    found = ranges(Near(4096, 2048, 3, 2, 8192))
    assert not all(end <= first for (_, end), (first, _) in pairwise(found))
