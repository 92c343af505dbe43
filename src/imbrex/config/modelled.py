"""What the models say of given configurations, on machines of which only parameters differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
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
from imbrex.config.tuning import Tuning
from imbrex.config.warpgroup.correction import log_correction
from imbrex.config.warpgroup.cost import cycles_of
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
        tuned = [
            (one, product.context)
            for of, each in zip(configurations, made, strict=True)
            for one, product in zip(of.products, _of(each).products, strict=True)
        ]
        multiplied = iter(_cycles(tuned, machine))
        return [
            in_all(here, of.algorithm, _of(each), sum(islice(multiplied, len(of.products))))
            for of, each in zip(configurations, made, strict=True)
        ]

    return found


def _of(made: object) -> Products:
    assert isinstance(made, Products), made
    return made


def _cycles(tuned: Sequence[tuple[TunedProduct, GemmContext]], machine: Machine) -> list[float]:
    """Cycles of the multiplying of each."""
    if isinstance(machine, CpuMachine):
        return [cycles(_cpu(one.tuning), context, machine) for one, context in tuned]
    assert isinstance(machine, GpuMachine), machine
    plans = [(_warpgroup(one.tuning).plan(context, machine), one.schedule) for one, context in tuned]
    return [each * exp(log_correction(*pair)) for each, pair in zip(cycles_of(plans), plans, strict=True)]


def _cpu(tuning: Tuning) -> CpuTuning:
    assert isinstance(tuning, CpuTuning), tuning
    return tuning


def _warpgroup(tuning: Tuning) -> WarpgroupTuning:
    assert isinstance(tuning, WarpgroupTuning), tuning
    return tuning
