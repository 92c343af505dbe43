"""Records: what is tuned, what was tried, and what was concluded, as plain values.

Unit     a problem on a target of a device, with a number of threads: what is tuned
Trial    one configuration that was tried on it: its time where it was right, else what went wrong
Verdict  what came of the duel of a configuration with the model's pick, in pairs
Winner   the configuration that a call should use, as verdicts and trials tell it
Calibration   what the model of a target asks of a machine, as fitted on a device

Law: times are UTC in ISO 8601 with microseconds, so that texts sort as times do.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from imbrex.version import __version__

__all__ = [
    "Calibration",
    "Device",
    "Fact",
    "Parameters",
    "Status",
    "Trial",
    "Unit",
    "Verdict",
    "Winner",
    "later",
    "now",
]

Status: TypeAlias = Literal["ok", "wrong", "failed", "timeout", "crashed", "spilled", "refused"]

Fact: TypeAlias = tuple[str, str]
"""Name and value, neither with spaces."""

Parameters: TypeAlias = tuple[tuple[str, float], ...]
"""Names, without spaces, and values."""


def now() -> str:
    """This moment."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def later(when: str) -> str:
    """A microsecond after; this moment after what is no time."""
    try:
        return (datetime.fromisoformat(when) + timedelta(microseconds=1)).isoformat(timespec="microseconds")
    except ValueError:
        return now()


@dataclass(frozen=True)
class Device:
    """What runs kernels.  name: a CPU's model, a GPU's product.

    hardware: what makes it another device where it differs: caches, instructions, multiprocessors, clocks.
    conditions: what is noted besides, as the driver's version: rows of other conditions count, too.
    """

    name: str
    hardware: tuple[Fact, ...]
    conditions: tuple[Fact, ...] = ()

    @property
    def key(self) -> str:
        """Name and hardware in one text: devices of one key have one time."""
        return " ".join((self.name, *(f"{name}={value}" for name, value in self.hardware)))


@dataclass(frozen=True)
class Unit:
    """What is tuned.  problem: its canonical text.  target: as text: cpu, sm_90a, emulate (sm_90a).
    threads: of a CPU; 0 on a GPU.

    A calibration is of no problem, an empty text, and of no number of threads, 0.
    """

    problem: str
    target: str
    device: Device
    threads: int


@dataclass(frozen=True)
class Trial:
    """One configuration, tried.  A later trial of it in the same session takes the place of the earlier one.

    source: digest of the kernel's source.  compiler: name and version.  is_cold: were caches defeated?
    """

    configuration: str
    status: Status
    median_ns: float | None = None
    spread_ns: float | None = None
    samples: int = 0
    source: str = ""
    compiler: str = ""
    note: str = ""
    session: str = ""
    when: str = ""
    is_cold: bool = True
    version: str = __version__


@dataclass(frozen=True)
class Verdict:
    """A paired duel.  gain: the pick's time over the configuration's; low, high: confidence bounds of it.

    pick: what the model chooses; the configuration itself where the pick stays.  is_cold: were caches
    defeated?
    """

    configuration: str
    pick: str
    gain: float
    low: float
    high: float
    pairs: int
    session: str = ""
    when: str = ""
    is_cold: bool = True


@dataclass(frozen=True)
class Calibration:
    """Parameters of a target's model by name, fitted on a device; the latest one counts.

    before, after: by what part the model's pick was slower than the best that was measured, in the mean of
    problems that were left out of the fit, without it and with it.  times: that it was fitted to.
    """

    parameters: Parameters
    before: float
    after: float
    times: int
    session: str = ""
    when: str = ""
    version: str = __version__

    def __str__(self) -> str:
        """`calibrated 2026-11-22: picks are 3.0 % slower than the best, 6.4 % by default`."""
        after, before = (f"{100 * of:.1f} %" for of in (self.after, self.before))
        return f"calibrated {self.when[:10]}: picks are {after} slower than the best, {before} by default"


@dataclass(frozen=True)
class Winner:
    """The latest verdict's configuration where it is proven faster, else the model's pick, with gain 1; of
    verdicts in cold caches, where there are any.

    median_ns, source, compiler, version: of its latest trial; None and empty where there is none.
    """

    configuration: str
    gain: float
    when: str
    session: str
    device: str
    median_ns: float | None = None
    source: str = ""
    compiler: str = ""
    version: str = ""
