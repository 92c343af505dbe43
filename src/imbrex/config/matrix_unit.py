"""Will matrix instructions multiply, those of waves or of warpgroups?"""

from __future__ import annotations

from imbrex.chip import GpuMachine, Machine
from imbrex.config.halo.plan import WindowTuning
from imbrex.config.request import Request
from imbrex.config.warpgroup.instruction import columns_of
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.xdlops.mfma import served
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.dtype import DType

__all__ = ["has_matrix_instructions", "multiplies"]


def has_matrix_instructions(request: Request) -> bool:
    """Will matrix instructions multiply?  They want a step of K at one tap of a window: its lanes then have
    one guard a load.
    """
    if request.tuning is not None:
        of_waves = XdlopsTuning | WarpgroupTuning | WindowTuning
        return isinstance(request.tuning, of_waves)
    return multiplies(request.machine, request.problem.dtype)


def multiplies(machine: Machine, dtype: DType) -> bool:
    """Has the machine matrix instructions of this type, of waves or of warpgroups?"""
    if not isinstance(machine, GpuMachine):
        return False
    return bool(columns_of(dtype, machine) if machine.has_warpgroups else served(dtype, machine.chip))
