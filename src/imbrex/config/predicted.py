"""Predicted time of a configuration on an AMD GPU; nobody measured it."""

from __future__ import annotations

from collections.abc import Sequence

from imbrex.chip import GpuMachine
from imbrex.config.algorithm.product import Products
from imbrex.config.configuration import Configuration, TunedProduct
from imbrex.config.context import GemmContext
from imbrex.config.products import products
from imbrex.config.request import Request
from imbrex.config.schedule_choice import shared_cycles
from imbrex.config.xdlops.at_once import clocks_at_once, is_at_once
from imbrex.config.xdlops.cost import prediction_of
from imbrex.config.xdlops.plan import XdlopsPlan, XdlopsTuning
from imbrex.timing.kernel import device_of

__all__ = ["predicted_seconds"]


def predicted_seconds(request: Request, of: Configuration) -> float | None:
    """Seconds of all launches; None where the model knows one of them not: copies, vector instructions."""
    machine = request.machine
    if not isinstance(machine, GpuMachine) or machine.device is None or machine.rates is None:
        return None
    made = products(request.problem, of, machine)
    if not isinstance(made, Products) or made.launches or made.filled:
        return None
    if is_at_once(of.products):
        return _seconds_at_once(of.products, [product.context for product in made.products], machine)
    pairs = zip(of.products, made.products, strict=True)
    found = [_seconds(tuned, product.context, machine) for tuned, product in pairs]
    known = [seconds for seconds in found if seconds is not None]
    return sum(known) if len(known) == len(found) else None


def _seconds_at_once(
    tuned: Sequence[TunedProduct], contexts: Sequence[GemmContext], machine: GpuMachine
) -> float | None:
    """The clock is that of the largest product."""
    tunings = [one.tuning for one in tuned if isinstance(one.tuning, XdlopsTuning)]
    plans = [one.plan(context, machine) for one, context in zip(tunings, contexts, strict=True)]
    if any(plan.wave_tiles is None for plan in plans):
        return None
    hz = prediction_of(max(plans, key=lambda plan: plan.k_iterations)).hz
    return (clocks_at_once(plans) + device_of(machine).launch) / hz


def _seconds(tuned: TunedProduct, context: GemmContext, machine: GpuMachine) -> float | None:
    if not isinstance(tuned.tuning, XdlopsTuning):
        return None
    plan = tuned.tuning.plan(context, machine)
    if plan.wave_tiles is None:
        return None
    if not tuned.schedule.is_shared:
        return prediction_of(plan).seconds
    return _shared_seconds(tuned, plan, machine)


def _shared_seconds(tuned: TunedProduct, plan: XdlopsPlan, machine: GpuMachine) -> float:
    """The clock is that of one workgroup a tile: the same work in other shares."""
    device = device_of(machine)
    clocks = shared_cycles(tuned.schedule, tuned.tuning, plan.context, machine)
    return (clocks + device.launch) / prediction_of(plan).hz
