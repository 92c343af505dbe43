"""A convolution as tunings of `halo` see it: pixels that come into shared memory once for all taps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from imbrex.chip import WARPGROUPS
from imbrex.config.algorithm.task import ConvTask
from imbrex.config.halo.choice import WeightWindows, Windows
from imbrex.config.halo.plan import HaloWeightTuning, WindowTuning
from imbrex.config.tuning import Tuning
from imbrex.diagnostic import Diagnostic
from imbrex.numeral import counted
from imbrex.problem.conv import Direction
from imbrex.view.conv.group_merge import GroupMerge
from imbrex.view.conv.implicit_gemm import Convolution

__all__ = ["best_of", "groups_of", "priced_of", "reads_planes", "refused", "windows_of"]

SUMMED: Final[Mapping[Direction, str]] = {"forward": "c", "backward_data": "k"}
"""What a sum runs over, of a filter that is read."""


@lru_cache(maxsize=256)
def windows_of(task: ConvTask, merged: int = 1) -> Windows | WeightWindows | str:
    """Windows of so many groups as one, arrays copied where they have to be; or why there are none."""
    conv, one = task.conv, task.merged
    if task.merged == 1 and merged > 1:
        conv, one = _merged(conv, merged, SUMMED.get(task.direction)), merged
    if task.direction == "backward_weight":
        windows = WeightWindows(conv, task.dtype, WARPGROUPS, one)
    else:
        windows = Windows(conv, task.dtype, WARPGROUPS, one, task.direction, task.stored.bytes)
    return windows.refused or windows


def refused(task: ConvTask, merged: int) -> str | None:
    """Why a convolution, of so many groups as one, is not served; None where it is."""
    if merged < 1 or task.groups % merged:
        return f"{merged} does not divide {counted(task.groups, 'group')}"
    found = best_of(task, merged)
    return found if isinstance(found, str) else None


@lru_cache(maxsize=256)
def best_of(task: ConvTask, merged: int = 1) -> WindowTuning | str:
    """The fastest tuning by the model, of so many groups as one; a reason where none is legal."""
    windows = windows_of(task, merged)
    return windows if isinstance(windows, str) else windows.best()


def priced_of(task: ConvTask, merged: int = 1) -> Mapping[WindowTuning, float]:
    """Cycles of every legal tuning, of so many groups as one; a Diagnostic where there is none."""
    windows = windows_of(task, merged)
    if isinstance(windows, str):
        raise Diagnostic(f"windows do not come into shared memory once: {windows}")
    found: Mapping[Any, float] = windows.priced
    return found


def groups_of(given: WindowTuning, task: ConvTask) -> int:
    """How many groups a tuning computes as one."""
    each = dict(task.conv.filter)["k" if task.is_backward_data else "c"]
    return min(task.groups, max(1, given.channels // each))


def reads_planes(task: ConvTask, given: Tuning | None) -> bool:
    """Does backward weight read pixels once, out of the planes that they lie in: by the tuning that is given,
    or where that is faster by the model?
    """
    windows = windows_of(task)
    if not isinstance(windows, WeightWindows):
        return False
    if given is None:
        return windows.planes_pay
    return isinstance(given, HaloWeightTuning) and windows.reads_planes(given)


def _merged(conv: Convolution, count: int, last: str | None = None) -> Convolution:
    """The convolution whose channels come last, as they do after copies.  last: of a filter that
    is read, what a sum runs over.
    """
    filters, *images = (GroupMerge(array, count).merged for array in (conv.filter, conv.input, conv.output))
    read, written = (tuple(sorted(array, key=lambda d: d.name in "ck")) for array in images)
    summed = tuple(sorted(filters, key=lambda d: d.name == last))
    return replace(conv, filter=summed, input=read, output=written)
