"""What a launch is told beside its tuning, by what its product or copy costs: decided here, for all targets.

    most_threads    on a CPU: as many as make it end soonest (`cpu.team`)
    kept_waves      on AMD: waves of a SIMD that the compiler leaves registers for (`xdlops.residency`)

Whether a launch may begin before the one ahead has ended is a part of the configuration's text (`overlap`).

Law: hints follow from the problem, the configuration and the machine's row in `chip`, never from this host's
caches or calibration: a configuration has one source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from imbrex.chip import CPU_ISAS, CpuMachine, GpuMachine, Machine
from imbrex.config.algorithm.product import Products
from imbrex.config.buckets import of_most
from imbrex.config.configuration import Configuration, TunedProduct
from imbrex.config.context import GemmContext
from imbrex.config.cpu.team import team
from imbrex.config.launch_cycles import launch_cycles
from imbrex.config.products import products
from imbrex.config.request import Request
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.config.xdlops.reduce import pieces_of
from imbrex.config.xdlops.residency import kept_waves

__all__ = ["LaunchHints", "launch_hints", "launches_of"]


@dataclass(frozen=True)
class LaunchHints:
    """See the module's first lines; None: the launch is told nothing."""

    most_threads: int | None = None
    kept_waves: int | None = None


NOTHING = LaunchHints()


def launch_hints(request: Request, of: Configuration, grid_sizes: Sequence[int]) -> tuple[LaunchHints, ...]:
    """One for each kernel, in order.  grid_sizes: workgroups of each; of a run-time size, the most."""
    machine = request.machine
    if isinstance(machine, CpuMachine):
        found = _of_cpu(request, of, grid_sizes)
    elif machine.has_mfma:
        found = _of_waves(request, of, machine, len(grid_sizes))
    else:
        return (NOTHING,) * len(grid_sizes)
    assert len(found) == len(grid_sizes), (str(of), len(found), len(grid_sizes))
    return found


def _of_cpu(request: Request, of: Configuration, grid_sizes: Sequence[int]) -> tuple[LaunchHints, ...]:
    level = CPU_ISAS[request.machine.name]
    cycles = launch_cycles(of_most(request).problem, of, level)
    teams = (team(one, size, size, level) for one, size in zip(cycles, grid_sizes, strict=True))
    return tuple(LaunchHints(most_threads=one.threads) for one in teams)


def _of_waves(
    request: Request, of: Configuration, machine: GpuMachine, count: int
) -> tuple[LaunchHints, ...]:
    made = products(request.problem, of, machine)
    if not isinstance(made, Products):
        return (NOTHING,) * count
    multiplied = zip(of.products, made.products, strict=True)
    kept = (hint for tuned, product in multiplied for hint in _kept(tuned, product.context, machine))
    return (*(NOTHING for _ in made.before), *kept, *(NOTHING for _ in made.after))


def _kept(product: TunedProduct, context: GemmContext, machine: GpuMachine) -> tuple[LaunchHints, ...]:
    """Hints of a product, and of the launch that adds its partial sums, where there is one."""
    if not isinstance(product.tuning, XdlopsTuning):
        return (NOTHING,)
    own = LaunchHints(kept_waves=kept_waves(product.tuning.plan(context, machine)))
    return (own, *[NOTHING] * (launches_of(product, context, machine) - 1))


def launches_of(product: TunedProduct, context: GemmContext, machine: Machine) -> int:
    """Launches of a product: two where the second adds partial sums, though a GPU may run both as one."""
    if not isinstance(product.tuning, XdlopsTuning) or not isinstance(machine, GpuMachine):
        return 1
    return 2 if pieces_of(product.tuning.plan(context, machine), product.schedule) > 1 else 1
