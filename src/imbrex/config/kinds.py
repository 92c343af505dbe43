"""The kinds of tunings, one row each: who asks a tuning something that depends on its kind asks the row.

A row says on which machines the kind runs, what a user calls its family, the rules that its plans keep to,
what one costs, the tunings worth a try, and which products it serves unless something else is said.  Windows
whose pixels come into shared memory once have no space here: each of their tunings has a product of its own
(`halo.choice`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

from imbrex.chip import CpuMachine, GpuMachine, Machine
from imbrex.config.context import GemmContext
from imbrex.config.cpu import cost as cpu
from imbrex.config.cpu.cost import cycles
from imbrex.config.cpu.legal import CPU_RULES
from imbrex.config.cpu.plan import CpuPlan, CpuTuning
from imbrex.config.cpu.space import cpu_space
from imbrex.config.general import cost as general
from imbrex.config.general.cost import general_cycles
from imbrex.config.general.legal import GENERAL_RULES
from imbrex.config.general.plan import GeneralPlan, GeneralTuning
from imbrex.config.general.space import general_list
from imbrex.config.halo.cost import HaloCost, HaloWeightCost, LinesCost
from imbrex.config.halo.legal import HALO_RULES, HALO_WEIGHT_RULES, LINE_RULES
from imbrex.config.halo.plan import HaloTuning, HaloWeightTuning, LinesTuning
from imbrex.config.rules import Illegal, Rules
from imbrex.config.spent import Spent
from imbrex.config.tiles import TileSchedule
from imbrex.config.tuning import Tuning, with_article
from imbrex.config.warpgroup import cost as warpgroup
from imbrex.config.warpgroup.cost import warpgroup_cycles
from imbrex.config.warpgroup.instruction import columns_of
from imbrex.config.warpgroup.legal import MOST_COUNTED, WARPGROUP_RULES
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.warpgroup.space import warpgroup_space
from imbrex.config.xdlops import cost as xdlops
from imbrex.config.xdlops.cost import wave_cycles
from imbrex.config.xdlops.legal import XDLOPS_RULES
from imbrex.config.xdlops.mfma import served
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.config.xdlops.space import wave_space

__all__ = ["KINDS", "Family", "Kind", "kind_of"]

Family: TypeAlias = Literal["general", "xdlops", "warpgroup", "cpu"]
T = TypeVar("T", bound=Tuning)
P = TypeVar("P")
M = TypeVar("M", CpuMachine, GpuMachine)


def _nothing(context: GemmContext, machine: Machine) -> Sequence[Any]:
    """The space of a kind whose tunings are not of products that others serve, too."""
    return ()


def _never(context: GemmContext, machine: Machine) -> bool:
    return False


@dataclass(frozen=True)
class Kind(Generic[T, P, M]):
    """runs_on: machines, in general.  plan: all that follows from a tuning and a GEMM; rules: of plans.

    cycles: of a legal plan, by the kind's model, which orders the tunings of a family; spent: their parts,
    under a schedule.  space: tunings worth a try, the legal ones among others.  serves: products that are of
    this kind unless something else is said, if they are not of a kind before.
    """

    tuning: type[T]
    family: Family
    runs_on: type[M]
    plan: Callable[[T, GemmContext, M], P]
    rules: Rules[P, M]
    cycles: Callable[[P, M], float]
    spent: Callable[[P, M, TileSchedule], Spent]
    space: Callable[[GemmContext, M], Sequence[T]] = _nothing
    serves: Callable[[GemmContext, M], bool] = _never

    def broken(self, tuning: T, context: GemmContext, machine: Machine) -> tuple[Illegal, ...]:
        """The rules that a tuning breaks."""
        if not isinstance(machine, self.runs_on):
            return (Illegal("kind", f"{with_article(tuning.kind)} tuning does not run on {machine.name}"),)
        return self.rules.broken(self.plan(tuning, context, machine), machine)

    def cost(self, tuning: T, context: GemmContext, machine: Machine) -> float:
        """Cycles by the model; infinite where the tuning does not run."""
        if not isinstance(machine, self.runs_on):
            return inf
        return self.cycles(self.plan(tuning, context, machine), machine)

    def is_usual(self, context: GemmContext, machine: Machine) -> bool:
        """Does it serve a product of a machine unless something else is said?"""
        return isinstance(machine, self.runs_on) and self.serves(context, machine)

    def tunings(self, context: GemmContext, machine: Machine) -> Sequence[T]:
        """The space on a machine; empty where the kind does not run."""
        return self.space(context, machine) if isinstance(machine, self.runs_on) else ()


def _by_work_items(plan: GeneralPlan, machine: GpuMachine) -> float:
    """Cycles where multiprocessors are known, else what padding to whole tiles wastes."""
    if machine.multiprocessor:
        return general_cycles(plan, machine)
    return float(plan.context.wasted(*plan.tuning.tile))


def _spent_by_work_items(plan: GeneralPlan, machine: GpuMachine, _: TileSchedule) -> Spent:
    if machine.multiprocessor:
        return general.spent(plan, machine)
    return Spent({}, {"padding": _by_work_items(plan, machine)})


def _on_cpu(tuning: CpuTuning, context: GemmContext, machine: CpuMachine) -> CpuPlan:
    return tuning.plan(context)


def _by_warpgroups(context: GemmContext, machine: GpuMachine) -> bool:
    """Warpgroups have the product's type, and count rows and columns in 32 bits."""
    return len(columns_of(context.dtype, machine)) > 0 and max(context.m, context.n) <= MOST_COUNTED


