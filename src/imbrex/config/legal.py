"""Which tunings are legal, as named rules; a broken rule is a value that says so with its numbers.

Each kind of tuning has its rules beside its plan.  Law: `check` returns () exactly when the tuning may be
lowered.  Rules come in two ranks: those of the second rank divide by quantities that the first rank has found
whole, so they are asked only when the first rank holds.
"""

from __future__ import annotations

from imbrex.chip import CpuMachine, GpuMachine, Machine
from imbrex.config.context import GemmContext
from imbrex.config.cpu.legal import CPU_RULES
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.general.legal import GENERAL_RULES
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.halo.legal import HALO_RULES
from imbrex.config.halo.line_legal import LINE_RULES
from imbrex.config.halo.lines import LinesTuning
from imbrex.config.halo.plan import HaloTuning
from imbrex.config.halo_weight.legal import HALO_WEIGHT_RULES
from imbrex.config.halo_weight.plan import HaloWeightTuning
from imbrex.config.rules import Illegal
from imbrex.config.tuning import Tuning, with_article
from imbrex.config.warpgroup.legal import WARPGROUP_RULES
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.xdlops.legal import XDLOPS_RULES
from imbrex.config.xdlops.plan import XdlopsTuning

__all__ = ["CPU_RULES", "GENERAL_RULES", "WARPGROUP_RULES", "XDLOPS_RULES", "Illegal", "check"]


def check(tuning: Tuning, context: GemmContext, machine: Machine) -> tuple[Illegal, ...]:
    """Why this tuning cannot serve this GEMM on this machine; () when it can."""
    match tuning, machine:
        case GeneralTuning(), GpuMachine():
            return GENERAL_RULES.broken(tuning.plan(context, machine), machine)
        case XdlopsTuning(), GpuMachine():
            return XDLOPS_RULES.broken(tuning.plan(context, machine), machine)
        case WarpgroupTuning(), GpuMachine():
            return WARPGROUP_RULES.broken(tuning.plan(context, machine), machine)
        case HaloTuning(), GpuMachine():
            return HALO_RULES.broken(tuning.plan(context, machine), machine)
        case HaloWeightTuning(), GpuMachine():
            return HALO_WEIGHT_RULES.broken(tuning.plan(context, machine), machine)
        case LinesTuning(), GpuMachine():
            return LINE_RULES.broken(tuning.plan(context, machine), machine)
        case CpuTuning(), CpuMachine():
            return CPU_RULES.broken(tuning.plan(context), machine)
        case _:
            return (Illegal("kind", f"{with_article(tuning.kind)} tuning does not run on {machine.name}"),)
