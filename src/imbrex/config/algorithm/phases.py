"""Phases of a strided gradient: whether they leave gaps that one launch had better fill, or share tiles."""

from __future__ import annotations

from typing import Final

from imbrex.config.algorithm.task import ConvTask
from imbrex.view.conv.phase_tiles import phase_count
from imbrex.view.copy.interleave import interleaves
from imbrex.view.stage.piece import ROW_BYTES

__all__ = ["are_apart", "leaves_gaps", "shares_phases"]

LEAST_BYTES: Final = 2
"""Bytes of the narrowest element that warpgroups store."""
COLUMNS: Final = 8
"""Columns of an instruction at the least, of which a row of a piece has all phases."""


def are_apart(task: ConvTask) -> bool:
    """Do phases that are stored where they belong leave gaps, so that a launch had better do that?"""
    return task.is_backward_data and interleaves(task.conv) and not task.finishing


def leaves_gaps(task: ConvTask) -> str | None:
    """Why nothing is won by putting phases together in a launch of their own; None where something is."""
    return None if are_apart(task) else "phases leave no gaps that had better be filled at once"


def shares_phases(task: ConvTask) -> str | None:
    """Why a convolution's phases do not share tiles, see `view.conv.phase_tiles`; None where they do."""
    if not task.is_backward_data:
        return "only backward data has phases"
    if task.conv.width.stride == 1 or task.conv.input[-1].name != "wi":
        return "the phases of the input's gradient leave no gaps between columns"
    if task.finishing:
        return "an epilogue is for sums of one phase"
    size, count = task.stored.bytes, phase_count(task.conv)
    if count == 0:
        return "no tap of the filter meets a row of the input, or some residues of several are met"
    if size < LEAST_BYTES:
        return f"elements of less than {LEAST_BYTES} bytes are not stored by warpgroups"
    if ROW_BYTES % (COLUMNS * count * size):
        most = ROW_BYTES // (COLUMNS * size)
        return f"{count} phases of {size} bytes do not share a tile, a power of two up to {most} do"
    return None
