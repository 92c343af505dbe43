"""Programs of the buckets of a run-time size as one, each launch under the condition of its bucket; what is
filled with zeros is so for all of them, and they share a workspace, for a call runs one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from imbrex.index.atom import Param
from imbrex.lower.buffer import Buffer
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
        assert part.count is not None, part.name
        for kernel in part.kernels:
            launches.append(replace(kernel, when=(part.count.low, part.count.high)))
        is_first = [isinstance(one, ZeroFill) for one in part.launches]
        assert is_first == sorted(is_first, reverse=True), "zeros are written ahead of all kernels"
    workspace = _greatest(parts)
    return replace(
        last,
        arguments=(*last.arguments[: len(last.arguments) - len(last.workspace)], *workspace),
        launches=tuple(launches),
        outputs=frozenset().union(*(part.outputs for part in parts)),
        workspace=workspace,
        zeroed=frozenset().union(*(part.zeroed for part in parts)),
        count=Param(size.name, first.low, size.high),
    )


def _greatest(parts: Sequence[Program]) -> tuple[Buffer, ...]:
    """The largest of each array of a workspace: what one bucket leaves zero serves all."""
    found: dict[str, Buffer] = {}
    for buffer in (buffer for part in parts for buffer in part.workspace):
        other = found.setdefault(buffer.name, buffer)
        assert other.dtype == buffer.dtype, (other, buffer)
        if buffer.elements > other.elements:
            found[buffer.name] = buffer
    return tuple(found.values())
