"""Rules that all tunings of warpgroups keep to, whatever their tiles are: each reason says what would work.

A rule of a tuning's own that asks for more yields from these first.  Sources: the PTX ISA, sections on wgmma,
mbarrier and tensor maps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from imbrex.chip import WARPGROUPS, GpuTarget
from imbrex.config.context import GemmContext
from imbrex.config.rules import Reasons, listed
from imbrex.config.warpgroup.plan import LEAST_STAGES, SWIZZLES, columns_of
from imbrex.dtype import DType

__all__ = [
    "MOST_ACCUMULATORS",
    "MOST_CONSUMERS",
    "MOST_STAGES",
    "chip",
    "few_consumers",
    "registers",
    "stages_ahead",
    "warpgroups",
    "whole_rows",
]

MOST_CONSUMERS: Final = 3
MOST_ACCUMULATORS: Final[Mapping[int, int]] = {1: 128, 2: 128, 3: 96}
"""Consumers -> sums of a thread: of 64 x 256 of a consumer, or of 64 x 192 where four warpgroups leave 128
registers a thread; with more, the registers that remain do not hold all else."""
MOST_STAGES: Final = 16


class Consumed(Protocol):
    """A tuning whose consumers take stages from a ring."""

    @property
    def consumers(self) -> int: ...
    @property
    def stages(self) -> int: ...


class Sized(Protocol):
    """A plan of such a tuning."""

    @property
    def tuning(self) -> Consumed: ...
    @property
    def context(self) -> GemmContext: ...
    @property
    def accumulators(self) -> int: ...


def chip(machine: GpuTarget) -> Reasons:
    """The machine has wgmma, tensor maps and clusters."""
    if not machine.has_warpgroups:
        yield f"{machine.name} has no warpgroup instructions, {WARPGROUPS.name} has"


def warpgroups(plan: Sized, machine: GpuTarget) -> Reasons:
    """The machine has wgmma and tensor maps, and wgmma takes the type."""
    if not machine.has_warpgroups:
        yield from chip(machine)
    elif not columns_of(plan.context.dtype):
        yield f"wgmma does not multiply {plan.context.dtype.name}"


def few_consumers(tuning: Consumed) -> Reasons:
    """One to three warpgroups multiply."""
    if tuning.consumers > MOST_CONSUMERS:
        most = f"{MOST_CONSUMERS}: with the producer they are at most 4 warpgroups"
        yield f"consumers {tuning.consumers} > {most}"


def stages_ahead(tuning: Consumed) -> Reasons:
    """The producer is a stage ahead, and pingpong consumers are apart by one."""
    if not LEAST_STAGES <= tuning.stages <= MOST_STAGES:
        yield f"stages {tuning.stages} is outside {LEAST_STAGES}..{MOST_STAGES}"


def whole_rows(told: str, count: int, dtype: DType) -> Reasons:
    """So many elements are whole rows of shared memory: of 32 or 64 bytes, or of a multiple of 128.

    told: how a reason begins, such as `channels 24 are`.
    """
    size = count * dtype.bytes
    if size not in SWIZZLES and size % SWIZZLES[0]:
        sizes = listed(tuple(s // dtype.bytes for s in reversed(SWIZZLES)))
        yield f"{told} not one of {sizes} or a multiple of the last"


def registers(plan: Sized, machine: GpuTarget) -> Reasons:
    """The sums of a consumer stay in registers."""
    most = MOST_ACCUMULATORS[plan.tuning.consumers]
    if plan.accumulators > most:
        yield f"accumulators {plan.accumulators} > {most} of a thread"
