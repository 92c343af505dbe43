"""The tuning and the schedule of one product: what the model takes, and what a given one has to keep to."""

from __future__ import annotations

from dataclasses import replace

from imbrex.chip import WARPGROUPS, GpuMachine, Machine
from imbrex.config import choose, schedule_choice
from imbrex.config.configuration import TunedProduct
from imbrex.config.context import GemmContext
from imbrex.config.general import choice as general_choice
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.halo.plan import WindowTuning
from imbrex.config.kinds import Family, kind_of
from imbrex.config.tile_order import ordered
from imbrex.config.tiles import AUTO, DATA_PARALLEL, Auto, TileSchedule
from imbrex.config.tuning import Tuning, is_pipelined
from imbrex.config.warpgroup import choice as warpgroup_choice
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.config.xdlops.reduce import meeting, pieces_of
from imbrex.diagnostic import Diagnostic
from imbrex.view.work.streamk import ADDED
from imbrex.view.work.workgroup import RasterOrder

__all__ = ["chosen", "expect_served", "of_offer", "whole"]


def chosen(
    context: GemmContext,
    machine: Machine,
    family: Family,
    given: Tuning | None,
    schedule: TileSchedule | Auto,
) -> TunedProduct:
    """A product's tuning, the one that is given or the best by the model of a family, and the schedule of its
    tiles, with an order where one is worth it.
    """
    if given is not None:
        choose.require(given, context, machine)
    tuning, shared = _scheduled(context, machine, family, given, schedule)
    return TunedProduct(tuning, resolved(tuning, shared, machine))


def of_offer(offer: schedule_choice.Offer, context: GemmContext, machine: Machine) -> TunedProduct:
    """An offer's tuning and schedule, with an order of tiles where one is worth it."""
    schedule = ordered(offer.schedule, offer.tuning, context, machine)
    return TunedProduct(offer.tuning, resolved(offer.tuning, schedule, machine))


def whole(tuning: Tuning, context: GemmContext, machine: Machine) -> TunedProduct:
    """A workgroup for each tile, in an order where one is worth it."""
    return TunedProduct(tuning, resolved(tuning, ordered(DATA_PARALLEL, tuning, context, machine), machine))


def expect_served(product: TunedProduct, context: GemmContext, machine: Machine) -> None:
    """A Diagnostic where a product cannot have this tuning, or its tiles not this schedule."""
    tuning, schedule = product.tuning, product.schedule
    choose.require(tuning, context, machine)
    if not is_pipelined(tuning):
        schedule = replace(schedule, order=schedule.order or RasterOrder())
    _scheduled(context, machine, kind_of(tuning).family, tuning, schedule)


def _scheduled(
    context: GemmContext,
    machine: Machine,
    family: Family,
    given: Tuning | None,
    schedule: TileSchedule | Auto,
) -> tuple[Tuning, TileSchedule]:
    if isinstance(given, WindowTuning):
        if schedule not in (AUTO, DATA_PARALLEL):
            raise Diagnostic(f"windows of one step of K are not shared by {schedule}", hint="leave it out")
        return given, DATA_PARALLEL
    if schedule != AUTO and schedule.mode in ADDED:
        _expect_reducing(family if given is None else given.kind, schedule)
    if isinstance(machine, GpuMachine) and (family if given is None else given.kind) == "warpgroup":
        assert given is None or isinstance(given, WarpgroupTuning)
        if schedule != AUTO and schedule.order is not None:
            hint = "its 'group' is the number of tiles along rows before the next column"
            raise Diagnostic("a tuning of warpgroups has an order of tiles of its own", hint=hint)
        return warpgroup_choice.scheduled(context, machine, given, schedule)
    if schedule != AUTO and schedule.mode == "cluster_k":
        where = f"workgroups of warpgroups, on {WARPGROUPS.name}"
        raise Diagnostic(f"{schedule} is for {where}", hint="say split_k")
    if schedule == AUTO and isinstance(machine, GpuMachine) and machine.multiprocessor:
        assert given is None or isinstance(given, GeneralTuning)
        return general_choice.scheduled(context, machine, given)
    if schedule == AUTO:
        offer = schedule_choice.best(context, machine, family, given)
        return offer.tuning, ordered(offer.schedule, offer.tuning, context, machine)
    assert isinstance(schedule, TileSchedule)
    taken = given or schedule_choice.tuning_for(schedule, context, machine, family)
    if schedule.mode == "scatter_k" and isinstance(taken, XdlopsTuning) and isinstance(machine, GpuMachine):
        _expect_meeting(taken, schedule.on(machine), context, machine)
    return taken, ordered(schedule, taken, context, machine)


def _expect_reducing(kind: str, schedule: TileSchedule) -> None:
    """A Diagnostic where partial sums need owners."""
    if kind != XdlopsTuning.kind:
        raise Diagnostic(f"{schedule} is for waves that multiply matrices, on AMD GPUs", hint="say split_k")
    if schedule.order is not None and not schedule.order.is_plain:
        said = f"{schedule.mode} begins tiles in the order of their numbers"
        raise Diagnostic(said, hint="leave the order out")


def _expect_meeting(
    tuning: XdlopsTuning, schedule: TileSchedule, context: GemmContext, machine: GpuMachine
) -> None:
    """A Diagnostic where more workgroups wait for each other than surely run together."""
    plan, most = tuning.plan(context, machine), meeting(machine)
    if (pieces := pieces_of(plan, schedule)) > most:
        message = f"{schedule}: {pieces} workgroups of a tile wait for each other"
        hint = f"{schedule.mode}:{most * plan.grid_size} has as many, and reduce_k waits for nobody"
        raise Diagnostic(f"{message}, and a die of {machine.name} surely runs {most} at a time", hint=hint)


def resolved(tuning: Tuning, schedule: TileSchedule, machine: Machine) -> TileSchedule:
    """The schedule with its number of workgroups, and without an order that says nothing."""
    order = None if schedule.order is None or schedule.order.is_plain else schedule.order
    if isinstance(tuning, WarpgroupTuning) and isinstance(machine, GpuMachine):
        count = schedule.workgroups or machine.clusters_at_a_time(tuning.cluster)  # clusters compute units
    else:
        count = schedule.on(machine).workgroups
    return TileSchedule(schedule.mode, count if schedule.is_shared else None, order)
