"""Contenders of a CPU's row: our kernel, the peers, what the machine can do at best, and a mere call."""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.bench.ceiling import ceiling, copy
from imbrex.bench.contest import Call
from imbrex.bench.peer import peers
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.kernel import Kernel
from imbrex.problem import Problem
from imbrex.verify.data import random_operands

__all__ = ["CALL", "CEILING", "COPY", "OURS", "CeilingProbe", "Copy", "Ours", "Rival"]

OURS, CEILING, COPY, CALL = "imbrex", "ceiling", "copy", "call"


@dataclass(frozen=True)
class Ours:
    """A kernel, which comes from the cache there."""

    kernel: Kernel
    threads: int

    def ready(self) -> Call:
        problem = self.kernel.problem
        arrays = random_operands(problem, 1, "float").arrays
        used = [arrays[operand.role] for operand in problem.operands]
        return lambda: self.kernel(*used, threads=self.threads)


@dataclass(frozen=True)
class Rival:
    """A peer by its name."""

    name: str
    problem: Problem
    threads: int

    def ready(self) -> Call:
        (peer,) = peers((self.name,))
        peer.set_threads(self.threads)
        call = peer.call(self.problem, random_operands(self.problem, 1, "float").arrays)
        if call is None:
            raise Diagnostic("has no way to compute it")
        return call


@dataclass(frozen=True)
class CeilingProbe:
    """Multiply-adds of a type's unit, in registers."""

    dtype: DType
    threads: int

    def ready(self) -> Call:
        return ceiling(self.dtype, self.threads).run


@dataclass(frozen=True)
class Copy:
    """As many bytes as a problem's arrays have, half of them read and half written."""

    moved_bytes: int
    threads: int

    def ready(self) -> Call:
        return copy(self.moved_bytes, self.threads)
