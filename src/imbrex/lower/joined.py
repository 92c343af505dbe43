"""Programs of the buckets of a run-time size as one, each launch under the condition of its bucket; what is
filled with zeros is so for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from imbrex.index.atom import Param
from imbrex.lower.stmt import Kernel, Program, ZeroFill

__all__ = ["joined"]


def joined(parts: Sequence[Program]) -> Program:
    """The program of all buckets, in ascending order; a single one as it is."""
    last = parts[-1]
    if len(parts) == 1:
        return last
    first, size = parts[0].count, last.count
    assert first is not None and size is not None, "buckets are of a run-time size"
    launches: list[Kernel | ZeroFill] = [one for one in last.launches if isinstance(one, ZeroFill)]
    for part in parts:
        assert part.count is not None and not part.workspace, part.name
        for kernel in part.kernels:
            launches.append(replace(kernel, when=(part.count.low, part.count.high)))
        is_first = [isinstance(one, ZeroFill) for one in part.launches]
        assert is_first == sorted(is_first, reverse=True), "zeros are written ahead of all kernels"
    return replace(last, launches=tuple(launches), count=Param(size.name, first.low, size.high))
