"""Tasks: what processes that build and time kernels are told, and what they answer; plain values.

Law: a task says all that its process needs to know, so that any process, on any host, may take it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from imbrex.database import Device
from imbrex.kernel import Target
from imbrex.run.host_machine import HostMachine

__all__ = [
    "Build",
    "Built",
    "Contest",
    "Contested",
    "Here",
    "Identify",
    "Probe",
    "Probed",
    "Proof",
    "Task",
    "Work",
]


@dataclass(frozen=True)
class Work:
    """What is tuned.  problem: its canonical text.  device: a GPU by its number; None for the first one."""

    problem: str
    target: Target
    threads: int
    device: int | None = None


@dataclass(frozen=True)
class Build:
    """Compile a configuration, a text, into the cache."""

    work: Work
    configuration: str


@dataclass(frozen=True)
class Built:
    """source: digest of the kernel's files.  compiler: its name and version.  seconds: of compiling, 0 where
    it was there.
    """

    source: str
    compiler: str
    seconds: float


@dataclass(frozen=True)
class Probe:
    """Check a configuration, then time it.  hopeless_ns: what takes longer is not timed further."""

    work: Work
    configuration: str
    hopeless_ns: float | None = None


@dataclass(frozen=True)
class Probed:
    """wrong: what is wrong with the result; None where it is right.  samples_ns: of one call each."""

    wrong: str | None
    samples_ns: tuple[float, ...] = ()


@dataclass(frozen=True)
class Proof:
    """Check a configuration in every way that there is, and time nothing."""

    work: Work
    configuration: str


@dataclass(frozen=True)
class Contest:
    """Time configurations in turn, block after block."""

    work: Work
    configurations: tuple[str, ...]
    blocks: int


@dataclass(frozen=True)
class Contested:
    """blocks_ns: the times of each block, one a configuration.  disturbed: blocks in which others had a part
    of the processor.
    """

    blocks_ns: tuple[tuple[float, ...], ...]
    disturbed: tuple[bool, ...]


@dataclass(frozen=True)
class Identify:
    """Say what a target's kernels run on there."""

    target: Target


@dataclass(frozen=True)
class Here:
    """What kernels run on, and the machine that it is in.  is_cold: do times defeat caches there?"""

    device: Device
    machine: HostMachine
    is_cold: bool = True


Task: TypeAlias = Build | Identify | Probe | Proof | Contest
