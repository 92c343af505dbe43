"""Short calls, of which the time between two launches is a part that counts.

Half a microsecond of it is hidden where the next kernel begins before this one has ended.
"""

from __future__ import annotations

from typing import Final

from imbrex.problem import Problem

__all__ = ["is_short"]

MOST_FLOPS: Final = 60e9
"""Of 100 microseconds at 600 TFLOP/s, which an H100 reaches."""
MOST_BYTES: Final = 300e6
"""Of 100 microseconds at 3 TB/s."""


def is_short(problem: Problem) -> bool:
    """Does it take less than 100 microseconds, if nothing but multiplying and memory counted?"""
    return problem.flops < MOST_FLOPS and problem.bytes < MOST_BYTES
