"""Counts: the instructions of one trip of a loop, by what they do and how wide they reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

from imbrex.build.amd.hot_loop.kind import Access, access_of, unit_of
from imbrex.build.amd.hot_loop.purpose import purposes
from imbrex.build.amd.hot_loop.text import Inst

__all__ = ["Counts", "counts_of"]

_Key = TypeVar("_Key", int, str)


@dataclass(frozen=True)
class Counts:
    """matrix: by mnemonic.  Memory instructions: by the bytes of one lane.

    index: vector arithmetic on addresses and guards.  data: other vector instructions: they move or convert
    elements.  direct_loads: from global memory straight to LDS; the other loads fill registers.
    """

    matrix: Mapping[str, int]
    lds_reads: Mapping[int, int]
    lds_writes: Mapping[int, int]
    loads: Mapping[int, int]
    direct_loads: Mapping[int, int]
    stores: Mapping[int, int]
    index: int
    data: int
    salu: int
    waits: int
    barriers: int
    total: int

    @property
    def matrix_instructions(self) -> int:
        return sum(self.matrix.values())

    @property
    def index_per_matrix(self) -> float:
        """Vector instructions of index arithmetic to one matrix instruction."""
        return self.index / self.matrix_instructions

    def to_json(self) -> dict[str, object]:
        """Plain values by field; widths become text."""
        widths = ("lds_reads", "lds_writes", "loads", "direct_loads", "stores")
        found: dict[str, object] = {field.name: getattr(self, field.name) for field in fields(self)}
        return found | {k: {str(w): n for w, n in getattr(self, k).items()} for k in widths}


def counts_of(loop: Sequence[Inst]) -> Counts:
    """Every instruction of the loop once."""
    units = Counter(unit_of(inst) for inst in loop)
    why = Counter(purposes(loop).values())
    accesses = [access for inst in loop if (access := access_of(inst)) is not None]
    return Counts(
        matrix=_sorted(inst.name for inst in loop if unit_of(inst) == "matrix"),
        lds_reads=_widths(accesses, "lds", "read"),
        lds_writes=_widths(accesses, "lds", "write"),
        loads=_widths([a for a in accesses if not a.direct], "global", "read"),
        direct_loads=_widths([a for a in accesses if a.direct], "global", "read"),
        stores=_widths(accesses, "global", "write"),
        index=why["index"],
        data=why["data"],
        salu=units["salu"] + units["smem"],
        waits=units["wait"],
        barriers=units["barrier"],
        total=len(loop),
    )


def _widths(accesses: Iterable[Access], space: str, way: str) -> dict[int, int]:
    return _sorted(a.bytes for a in accesses if a.space == space and a.way == way)


def _sorted(keys: Iterable[_Key]) -> dict[_Key, int]:
    return dict(sorted(Counter(keys).items()))
