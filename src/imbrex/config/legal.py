"""Which tunings are legal, as named rules; a broken rule is a value that says so with its numbers.

Each kind of tuning has its rules beside its plan.  Law: `check` returns () exactly when the tuning may be
lowered.  Rules come in two ranks: those of the second rank divide by quantities that the first rank has found
whole, so they are asked only when the first rank holds.  A choice asks of a tuning several times, and pays
once.
"""

from __future__ import annotations

from functools import lru_cache

from imbrex.chip import Machine
from imbrex.config.context import GemmContext
from imbrex.config.cpu.legal import CPU_RULES
from imbrex.config.general.legal import GENERAL_RULES
from imbrex.config.kinds import kind_of
from imbrex.config.rules import Illegal
from imbrex.config.tuning import Tuning
from imbrex.config.warpgroup.legal import WARPGROUP_RULES
from imbrex.config.xdlops.legal import XDLOPS_RULES

__all__ = ["CPU_RULES", "GENERAL_RULES", "WARPGROUP_RULES", "XDLOPS_RULES", "Illegal", "check"]


@lru_cache(maxsize=4096)
def check(tuning: Tuning, context: GemmContext, machine: Machine) -> tuple[Illegal, ...]:
    """Why this tuning cannot serve this GEMM on this machine; () when it can."""
    return kind_of(tuning).broken(tuning, context, machine)
