"""The rates that models of kernels of warpgroups have of a machine: those of its row."""

from __future__ import annotations

from imbrex.chip import GpuMachine, WarpgroupRates

__all__ = ["rates_of"]


def rates_of(machine: GpuMachine) -> WarpgroupRates:
    """Whoever asks has found that warpgroups multiply there, of which a row says how fast."""
    found = machine.warpgroup_rates
    assert found is not None, f"no rates of warpgroups are known of {machine.name}"
    return found
