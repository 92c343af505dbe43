"""What one thread of a CPU takes for each launch of a configuration, by the models of products and copies."""

from __future__ import annotations

from dataclasses import replace

from imbrex.chip import CpuMachine
from imbrex.config.algorithm.product import Launch, Products
from imbrex.config.configuration import Configuration
from imbrex.config.cpu.cost import cycles
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.products import products
from imbrex.config.window_strips import window_cycles
from imbrex.problem import Problem

__all__ = ["launch_cycles"]


def launch_cycles(problem: Problem, of: Configuration, machine: CpuMachine) -> tuple[float, ...]:
    """Cycles of each launch, in order; none where the model knows of no products and copies."""
    made, single = products(problem, of, machine), replace(machine, threads=1)
    if not isinstance(made, Products):
        assert of.strips is not None, of
        return (window_cycles(made.shape, of.strips, machine),)
    multiplied: list[float] = []
    for product, tuned in zip(made.products, of.products, strict=True):
        assert isinstance(tuned.tuning, CpuTuning), tuned
        multiplied.append(cycles(tuned.tuning, product.context, single))
    return (
        *(_copied(launch, machine) for launch in made.before),
        *multiplied,
        *(_copied(launch, machine) for launch in made.after),
    )


def _copied(launch: Launch, machine: CpuMachine) -> float:
    """Vectors that are read and written."""
    return launch.moved_bytes / (2 * machine.vector_bytes) * machine.prices.copy
