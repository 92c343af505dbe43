"""Where a loop's instructions stay in order: what its loads, products and stores are to each other.

The compiler orders instructions for few registers, so it moves loads of global memory down to the stores into
LDS that need them, and each then waits for the whole way to memory.  In a loop, loads stay before the
products, which take as long as the loads, and stores stay after them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from imbrex.lower.stmt import Await, Barrier, Join, MatrixMultiply, Move, Signal, Stmt, walk

Phase: TypeAlias = Literal["load", "multiply", "store", "meet"]

KEPT: frozenset[tuple[Phase, Phase]] = frozenset(
    {("load", "multiply"), ("multiply", "store"), ("multiply", "meet")}
)


def in_order(body: Sequence[Stmt]) -> Iterator[tuple[Stmt, bool]]:
    """The statements of a loop; True where none of the instructions before may come after."""
    phase: Phase | None = None
    for stmt in body:
        found = phase_of(stmt)
        yield stmt, found is not None and phase is not None and (phase, found) in KEPT
        phase = found or phase


def phase_of(stmt: Stmt) -> Phase | None:
    """What a statement does in the loop over K; None where it only declares or names."""
    inside = tuple(walk((stmt,)))
    if any(isinstance(s, MatrixMultiply) for s in inside):
        return "multiply"
    if any(isinstance(s, Barrier | Signal | Await | Join) for s in inside):
        return "meet"
    moves = [s for s in inside if isinstance(s, Move)]
    if not moves:
        return None
    return "load" if moves[0].source.buffer.space == "global" else "store"
