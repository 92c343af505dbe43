"""TileSchedule: how workgroups share the output tiles of a product, as the user or the model chooses it.

    data_parallel            one workgroup an output tile: the default
    MODE:WORKGROUPS          a mode of `imbrex.view.streamk` over so many workgroups
    MODE                     the same over as many as the machine runs at a time

Law: `parse` undoes `text`, `from_json` undoes `to_json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.schedule.target import CpuTarget, Target
from imbrex.view.streamk import MODES, Mode

__all__ = [
    "AUTO", "DATA_PARALLEL", "MOST_WORKGROUPS", "Auto", "TileSchedule", "from_json", "parse", "resident",
    "wanted",
]  # fmt: skip

Auto: TypeAlias = Literal["auto"]
AUTO: Final = "auto"
"""The word for a schedule that the model chooses."""

MOST_WORKGROUPS = 1 << 16


@dataclass(frozen=True)
class TileSchedule:
    """workgroups: None for as many as the machine runs at a time; data_parallel takes none."""

    mode: Mode
    workgroups: int | None = None

    def __post_init__(self) -> None:
        if self.mode == "data_parallel" and self.workgroups is not None:
            raise Diagnostic(
                "the schedule 'data_parallel' has one workgroup an output tile and takes no number"
            )
        if self.workgroups is not None and not 1 <= self.workgroups <= MOST_WORKGROUPS:
            raise Diagnostic(f"a schedule has 1 to {MOST_WORKGROUPS} workgroups, got {self.workgroups}")

    def __str__(self) -> str:
        return self.mode if self.workgroups is None else f"{self.mode}:{self.workgroups}"

    def on(self, machine: Target) -> TileSchedule:
        """With the number of workgroups that the machine runs at a time, where none is given."""
        if self.mode == "data_parallel" or self.workgroups is not None:
            return self
        return TileSchedule(self.mode, resident(machine))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


DATA_PARALLEL: Final = TileSchedule("data_parallel")


def resident(machine: Target) -> int:
    """Workgroups at a time: threads of a CPU; compute units of a GPU, since one a unit surely runs."""
    return machine.threads if isinstance(machine, CpuTarget) else machine.compute_units


def parse(line: str) -> TileSchedule:
    """The schedule that a text spells; a Diagnostic for any other text."""
    mode, colon, number = line.partition(":")
    if mode not in MODES:
        hint = did_you_mean(mode, MODES) or f"known: {', '.join(MODES)}"
        raise Diagnostic(f"unknown schedule of tiles '{mode}'", hint=hint)
    known: Mode = next(m for m in MODES if m == mode)
    if not colon:
        return TileSchedule(known)
    if not (number.isascii() and number.isdecimal()) or len(number) > len(str(MOST_WORKGROUPS)):
        raise Diagnostic(f"a schedule is MODE or MODE:WORKGROUPS, got '{line}'")
    return TileSchedule(known, int(number))


def wanted(line: str | None) -> TileSchedule | Auto:
    """What an option says: data_parallel where it says nothing."""
    if line is None:
        return DATA_PARALLEL
    return AUTO if line == AUTO else parse(line)


def from_json(value: Mapping[str, Any]) -> TileSchedule:
    """What `to_json` gave."""
    if set(value) != {"mode", "workgroups"}:
        raise Diagnostic(f"a schedule has the keys mode and workgroups, got {', '.join(map(str, value))}")
    mode, workgroups = value["mode"], value["workgroups"]
    if not isinstance(mode, str) or not (workgroups is None or type(workgroups) is int):
        raise Diagnostic("a schedule's mode is a word and its workgroups a number or null")
    return TileSchedule(parse(mode).mode, workgroups)
