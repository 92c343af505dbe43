"""What each warpgroup of a workgroup does, as parts of a kernel's struct: the policy of the skeleton."""

from __future__ import annotations

from typing import Literal, NamedTuple, assert_never

from imbrex.emit.cuda.layout import registers, takes_turns
from imbrex.emit.cuda.member import boolean
from imbrex.lower.warpgroup.parts import PingPong, SplitColumns, SplitRows, SplitSteps, Streams, WarpPlanes
from imbrex.lower.warpgroup.pipeline import Pipeline
from imbrex.view.mma.hopper import WARPGROUP

__all__ = ["Policy", "constants", "policy"]


class Policy(NamedTuple):
    """name: of the template that has `produce` and `consume`, in `header` of device/cuda; further: what it
    takes besides the kernel.  splits: what of a tile consumers share.  readers: arrivals by which
    the consumers of a workgroup say that they are done with a stage.
    """

    header: str
    name: str
    further: str = ""
    splits: Literal["", "rows", "columns"] = ""
    readers: int = 1


def policy(pipeline: Pipeline) -> Policy:
    """How a kernel's warpgroups go about their work."""
    match team := pipeline.team:
        case SplitRows(consumers):
            return Policy("split_tile.h", "split_tile", splits="rows", readers=consumers)
        case PingPong():
            return Policy("split_tile.h", "split_tile")
        case SplitColumns(consumers):
            return Policy("split_tile.h", "split_tile", splits="columns", readers=consumers)
        case SplitSteps():
            warps = WARPGROUP // pipeline.machine.wave_size  # which read stages by themselves
            if not isinstance(pipeline.multiply, WarpPlanes):
                return Policy("split_steps.h", "split_steps", "by_columns", readers=warps)
            return Policy("planes.h", "split_steps", "by_streams", readers=warps)
        case Streams():
            return Policy("streams.h", "streams")
        case _:
            assert_never(team)


def constants(pipeline: Pipeline, kernel: str) -> list[str]:
    """How many consume, in what order, and with which registers.  kernel: the name of the struct."""
    team, found, (produces, consumes) = pipeline.team, policy(pipeline), registers(pipeline)
    given = f"{kernel}, imbrex::{found.further}<{kernel}>" if found.further else kernel
    return [
        f"typedef imbrex::{found.name}<{given}> team;",
        f"static constexpr int stages = {pipeline.stages}, consumers = {team.consumers};",
        f"static constexpr bool splits_rows = {boolean(found.splits == 'rows')};",
        f"static constexpr bool splits_columns = {boolean(found.splits == 'columns')};",
        f"static constexpr int readers = {found.readers};",
        f"static constexpr bool is_pingpong = {boolean(takes_turns(pipeline))};",
        f"static constexpr int producer_registers = {produces}, consumer_registers = {consumes};",
    ]
