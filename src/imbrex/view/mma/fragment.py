"""What the maps of a matrix instruction say of its registers: neighbours along m, parts of k."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from imbrex.index.map import Map

__all__ = ["KParts", "k_parts", "run_of"]


class KParts(NamedTuple):
    """k of one instruction as (chunk, group, slot): groups of lanes, chunks and slots of one's registers."""

    chunks: int
    groups: int
    slots: int

    @property
    def registers(self) -> int:
        """Elements of one lane."""
        return self.chunks * self.slots


@cache
def run_of(c: Map) -> int:
    """How many registers of C, from any multiple of that number on, are neighbours along m in every lane."""
    block, m, n = _everywhere(c)
    registers = int(m.shape[1])
    run = 1
    while registers % (2 * run) == 0:
        position = np.arange(registers) % (2 * run)
        first = np.arange(registers) - position
        steps: tuple[Any, ...] = (0, position, 0)
        if not all(np.array_equal(x, x[:, first] + y) for x, y in zip((block, m, n), steps, strict=True)):
            break
        run *= 2
    return run


@cache
def k_parts(operand: Map) -> KParts:
    """How the map of an operand, A or B, splits k."""
    k = _everywhere(operand)[[d.name for d in operand.lower].index("k")]
    registers = int(k.shape[1])
    breaks: Any = np.flatnonzero(np.diff(k[0]) != 1)
    slots = int(breaks[0]) + 1 if breaks.size else registers
    groups = dict(operand.lower)["k"] // registers
    order = np.arange(registers)
    chunk, slot = order // slots, order % slots
    group = k[:, :1] // slots
    assert np.array_equal(k, (chunk * groups + group) * slots + slot), f"k is not in parts:\n{operand}"
    return KParts(registers // slots, groups, slots)


def _everywhere(map: Map) -> tuple[Any, ...]:
    """Lower coordinates at every (lane, register), as arrays of that shape."""
    shape = tuple(d.size for d in map.upper)
    coords, _ = map.evaluate(list(np.indices(shape)))
    return tuple(np.broadcast_to(c, shape) for c in coords)
