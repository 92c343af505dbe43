"""Operations of a wave, as far as their time is concerned, and who runs a loop of them at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

__all__ = [
    "Loop",
    "Operation",
    "Residents",
    "Unit",
    "counted",
    "looks_back_of",
    "matrix_clocks",
    "matrix_clocks_of",
    "operation",
]

Unit: TypeAlias = Literal[
    "matrix", "vector", "scalar", "fetch", "read", "write", "load", "direct", "wait", "barrier", "priority",
    "branch", "pause",
]  # fmt: skip
"""read, write: of LDS.  load: of global memory, into registers; direct: into LDS.  fetch: of scalars from
memory.  pause: nothing but time."""


@dataclass(frozen=True, slots=True)
class Operation:
    """clocks: of the matrix pipe, of the vector port, or of a pause.  lane_bytes: that a lane moves.
    factor: of the time of the path, for bank conflicts, or for lines of which little is used.
    vm, lgkm: accesses that may be under way after a wait; None where it does not ask.
    level: of a priority.  is_exclusive: no vector instruction beside this one of the matrix pipe.
    """

    unit: Unit
    clocks: float = 0.0
    lane_bytes: int = 0
    factor: float = 1.0
    vm: int | None = None
    lgkm: int | None = None
    level: int = 0
    is_exclusive: bool = False


operation: Callable[..., Operation] = lru_cache(maxsize=4096)(Operation)
"""An operation that is the same object wherever it is the same: loops have thousands of a few dozen."""

Loop: TypeAlias = tuple[Operation, ...]


@dataclass(frozen=True)
class Residents:
    """Who shares a compute unit.  waves: of one SIMD; of those waves_of_group belong to one workgroup.

    simds: that have waves at all; they do the same at the same time.  is_ping_pong: half of a workgroup's
    waves come to a barrier more than the others before the loop, and so are half a phase behind.
    """

    waves: int = 1
    waves_of_group: int = 1
    simds: int = 4
    is_ping_pong: bool = False

    @property
    def groups(self) -> int:
        """Workgroups of one SIMD."""
        return max(1, self.waves // self.waves_of_group)


def counted(loop: Sequence[Operation]) -> list[tuple[Operation, int]]:
    """The operations of a loop, each object once, and how many times it comes."""
    names = list(map(id, loop))
    found = dict(zip(names, loop, strict=True))
    return [(found[name], count) for name, count in Counter(names).items()]


def matrix_clocks_of(loop: Sequence[Operation]) -> float:
    """Clocks of the matrix pipe in one trip of one wave."""
    return matrix_clocks(counted(loop))


def matrix_clocks(operations: Iterable[tuple[Operation, int]]) -> float:
    """The same of operations that are counted."""
    return sum(count * op.clocks for op, count in operations if op.unit == "matrix")


def looks_back_of(loop: Sequence[Operation]) -> int:
    """Accesses of a kind, the last ones, of which one is what the loop's waits ask for."""
    limits = [limit for op in loop if op.unit == "wait" for limit in (op.vm, op.lgkm) if limit is not None]
    return 1 + max(limits, default=0)
