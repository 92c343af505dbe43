"""What the models say of given configurations, on machines of which only parameters differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp
from typing import TypeAlias

from imbrex.chip import CpuMachine, GpuMachine, Machine
from imbrex.config.algorithm.cost import in_all
from imbrex.config.algorithm.product import Products
from imbrex.config.configuration import Configuration, TunedProduct
from imbrex.config.context import GemmContext
from imbrex.config.cpu.cost import cycles
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.products import products
from imbrex.config.request import Request
from imbrex.config.warpgroup.correction import log_correction
from imbrex.config.warpgroup.cost import schedule_cycles
from imbrex.config.warpgroup.plan import WarpgroupTuning

__all__ = ["Modelled", "is_modelled", "modelled"]

Modelled: TypeAlias = Callable[[Machine], list[float]]
"""Cycles of configurations, in their order, on a machine."""


def is_modelled(configuration: Configuration) -> bool:
    """Are all of its products of warpgroups, or of a CPU and whole tiles?"""
    found = configuration.products
    return bool(found) and all(
        isinstance(p.tuning, WarpgroupTuning)
        or (isinstance(p.tuning, CpuTuning) and not p.schedule.is_shared)
        for p in found
    )


def modelled(request: Request, configurations: Sequence[Configuration]) -> Modelled:
    """The model of configurations that `is_modelled`."""
    made = [products(request.problem, of, request.machine) for of in configurations]

    def found(machine: Machine) -> list[float]:
        here = replace(request, machine=machine)
        return [_whole(here, of, each) for of, each in zip(configurations, made, strict=True)]

    return found


def _whole(request: Request, of: Configuration, made: object) -> float:
    assert isinstance(made, Products), made
    pairs = zip(of.products, made.products, strict=True)
    multiplied = sum(_cycles(tuned, product.context, request.machine) for tuned, product in pairs)
    return in_all(request, of.algorithm, made, multiplied)


def _cycles(tuned: TunedProduct, context: GemmContext, machine: Machine) -> float:
    match tuned.tuning, machine:
        case CpuTuning() as tuning, CpuMachine():
            return cycles(tuning, context, machine)
        case WarpgroupTuning() as tuning, GpuMachine():
            plan = tuning.plan(context, machine)
            return schedule_cycles(plan, tuned.schedule) * exp(log_correction(plan, tuned.schedule))
        case _:
            raise AssertionError(tuned)
