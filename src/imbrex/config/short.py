"""Short calls, of which the time between two launches is a part that counts.

Half a microsecond of it and more is hidden where the next kernel begins before this one has ended.  Of nine
products on an H200 that take 80 to 350 microseconds none lost more than 0.2 % by it, and four gained 1.3 to
1.8 %; from 600 microseconds on, nothing is gained.
"""

from __future__ import annotations

from typing import Final

from imbrex.problem import Problem

__all__ = ["is_short"]

MOST_FLOPS: Final = 240e9
"""Of 400 microseconds at 600 TFLOP/s, which an H100 reaches."""
MOST_BYTES: Final = 300e6
"""Of 100 microseconds at 3 TB/s."""


def is_short(problem: Problem) -> bool:
    """Does it take less than 400 microseconds of multiplying, and 100 of memory, if nothing else counted?"""
    return problem.flops < MOST_FLOPS and problem.bytes < MOST_BYTES
