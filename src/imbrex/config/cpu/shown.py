"""What a matrix shows of its array: rows or columns that lie whole, each once, or what windows see."""

from __future__ import annotations

from math import prod
from typing import Final

from imbrex.config.context import SAMPLE, Access

__all__ = ["is_cut_at_edges", "lies_whole"]

ODD_RUN: Final = 24
"""Neighbours of a run of no whole vectors that is read where it lies, at most."""


def lies_whole(access: Access, sizes: tuple[int, int, int]) -> bool:
    """Are rows or columns neighbours all along, and none shown twice?  Windows are not."""
    return not access.repeats(prod(sizes)) and any(
        step == 1 and run >= min(size, SAMPLE)
        for step, run, size in zip(access.step, access.run, sizes[1:], strict=True)
    )


def is_cut_at_edges(access: Access, sizes: tuple[int, int, int]) -> bool:
    """Are rows along k those of images that windows show, cut at the edges, as of a filter's gradient?"""
    is_long = access.step[0] == 1 and access.run[0] > ODD_RUN
    return access.repeats(prod(sizes)) and is_long and access.vector[0] == 1
