"""How long the shares of work are where clusters share the units of products, for many tunings at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from imbrex.config.warpgroup.tunings import Column
from imbrex.view.work.streamk import Mode, Plan, Section, Tiles

__all__ = ["SectionColumns", "Shares", "shares"]

NO_SECTION: Final = Section(0, 0, 1, 1)


@dataclass(frozen=True, eq=False)
class SectionColumns:
    """A section of the line of steps: how many it has, how many of them a share has, and a unit takes."""

    tiles: Column
    share: Column
    k_span: Column


@dataclass(frozen=True, eq=False)
class Shares:
    """sections: in the order of time; parts: partial sums that an owner adds at most."""

    sections: Sequence[SectionColumns]
    parts: Column


def shares(mode: Mode, units: Column, k: Column, clusters: Column) -> Shares:
    """The shares of so many units, of k steps each, among so many clusters."""
    cases, which = np.unique(np.stack([units, k, clusters]), axis=1, return_inverse=True)
    plans = [Plan(Tiles(units, 1, k), clusters, mode) for units, k, clusters in cases.T.tolist()]
    count = max((len(plan.sections) for plan in plans), default=0)
    padded = [[*plan.sections, *[NO_SECTION] * (count - len(plan.sections))] for plan in plans]
    numbers = np.array([[(s.tiles, s.share, s.k_span) for s in each] for each in padded], np.int64)
    parts = np.array([plan.most_received for plan in plans], np.int64)
    which = which.reshape(-1)
    return Shares([SectionColumns(*numbers[which, i].T) for i in range(count)], parts[which])
