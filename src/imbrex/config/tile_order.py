"""The order in which a GPU's workgroups begin tiles: the one of which most tiles of A and B are found in L2.

For data_parallel, groups of 1 to 64 tiles along m and along n, with and without gathering what hardware deals
to dies, go through `l2.sampled`.  An order must save GAIN of all that is asked for, or tiles stay in the
order of their numbers; of orders within SLACK of the best one, the simplest is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from imbrex.chip import L2, GpuMachine, Machine
from imbrex.config.context import GemmContext
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.l2 import sampled
from imbrex.config.tiles import TileSchedule, resident
from imbrex.config.tuning import Tuning
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.config.xdlops.residency import groups_at_a_time
from imbrex.view.work.workgroup import ALONG, RasterOrder, begun

__all__ = ["GAIN", "Blocks", "RasterOffer", "at_a_time", "offers", "ordered"]

GAIN = 0.02
SLACK = 0.005
GROUPS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Blocks:
    """The output tiles of a tuned product as its kernel sees them.  a_bytes, b_bytes: of a step's tiles."""

    batches: int
    rows: int
    columns: int
    a_bytes: int
    b_bytes: int

    @property
    def count(self) -> int:
        return self.batches * self.rows * self.columns


@dataclass(frozen=True)
class RasterOffer:
    """An order, and how many of the tiles that it asks for are found in L2."""

    order: RasterOrder
    hit_rate: float


def ordered(schedule: TileSchedule, tuning: Tuning, context: GemmContext, machine: Machine) -> TileSchedule:
    """The schedule with an order of tiles, where it has none, caches are known, and one is worth it."""
    if schedule.order is not None or schedule.is_shared:
        return schedule
    plain, *others = offers(tuning, context, machine) or [RasterOffer(RasterOrder(), 1.0)]
    if not others or others[0].hit_rate < plain.hit_rate + GAIN:
        return schedule
    return replace(schedule, order=others[0].order)


def offers(tuning: Tuning, context: GemmContext, machine: Machine) -> list[RasterOffer]:
    """The order of the tiles' numbers, then the others, the best first; none where no cache is known, or
    where all tiles run at once and leave compute units free.
    """
    blocks = _blocks(tuning, context, machine)
    if blocks is None or machine.l2 is None or blocks.count < resident(machine):
        return []
    return list(_offers(blocks, at_a_time(tuning, context, machine), machine.l2))


def at_a_time(tuning: Tuning, context: GemmContext, machine: Machine) -> int:
    """Workgroups that run at a time: as many as compute units hold of a tuning of waves, else one a unit."""
    if isinstance(tuning, XdlopsTuning) and isinstance(machine, GpuMachine):
        return groups_at_a_time(tuning.plan(context, machine))
    return resident(machine)


@lru_cache(maxsize=256)
def _offers(blocks: Blocks, begun_at_once: int, cache: L2) -> tuple[RasterOffer, ...]:
    first, *others = [
        RasterOffer(o, _hit_rate(o, blocks, begun_at_once, cache)) for o in _orders(blocks, cache.xcds)
    ]
    if not others:
        return (first,)
    enough = max(offer.hit_rate for offer in others) - SLACK
    return first, *sorted(others, key=lambda offer: -min(offer.hit_rate, enough))


def _orders(blocks: Blocks, xcds: int) -> Iterator[RasterOrder]:
    """The plain one first, the others from simple to less so."""
    for dies in dict.fromkeys((1, xcds)):
        for group in GROUPS:
            for along in ALONG:
                lines = blocks.rows if along == "m" else blocks.columns
                if group == 1 or group < 2 * lines:
                    yield RasterOrder(group, along, dies)


def _hit_rate(order: RasterOrder, blocks: Blocks, begun_at_once: int, cache: L2) -> float:
    tiles = begun(blocks.batches, blocks.rows, blocks.columns, order.group, order.along, order.xcds)
    return sampled(tiles, begun_at_once, cache, (blocks.a_bytes, blocks.b_bytes)).hit_rate


def _blocks(tuning: Tuning, context: GemmContext, machine: Machine) -> Blocks | None:
    match tuning, machine:
        case XdlopsTuning(), GpuMachine():
            rows, columns = tuning.plan(context, machine).blocks
            (of_a, of_b), (m, n, k) = context.element_bytes, tuning.tile
            bytes_of = m * k * of_a, n * k * of_b
            return Blocks(context.g, rows, columns, *(bytes_of[::-1] if tuning.swapped else bytes_of))
        case GeneralTuning(), GpuMachine():
            rows, columns = tuning.plan(context, machine).blocks
            size, (m, n, k) = context.dtype.bytes, tuning.tile
            return Blocks(context.g, rows, columns, m * k * size, n * k * size)
        case _:
            return None
