"""Request: what to build, for which machine; and whether matrix instructions will multiply."""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.chip import GpuMachine, Machine
from imbrex.config.configuration import Configuration
from imbrex.config.halo.lines import WindowTuning
from imbrex.config.halo_weight.plan import HaloWeightTuning
from imbrex.config.tiles import Auto, TileSchedule
from imbrex.config.tuning import Tuning
from imbrex.config.warpgroup.plan import WarpgroupTuning, columns_of
from imbrex.config.xdlops.mfma import served
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.dtype import DType
from imbrex.problem import Problem

__all__ = ["Request", "has_matrix_instructions", "multiplies"]


@dataclass(frozen=True)
class Request:
    """What to build: a problem, for a machine, with the tuning that the user gives or the model chooses.

    target: how source is written: "cpu", a GPU such as "gfx942", or "emulate" for the lane-level build of the
    schedule of the GPU that `machine` is.
    algorithm: one of the table, with what follows its name; None for what the model chooses.
    schedule: None for what suits the machine, see `schedule_of`.
    config: all that may be chosen, instead of tuning, algorithm and schedule.
    """

    problem: Problem
    machine: Machine
    target: str = "cpu"
    tuning: Tuning | None = None
    algorithm: str | None = None
    name: str = "kernel"
    schedule: TileSchedule | Auto | None = None
    config: Configuration | None = None

    def __post_init__(self) -> None:
        narrowed = (self.tuning, self.algorithm, self.schedule)
        assert self.config is None or narrowed == (None, None, None), f"a configuration says these: {self}"


def has_matrix_instructions(request: Request) -> bool:
    """Will matrix instructions multiply?  They want a step of K at one tap of a window: its lanes then have
    one guard a load.
    """
    if request.tuning is not None:
        of_waves = XdlopsTuning | WarpgroupTuning | WindowTuning | HaloWeightTuning
        return isinstance(request.tuning, of_waves)
    return multiplies(request.machine, request.problem.dtype)


def multiplies(machine: Machine, dtype: DType) -> bool:
    """Has the machine matrix instructions of this type, of waves or of warpgroups?"""
    if not isinstance(machine, GpuMachine):
        return False
    return bool(columns_of(dtype) if machine.has_warpgroups else served(dtype, machine.chip))