def _by_waves(context: GemmContext, machine: GpuMachine) -> bool:
    """Waves have the product's type; the lane-level build stands for any GPU."""
    return machine.has_mfma and len(served(context.dtype, machine.chip)) > 0


def _always(context: GemmContext, machine: Machine) -> bool:
    return True


_ROWS: Final[tuple[Kind[Any, Any, Any], ...]] = (
    Kind(
        CpuTuning, "cpu", CpuMachine, _on_cpu, CPU_RULES,
        lambda plan, machine: cycles(plan.tuning, plan.context, machine),
        lambda plan, machine, _: cpu.spent(plan, machine), cpu_space, _always,
    ),
    Kind(
        WarpgroupTuning, "warpgroup", GpuMachine, WarpgroupTuning.plan, WARPGROUP_RULES,
        lambda plan, _: warpgroup_cycles(plan),
        lambda plan, _, schedule: warpgroup.spent(plan, schedule), warpgroup_space, _by_warpgroups,
    ),
    Kind(
        XdlopsTuning, "xdlops", GpuMachine, XdlopsTuning.plan, XDLOPS_RULES,
        lambda plan, _: wave_cycles(plan), lambda plan, _, __: xdlops.spent(plan), wave_space, _by_waves,
    ),
    Kind(
        GeneralTuning, "general", GpuMachine, GeneralTuning.plan, GENERAL_RULES,
        _by_work_items, _spent_by_work_items, general_list, _always,
    ),
    Kind(
        HaloTuning, "warpgroup", GpuMachine, HaloTuning.plan, HALO_RULES,
        lambda plan, _: HaloCost(plan).cycles, lambda plan, _, __: HaloCost(plan).spent,
    ),
    Kind(
        LinesTuning, "warpgroup", GpuMachine, LinesTuning.plan, LINE_RULES,
        lambda plan, _: LinesCost(plan).cycles, lambda plan, _, __: LinesCost(plan).spent,
    ),
    Kind(
        HaloWeightTuning, "warpgroup", GpuMachine, HaloWeightTuning.plan, HALO_WEIGHT_RULES,
        lambda plan, _: HaloWeightCost(plan).cycles, lambda plan, _, __: HaloWeightCost(plan).spent,
    ),
)  # fmt: skip
"""Rows in the order in which they are asked whether they serve."""

KINDS: Final[Mapping[type[Tuning], Kind[Any, Any, Any]]] = {row.tuning: row for row in _ROWS}


def kind_of(tuning: Tuning) -> Kind[Any, Any, Any]:
    """The row of a tuning."""
    return KINDS[type(tuning)]
