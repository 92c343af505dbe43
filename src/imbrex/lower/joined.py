"""Programs of the buckets of a run-time size as one, each launch under the condition of its bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from imbrex.index.atom import Param
from imbrex.lower.stmt import Kernel, Program

__all__ = ["joined"]


def joined(parts: Sequence[Program]) -> Program:
    """The program of all buckets, in ascending order; a single one as it is."""
    last = parts[-1]
    if len(parts) == 1:
        return last
    first, size = parts[0].count, last.count
    assert first is not None and size is not None, "buckets are of a run-time size"
    launches: list[Kernel] = []
    for part in parts:
        assert part.count is not None and not part.workspace, part.name
        for kernel in part.kernels:
            launches.append(replace(kernel, when=(part.count.low, part.count.high)))
        assert len(part.kernels) == len(part.launches), "a bucket fills no array with zeros"
    return replace(last, launches=tuple(launches), count=Param(size.name, first.low, size.high))
