"""LDS traffic of a kernel: every access of its statements, with its bank conflicts counted lane by lane.

Law: nothing is inferred from a layout.  The offsets are those that a backend prints, at every lane of every
wave and at every value of the loops that they mention.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from imbrex.chip import Access, GpuMachine
from imbrex.index.expr import Lin
from imbrex.lower.buffer import Let, Ref
from imbrex.lower.stmt import For, Kernel, Move, Stmt
from imbrex.view.stage.banks import Traffic, cycles

__all__ = ["LdsTraffic", "lds_traffic"]

NONE = Traffic(0, 0, 0)


class LdsTraffic(NamedTuple):
    """Reads and writes of one workgroup in LDS."""

    read: Traffic
    write: Traffic

    @property
    def extra(self) -> int:
        """Cycles lost to bank conflicts."""
        return self.read.extra + self.write.extra

    @property
    def factors(self) -> tuple[float, float]:
        """How many times as long reads and writes take as without conflicts; 1.0 where there are none."""
        read, write = ((t.cycles + t.extra) / t.cycles if t.cycles else 1.0 for t in self)
        return read, write


def lds_traffic(kernel: Kernel, machine: GpuMachine) -> LdsTraffic:
    """Accesses at loop values that the offset does not mention count once.  Direct loads come without
    conflicts: their lanes are neighbours.
    """
    total: dict[Access, Traffic] = {"read": NONE, "write": NONE}
    for move, lets, loops in _moves(kernel.body, {}, {}):
        sides: tuple[tuple[Access, Ref], ...] = (("read", move.source), ("write", move.dest))
        for way, ref in sides:
            if ref.buffer.space == "lds" and not move.direct:
                expanded = replace(ref, offset=_expanded(ref.offset, lets))
                total[way] = total[way] + _access(kernel, expanded, move.width, loops, machine, way)
    return LdsTraffic(total["read"], total["write"])


def _moves(
    body: Sequence[Stmt], lets: Mapping[str, Lin], loops: Mapping[str, int]
) -> Iterator[tuple[Move, Mapping[str, Lin], Mapping[str, int]]]:
    """Every move with the names and loops around it."""
    lets = dict(lets)
    for stmt in body:
        match stmt:
            case Let():
                lets[stmt.name] = _expanded(stmt.index, lets)
            case For():
                yield from _moves(stmt.body, lets, {**loops, stmt.var: stmt.count})
            case Move():
                yield stmt, dict(lets), loops
            case _:
                pass


def _expanded(index: Lin, lets: Mapping[str, Lin]) -> Lin:
    return index.subs({name: lets[name] for name in index.variables & lets.keys()})


def _access(
    kernel: Kernel, ref: Ref, width: int, loops: Mapping[str, int], machine: GpuMachine, way: Access
) -> Traffic:
    """Accesses wider than 16 bytes go 16 bytes at a time."""
    element = ref.buffer.dtype.bytes
    step = min(16, width * element)
    how, wave = machine.served(step, way), machine.wave_size
    names = [name for name in loops if name in ref.offset.variables]
    points: Any = np.indices([*(loops[name] for name in names), kernel.block_size])
    env: dict[str, Any] = dict(zip([*names, kernel.workitem], points, strict=True))
    env |= dict.fromkeys(ref.offset.variables - env.keys(), 0)  # the workgroup: LDS is its own
    places = np.broadcast_to(np.asarray(ref.offset.eval(env)), points.shape[1:]).reshape(-1, wave) * element
    pieces = np.concatenate([places + start for start in range(0, width * element, step)])
    extra = int(cycles(pieces, step, how).sum())
    return Traffic(len(pieces), len(pieces) * len(how.lanes), extra)
