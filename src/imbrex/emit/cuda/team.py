"""What each warpgroup of a workgroup does, as parts of a kernel's struct: which header has it."""

from __future__ import annotations

from typing import Final, assert_never

from imbrex.emit.cuda.layout import registers
from imbrex.emit.cuda.member import boolean
from imbrex.lower.parts import PingPong, SplitColumns, SplitRows, SplitSteps, Streams, WarpPlanes
from imbrex.lower.pipeline import Pipeline

__all__ = ["constants", "entry", "header"]

ROWS: Final = "device/cuda/warpgroup_gemm.h"
COLUMNS: Final = "device/cuda/tap_gemm.h"
STEPS: Final = "device/cuda/diagonal_gemm.h"
PLANES: Final = "device/cuda/plane_gemm.h"
STREAMS: Final = "device/cuda/line_gemm.h"


def header(pipeline: Pipeline) -> str:
    """The header that has what a kernel's consumers do."""
    match team := pipeline.team:
        case SplitRows() | PingPong():
            return ROWS
        case SplitColumns():
            return COLUMNS
        case SplitSteps():
            return PLANES if isinstance(pipeline.multiply, WarpPlanes) else STEPS
        case Streams():
            return STREAMS
        case _:
            assert_never(team)


def entry(pipeline: Pipeline) -> str:
    """The function that runs a kernel."""
    match team := pipeline.team:
        case SplitRows() | PingPong():
            return "run"
        case SplitColumns():
            return "run_taps"
        case SplitSteps():
            if not isinstance(pipeline.multiply, WarpPlanes):
                return "run_diagonal"
            return "run_streams" if pipeline.multiply.stage.streams else "run_planes"
        case Streams():
            return "run_lines"
        case _:
            assert_never(team)


def constants(pipeline: Pipeline) -> list[str]:
    """How many consume, in what order, and with which registers."""
    team, (produces, consumes) = pipeline.team, registers(pipeline)
    in_turn = isinstance(team, PingPong) or (isinstance(team, Streams) and team.in_turn)
    return [
        f"static constexpr int stages = {pipeline.stages}, consumers = {team.consumers};",
        f"static constexpr bool is_pingpong = {boolean(in_turn)};",
        f"static constexpr int producer_registers = {produces}, consumer_registers = {consumes};",
    ]
