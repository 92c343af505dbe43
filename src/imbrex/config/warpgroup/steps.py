"""A step of K of warpgroup tunings on NVIDIA Hopper, and a tile of such steps: what the slowest of their
streams needs.

A step multiplies, reads shared memory, asks its copy engine for rows and gets them from L2 at the same time,
and its loads come after a latency that the stages of the ring hide, as far as there are stages: the slowest
of these streams sets the time, and those that are nearly as slow add to it.  A tile ends with the way of its
sums to memory, which cooperative consumers wait for and pingpong ones do under each other's products.

`Tile` says what a tile asks for, whatever its cluster; `Streams` are of tunings, whatever the schedule;
`Steps` adds how many workgroups run at a time, which share L2 and the chip's power.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from imbrex.cached import cached_property
from imbrex.chip import ProductRates
from imbrex.config.warpgroup.traffic import neighbours
from imbrex.config.warpgroup.tunings import Column, Numbers, OperandNumbers, Tunings

__all__ = ["Steps", "Streams", "norm"]


@dataclass(frozen=True, eq=False)
class Streams:
    """The streams of tunings, of one workgroup each."""

    tunings: Tunings

    @property
    def rates(self) -> ProductRates:
        return self.tunings.rates

    @property
    def numbers(self) -> Numbers:
        """What they are of a tile, in a cluster or not."""
        return self.tunings.numbers

    def at(
        self, active: Column | float, near: Column | float | None = None, parts: Column | int = 1
    ) -> Steps:
        """Where so many workgroups run at a time, on average over the rounds.  near: clusters that are at the
        same step of K, all of them unless told; parts: of K, which neighbours take in turn.
        """
        return Steps(self, active, active / self.tunings.cluster if near is None else near, parts)

    @cached_property
    def copies(self) -> Column:
        """Cycles of a step of a multiprocessor's copy engine."""
        of = self.tunings
        return self.rates.row * (of.a.copied / of.cluster_n + of.b.copied / of.cluster_m)

    def given(self, clusters: Column | float, near: Column | float) -> Column:
        """Rows of a step that reach L2, as work, where so many clusters are at the same step.  near: so many
        neighbours' loads become one at most.
        """
        of, (wide, high) = self.tunings, neighbours(self.tunings, clusters)
        a = self._requests(of.a, of.cluster_n, np.minimum(wide, near))
        return a + self._requests(of.b, of.cluster_m, np.minimum(high, near))

    def _requests(self, of: OperandNumbers, sharing: Column, alike: Column) -> Column:
        """A workgroup's part of an operand's requests.  Those on sectors that so many neighbours load at
        about the same time are a part of as many loads, unless they are multicast in a cluster.
        """
        each = self.rates.each_row
        own = each + (1.0 - each) / np.maximum(1.0, alike)
        part = np.where(of.is_inside, 1.0 / sharing, np.where(sharing > 1, self.rates.cast / sharing, own))
        return of.requests * part

    @cached_property
    def together(self) -> Column:
        """Cycles until all workgroups of a cluster have done with a stage that they share."""
        return np.asarray(self.rates.shared_stage * np.log2(self.tunings.cluster))


@dataclass(frozen=True, eq=False)
class Steps:
    """Streams where `active` workgroups run at a time.  neighbours: clusters at the same step of K."""

    of: Streams
    active: Column | float
    neighbours: Column | float
    parts: Column | int = 1

    @cached_property
    def given(self) -> Column:
        """Cycles of L2 for a step of all workgroups."""
        rates = self.of.rates
        return self.of.given(self.neighbours, rates.near / self.parts) * self.active / rates.l2_rows

    @cached_property
    def matrix(self) -> Column:
        """Cycles of the matrix unit: all instructions of a step, or a consumer's, one after the other."""
        rates, numbers = self.of.rates, self.of.numbers
        slowed = rates.matrix + rates.power * self.active / self.of.tunings.machine.compute_units
        return np.maximum(numbers.matrix * slowed, numbers.chain)

    @property
    def streams(self) -> Mapping[str, Column]:
        """Cycles of a step of K that each part of the chip takes, beside the others."""
        numbers = self.of.numbers
        return {
            "matrix unit": self.matrix,
            "shared memory": numbers.shared,
            "copy engine": self.of.copies,
            "L2": self.given,
            "latency": numbers.hidden,
            "ordinary loads": numbers.ordinary,
        }

    @cached_property
    def step(self) -> Column:
        """Cycles of a step of K."""
        return np.asarray(norm(self.streams.values(), self.of.rates.streams) + self.of.together)

    @property
    def multiplying(self) -> Column:
        """Cycles of a tile's steps of K."""
        return self.of.numbers.k_iterations * self.step

    @cached_property
    def tile(self) -> Column:
        """Cycles of a tile."""
        return self.multiplying + self.of.numbers.epilogue

    @property
    def next_tile(self) -> Column:
        """The same of one that follows another: pingpong consumers store under each other's products."""
        hidden = np.maximum(self.multiplying, self.tile / 2 + self.of.rates.handing)
        return np.where(self.of.numbers.is_pingpong, hidden, self.tile)


def norm(times: Iterable[Any], exponent: float) -> Any:
    """The longest of times that overlap, and more the nearer others are to it: numbers, or columns."""
    given = tuple(times)
    most = reduce(np.maximum, given)
    return most * sum((time / most) ** exponent for time in given) ** (1.0 / exponent)
