"""LDS traffic of a kernel: every access of its statements, with its bank conflicts counted lane by lane.

Law: nothing is inferred from a layout.  The offsets are those that a backend prints, at every lane of every
wave and at every value of the loops that they mention.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from imbrex.chip import Access, GpuMachine
from imbrex.index.expr import Lin
from imbrex.lower.buffer import Let, Ref
from imbrex.lower.stmt import For, Kernel, Move, Stmt
from imbrex.view.stage.banks import Traffic, cycles

__all__ = ["LdsTraffic", "Moved", "lds_traffic", "moved", "offsets"]

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
    for one in moved(kernel):
        if one.ref.buffer.space == "lds" and not one.is_direct:
            total[one.way] = total[one.way] + _access(kernel, one, machine)
    return LdsTraffic(total["read"], total["write"])


@dataclass(frozen=True)
class Moved:
    """One side of a move: `width` neighbours at a reference whose names are expanded, inside of these loops.

    is_direct: between memory and LDS, past the registers.
    """

    way: Access
    ref: Ref
    width: int
    loops: Mapping[str, int]
    is_direct: bool

    @property
    def bytes_per_lane(self) -> int:
        return self.width * self.ref.buffer.dtype.bytes


def moved(kernel: Kernel) -> Iterator[Moved]:
    """Both sides of every move of a kernel, in the order of the statements."""
    for move, lets, loops in _moves(kernel.body, {}, {}):
        sides: tuple[tuple[Access, Ref], ...] = (("read", move.source), ("write", move.dest))
        for way, ref in sides:
            guards = tuple(replace(g, index=_expanded(g.index, lets)) for g in ref.guards)
            expanded = replace(ref, offset=_expanded(ref.offset, lets), guards=guards)
            yield Moved(way, expanded, move.width, loops, move.direct)


def offsets(kernel: Kernel, one: Moved, wave: int, workgroup: int = 0) -> Any:
    """Byte offsets [access, lane] of every wave at every value of the loops that the offset mentions."""
    names = [name for name in one.loops if name in one.ref.offset.variables]
    points: Any = np.indices([*(one.loops[name] for name in names), kernel.block_size])
    env: dict[str, Any] = dict(zip([*names, kernel.workitem], points, strict=True))
    env |= {kernel.workgroup: workgroup}  # any for LDS, which is the workgroup's own
    env |= dict.fromkeys(one.ref.offset.variables - env.keys(), 0)
    elements = np.broadcast_to(np.asarray(one.ref.offset.eval(env)), points.shape[1:]).reshape(-1, wave)
    return elements * one.ref.buffer.dtype.bytes


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


def _access(kernel: Kernel, one: Moved, machine: GpuMachine) -> Traffic:
    """Accesses wider than 16 bytes go 16 bytes at a time, or 8."""
    step = min(8 if one.bytes_per_lane > 16 and one.bytes_per_lane % 16 else 16, one.bytes_per_lane)
    how = machine.served(step, one.way)
    lanes = offsets(kernel, one, machine.wave_size)
    pieces = np.concatenate([lanes + start for start in range(0, one.bytes_per_lane, step)])
    extra = int(cycles(pieces, step, how).sum())
    return Traffic(len(pieces), len(pieces) * len(how.lanes), extra)
