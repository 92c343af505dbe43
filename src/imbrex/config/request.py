"""Request: what to build, for which machine, and what was said of its configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace

from imbrex.chip import Machine
from imbrex.config.configuration import Configuration
from imbrex.config.tiles import Auto, TileSchedule
from imbrex.config.tuning import Tuning
from imbrex.problem import Problem

__all__ = ["Request"]


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

    @property
    def is_open(self) -> bool:
        """Is nothing said of the configuration?"""
        return self.tuning is self.algorithm is self.schedule is self.config is None

    def by(self, config: Configuration) -> Request:
        """The same problem by a configuration, whatever was said of one."""
        return replace(self, tuning=None, algorithm=None, schedule=None, config=config)
