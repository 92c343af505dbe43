"""Warpgroup tunings of one product side by side: columns of numbers, so that all are priced at a time.

A tuning is a tile in a cluster; what its tile costs stands in `Tile`, once for all clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from imbrex.cached import cached_property
from imbrex.chip import GpuMachine, ProductRates
from imbrex.config.context import GemmContext
from imbrex.config.warpgroup.plan import WarpgroupPlan
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.warpgroup.tile import Tile

__all__ = ["Column", "Numbers", "OperandNumbers", "Tunings", "at_a_time", "dealt"]

Column: TypeAlias = npt.NDArray[Any]
"""A number for each tuning."""


class Numbers(NamedTuple):
    """The numbers of `Tile` of the same names."""

    rows: Column
    columns: Column
    stages: Column
    is_pingpong: Column
    is_swapped: Column
    tall: Column
    broad: Column
    k_iterations: Column
    matrix: Column
    chain: Column
    shared: Column
    first: Column
    hidden: Column
    ordinary: Column
    epilogue: Column
    sums_bytes: Column
    fix_up: Column


class OperandNumbers(NamedTuple):
    """The numbers of `TileOperand` of the same names."""

    bytes: Column
    array: Column
    copied: Column
    requests: Column
    is_inside: Column


@dataclass(frozen=True, eq=False)
class Tunings:
    """Tilings of one product on one machine.  tiles: each once; tile: which one a tuning has.  cluster_m,
    cluster_n: workgroups of a cluster; group: clusters before the next column.
    """

    tiles: Sequence[Tile]
    tile: Column
    numbers: Numbers
    a: OperandNumbers
    b: OperandNumbers
    cluster_m: Column
    cluster_n: Column
    group: Column

    @classmethod
    def of(cls, *plans: WarpgroupPlan) -> Tunings:
        """Tunings of plans of one product."""
        clusters = [(p.tuning.cluster_m, p.tuning.cluster_n, p.tuning.group) for p in plans]
        return cls.clustered([Tile(plan) for plan in plans], np.arange(len(plans)), *np.array(clusters).T)

    @classmethod
    def clustered(
        cls, tiles: Sequence[Tile], tile: Column, cluster_m: Column, cluster_n: Column, group: Column
    ) -> Tunings:
        """Tiles in clusters."""
        numbers = Numbers(*_columns(Numbers._fields, tiles, tile))
        a, b = (
            OperandNumbers(*_columns(OperandNumbers._fields, operands, tile))
            for operands in ([of.a for of in tiles], [of.b for of in tiles])
        )
        return cls(tiles, tile, numbers, a, b, cluster_m, cluster_n, group)

    def __len__(self) -> int:
        return len(self.tile)

    def taken(self, which: Column) -> Tunings:
        """Some of them, by their numbers, or by whether they are meant."""
        numbers = Numbers(*(column[which] for column in self.numbers))
        a, b = (OperandNumbers(*(column[which] for column in of)) for of in (self.a, self.b))
        clusters = (of[which] for of in (self.cluster_m, self.cluster_n, self.group))
        return Tunings(self.tiles, self.tile[which], numbers, a, b, *clusters)

    def on(self, machine: GpuMachine) -> Tunings:
        """The same for a machine of the same kind and other rates."""
        tiles = [Tile(replace(tile.plan, machine=machine)) for tile in self.tiles]
        return self.clustered(tiles, self.tile, self.cluster_m, self.cluster_n, self.group)

    def plan(self, index: int) -> WarpgroupPlan:
        """One of them."""
        of = self.tiles[int(self.tile[index])].plan
        m, n, group = (int(column[index]) for column in (self.cluster_m, self.cluster_n, self.group))
        return replace(of.tuning, cluster_m=m, cluster_n=n, group=group).plan(of.context, of.machine)

    def column(self, of: Callable[[Tile], float]) -> Column:
        """What is so of each one's tile."""
        return np.array([of(tile) for tile in self.tiles])[self.tile]

    @property
    def context(self) -> GemmContext:
        return self.tiles[0].plan.context

    @property
    def machine(self) -> GpuMachine:
        return self.tiles[0].plan.machine

    @property
    def rates(self) -> ProductRates:
        return rates_of(self.machine).product

    @cached_property
    def cluster(self) -> Column:
        """Workgroups of a cluster."""
        return self.cluster_m * self.cluster_n

    @cached_property
    def resident(self) -> Column:
        """Clusters that run at a time."""
        return at_a_time(self.cluster, self.machine)

    @cached_property
    def dealt(self) -> Column:
        """Clusters that run at a time where none waits for another."""
        return dealt(self.cluster, self.units, self.machine)

    @cached_property
    def row_blocks(self) -> Column:
        """Units, each the tiles of one cluster, along the rows."""
        return -(-self.numbers.tall // self.cluster_m)

    @cached_property
    def column_blocks(self) -> Column:
        return -(-self.numbers.broad // self.cluster_n)

    @cached_property
    def units(self) -> Column:
        """Units of all products of a batch."""
        return self.context.g * self.row_blocks * self.column_blocks


def _columns(names: Sequence[str], of: Sequence[object], which: Column) -> Iterator[Column]:
    """What each of these names says of those that are meant."""
    return (np.array([getattr(one, name) for one in of])[which] for name in names)


def at_a_time(cluster: Column, machine: GpuMachine) -> Column:
    """Clusters of so many workgroups that surely run at a time."""
    return _by_size(cluster, machine.clusters_at_a_time)


def dealt(cluster: Column, units: Column, machine: GpuMachine) -> Column:
    """Clusters of so many workgroups that run at a time where none waits for another, as many as there are
    units where a GPU usually runs those.
    """
    surely, usually = at_a_time(cluster, machine), _by_size(cluster, machine.clusters_usually)
    return np.where(units <= usually, usually, surely)


def _by_size(cluster: Column, clusters: Callable[[int], int]) -> Column:
    sizes, which = np.unique(cluster, return_inverse=True)
    return np.array([clusters(int(size)) for size in sizes], np.int64)[which]
