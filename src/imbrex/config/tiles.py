"""TileSchedule: who computes the output tiles of a product and in which order, by the user or the model.

    data_parallel            one workgroup an output tile: the default
    MODE:WORKGROUPS          a mode of `view.work.streamk` over so many workgroups
    MODE                     the same over as many as the machine runs at a time
    reduce_k:WORKGROUPS      parts of K whose sums a second launch adds, of waves that multiply matrices
    scatter_k:WORKGROUPS     the same in one launch, where the workgroups of a tile meet
    cluster_k:PARTS          2, 4 or 8 workgroups of a cluster for each output tile, each with a part of K

Each may end in the order in which tiles are begun, `view.work.workgroup.Order`; without one a model chooses
it on a GPU for data_parallel, and tiles are begun in the order of their numbers elsewhere:

    /wgm=8                   8 tiles along the parallel dimension before the next line; 1 by default
    /along=n                 the parallel dimension; m by default
    /xcd=8                   for hardware that deals workgroups to 8 dies in turn: neighbours on one die
    /runtime                 a kernel reads the number of tiles when it runs, and takes wgm's for 0

Law: `parse` undoes `text`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from imbrex.chip import CpuMachine, Machine
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.numeral import whole
from imbrex.view.work.streamk import WORDS, Mode
from imbrex.view.work.workgroup import ALONG, Along, RasterOrder

__all__ = [
    "AUTO", "DATA_PARALLEL", "MOST_WORKGROUPS", "Auto", "TileSchedule", "checked", "parse",
    "resident", "wanted", "wrong",
]  # fmt: skip

Auto: TypeAlias = Literal["auto"]
AUTO: Final = "auto"
"""The word for a schedule that the model chooses."""

MOST_WORKGROUPS = 1 << 16
MOST_GROUP, MOST_XCDS = 1 << 16, 64
PARTS: Final = (2, 4, 8)
"""Workgroups of a cluster that may share an output tile."""
KEYS: Final = ("wgm", "along", "xcd", "runtime")


@dataclass(frozen=True)
class TileSchedule:
    """workgroups: None for as many as the machine runs at a time; data_parallel takes none; cluster_k takes
    those of one output tile.  order: None where the model may choose it.
    """

    mode: Mode
    workgroups: int | None = None
    order: RasterOrder | None = None

    def __post_init__(self) -> None:
        if self.mode == "data_parallel" and self.workgroups is not None:
            raise Diagnostic(
                "the schedule 'data_parallel' has one workgroup an output tile and takes no number"
            )
        if self.mode == "cluster_k" and self.workgroups not in PARTS:
            said = "the schedule 'cluster_k' takes the number of workgroups that share a tile: 2, 4 or 8"
            raise Diagnostic(f"{said}{'' if self.workgroups is None else f', got {self.workgroups}'}")
        if self.workgroups is not None and not 1 <= self.workgroups <= MOST_WORKGROUPS:
            raise Diagnostic(f"a schedule has 1 to {MOST_WORKGROUPS} workgroups, got {self.workgroups}")
        if self.order is not None:
            checked(self.order)

    def __str__(self) -> str:
        count = "" if self.workgroups is None else f":{self.workgroups}"
        return f"{self.mode}{count}{'' if self.order is None else _order_text(self.order)}"

    @property
    def is_shared(self) -> bool:
        """May several workgroups compute one output tile, or one workgroup several?"""
        return self.mode != "data_parallel"

    def on(self, machine: Machine) -> TileSchedule:
        """The same for as many workgroups as the machine runs at a time, where no number is given.

        A Diagnostic where the machine has no dies to gather tiles on.
        """
        if self.order is not None and self.order.xcds > 1 and isinstance(machine, CpuMachine):
            said = f"'xcd={self.order.xcds}' is for GPUs of several dies, and {machine.name} is a CPU"
            raise Diagnostic(said, hint="wgm=N serves a CPU's caches, too")
        if self.mode == "data_parallel" or self.workgroups is not None:
            return self
        return replace(self, workgroups=resident(machine))


DATA_PARALLEL: Final = TileSchedule("data_parallel")


def resident(machine: Machine) -> int:
    """Workgroups at a time: threads of a CPU; compute units of a GPU, since one a unit surely runs."""
    return machine.threads if isinstance(machine, CpuMachine) else machine.compute_units


def parse(line: str) -> TileSchedule:
    """The schedule that a text spells; for any other text a Diagnostic that points at what is wrong."""
    head, *options = line.split("/")
    mode, colon, number = head.partition(":")
    known, count = _mode(line, mode), None
    if colon:
        count = whole(number, 0, MOST_WORKGROUPS)
        if count is None:
            raise wrong(line, 0, head, f"a schedule is MODE or MODE:WORKGROUPS, got '{head}'")
    try:
        return TileSchedule(known, count, _order(line, len(head) + 1, options) if options else None)
    except Diagnostic as error:
        raise error.at(line=1, col=1, source=line, length=len(head)) from None


def _mode(line: str, mode: str) -> Mode:
    """The word with which the line begins."""
    if mode not in WORDS:
        hint = did_you_mean(mode, WORDS) or f"known: {', '.join(WORDS)}"
        raise wrong(line, 0, mode, f"unknown schedule of tiles '{mode}'", hint)
    return next(m for m in WORDS if m == mode)


def wanted(line: str | None) -> TileSchedule | Auto:
    """What an option says: data_parallel where it says nothing."""
    if line is None:
        return DATA_PARALLEL
    return AUTO if line == AUTO else parse(line)


def _order(line: str, start: int, options: list[str]) -> RasterOrder:
    """The order that options spell; start: where they begin in the line."""
    given: dict[str, str] = {}
    for option in options:
        key, equals, value = option.partition("=")
        if key not in KEYS:
            hint = did_you_mean(key, KEYS) or f"known: {', '.join(KEYS)}"
            raise wrong(line, start, key or option, f"unknown option '{key}' of a schedule", hint)
        if key in given:
            raise wrong(line, start, option, f"'{key}' is given twice")
        most = {"wgm": MOST_GROUP, "xcd": MOST_XCDS}.get(key)
        if key == "runtime" and equals:
            raise wrong(line, start, option, "'runtime' takes no value; wgm gives the default")
        if key == "along" and value not in ALONG:
            raise wrong(line, start, option, f"'along' is m or n, got '{value}'")
        if most is not None and whole(value, 1, most) is None:
            raise wrong(line, start, option, f"'{key}' is a number from 1 to {most}, got '{value}'")
        given[key] = value
        start += len(option) + 1
    along: Along = "n" if given.get("along") == "n" else "m"
    return RasterOrder(int(given.get("wgm", "1")), along, int(given.get("xcd", "1")), "runtime" in given)


def _order_text(order: RasterOrder) -> str:
    """`wgm` always, so that an order is not taken for none."""
    along = "" if order.along == "m" else f"/along={order.along}"
    dies = "" if order.xcds == 1 else f"/xcd={order.xcds}"
    return f"/wgm={order.group}{'/runtime' if order.is_runtime else ''}{along}{dies}"


def checked(order: RasterOrder) -> RasterOrder:
    """An order of tiles; a Diagnostic where a number is too large or too small."""
    for key, value, most in (("wgm", order.group, MOST_GROUP), ("xcd", order.xcds, MOST_XCDS)):
        if not 1 <= value <= most:
            raise Diagnostic(f"'{key}' is a number from 1 to {most}, got {value}")
    return order


def wrong(line: str, start: int, what: str, message: str, hint: str | None = None) -> Diagnostic:
    """An error with its place in the text."""
    return Diagnostic(message, line=1, col=start + 1, source=line, length=max(1, len(what)), hint=hint)
