"""Configurations as numbers, for a regression over what was measured; and their tiles as families.

    features     a row a configuration: the log of the model's cycles, the log of every number that was
                 chosen, and a column of zeros and ones for every word; each with mean 0 and variance 1
    family_of    the algorithm and the tiles of a configuration, without what else was chosen about them

Laws: a column that says nothing is left out.  A number that a configuration does not have is its column's
mean, so it says nothing; that it is missing a column of words says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from math import log, log2, nan
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from imbrex.config.configuration import Configuration, TunedProduct
from imbrex.config.tuning import Tuning

__all__ = ["Floats", "Ranked", "family_of", "features", "log_cycles"]

Floats: TypeAlias = NDArray[np.float64]

SMALLEST_SPREAD = 1e-9
"""Standard deviation under which a column is taken to be constant."""
FEWEST, MOST = 1e-9, 1e30
"""Cycles that are taken for none and for infinitely many."""
TILE_FIELDS = ("m_per_thread", "n_per_thread", "rows", "lines", "width", "n_per_block", "m_per_block")


class Ranked(Protocol):
    """A configuration with the model's cycles, which count only against those of its neighbours."""

    @property
    def configuration(self) -> Configuration: ...
    @property
    def cycles(self) -> float: ...


def features(candidates: Sequence[Ranked]) -> Floats:
    """A row a candidate, a standardised column for each thing in which candidates differ."""
    rows = [dict(_described(candidate)) for candidate in candidates]
    names = sorted({name for row in rows for name in row})
    table = np.array([[row.get(name, _absent(name)) for name in names] for row in rows], dtype=np.float64)
    table = table.reshape(len(rows), len(names))
    if not table.size:
        return table
    missing = np.isnan(table)
    counts = np.maximum(1, (~missing).sum(axis=0))
    table -= np.where(missing, 0.0, table).sum(axis=0) / counts
    table[missing] = 0.0
    spread = table.std(axis=0)
    kept = spread > SMALLEST_SPREAD
    return table[:, kept] / spread[kept]


def log_cycles(candidate: Ranked) -> float:
    """The logarithm of the model's cycles; of those that it does not know, one that is finite."""
    return log(min(max(candidate.cycles, FEWEST), MOST))


def family_of(configuration: Configuration) -> str:
    """The algorithm, and each product's kind and tile: a work item's on a CPU, the workgroup's elsewhere."""
    parts = dict.fromkeys(_tile(product.tuning) for product in configuration.products)
    return " ".join((configuration.algorithm, str(configuration.strips or ""), *parts))


def _tile(tuning: Tuning) -> str:
    has_register_tile = tuning.kind == "cpu"
    names = [name for name in TILE_FIELDS if hasattr(tuning, name)]
    chosen = names[:2] if has_register_tile else [name for name in names if not name.endswith("_thread")]
    side = "swapped" if getattr(tuning, "swapped", False) else ""
    return f"{tuning.kind}:{','.join(str(getattr(tuning, name)) for name in chosen)}{side}"


def _absent(name: str) -> float:
    """What a row without this name has: a word is not there, a number is not known."""
    return 0.0 if _is_word(name) else nan


def _is_word(name: str) -> bool:
    return "=" in name


def _described(candidate: Ranked) -> Iterator[tuple[str, float]]:
    configuration = candidate.configuration
    yield "cycles", log_cycles(candidate)
    yield f"algorithm={configuration.algorithm}", 1.0
    yield "taps=first", float(configuration.taps_first)
    yield "images=last", float(configuration.images_last)
    yield "place=own", float(configuration.in_place)
    yield "flags=own", float(configuration.has_flags)
    yield "channels", log2(configuration.channels)
    if configuration.strips is not None:
        yield from ((f"strips.{n}", log2(v)) for n, v in configuration.strips._asdict().items())
    found: dict[str, list[float]] = {}
    for product in configuration.products:
        for name, value in _of_product(product):
            found.setdefault(name, []).append(value)
    for name, values in found.items():
        yield name, sum(values) / (len(configuration.products) if _is_word(name) else len(values))


def _of_product(product: TunedProduct) -> Iterator[tuple[str, float]]:
    tuning, schedule = product.tuning, product.schedule
    for field in fields(tuning):
        value = getattr(tuning, field.name)
        if isinstance(value, str | bool):
            yield f"{field.name}={value}", 1.0
        else:
            yield f"{tuning.kind}.{field.name}", log2(max(1, value))
    yield f"kind={tuning.kind}", 1.0
    yield f"schedule={schedule.mode}", 1.0
    yield f"order={schedule.order}", 1.0
    yield "early=yes", float(product.is_early)
    if schedule.workgroups is not None:
        yield "workgroups", log2(max(1, schedule.workgroups))
