"""A kernel of another machine on this one, a GPU of NVIDIA's or a CPU with tiles: called as one of this CPU,
it says what it did wrong.

Law: what runs is that machine's own source; which lane of a GPU goes on when is chance, and the same for the
same seed.
"""

from __future__ import annotations

import ctypes
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from imbrex.diagnostic import Diagnostic
from imbrex.problem.run_time import RunTime
from imbrex.run.arrays import Array
from imbrex.run.cpu import CpuKernel, Parameter, expect_done, load
from imbrex.run.guarded_call import said_fault

__all__ = ["EmulatedKernel", "load_emulated"]

_FAULT = 2


@dataclass(frozen=True, slots=True)
class EmulatedKernel(CpuKernel):
    """A call raises a Diagnostic where lanes race, wait for ever, leave their memory, or flags as they did
    not find them, or an instruction of tiles would fault.
    """

    has_tiles: bool = False

    def _call(self, arrays: tuple[Array, ...], scratch: list[Array], threads: int | None) -> None:
        del threads  # one lane runs at a time
        self.prepare()
        status = self.entry(*self._arguments(arrays, scratch), 1)
        self.expect_done(status, said_fault(ctypes.CDLL(str(self.path)), self.symbol))
        if not self.has_tiles:
            self._expect_left_as_found(scratch)

    def _expect_left_as_found(self, scratch: list[Array]) -> None:
        for parameter, array in zip(self.workspace, scratch, strict=True):
            if parameter.is_zeroed and np.any(array):
                message = f"'{self.symbol}' leaves flags of '{parameter.name}' that it raised"
                raise Diagnostic(message, hint="its next launch would take them for its own")

    def prepare(self) -> None:
        """A Diagnostic where the environment's seed, which the library reads, is no number."""
        _seed()

    def expect_done(self, status: int, fault: str = "") -> None:
        if status == _FAULT:
            if self.has_tiles:
                raise Diagnostic(f"'{self.symbol}' does what tiles do not: {fault}")
            message = f"'{self.symbol}' does what a GPU does not promise: {fault}"
            raise Diagnostic(message, hint=f"the order of its warps is that of IMBREX_EMULATE_SEED={_seed()}")
        expect_done(self.symbol, status)


def load_emulated(
    path: Path,
    symbol: str,
    parameters: tuple[Parameter, ...],
    workspace: tuple[Parameter, ...] = (),
    run_time: RunTime | None = None,
    *,
    has_tiles: bool = False,
) -> EmulatedKernel:
    """Opens the library and finds the symbol; a Diagnostic when either fails.  has_tiles: of a CPU's."""
    plain = load(path, symbol, parameters, workspace, run_time)
    facts = plain.path, plain.symbol, plain.parameters, plain.entry, plain.workspace, run_time
    return EmulatedKernel(*facts, has_tiles=has_tiles)


def _seed() -> int:
    """IMBREX_EMULATE_SEED, else 0; a Diagnostic where it is no number."""
    given = os.environ.get("IMBREX_EMULATE_SEED", "").strip() or "0"
    if not re.fullmatch(r"[0-9]{1,9}", given):
        raise Diagnostic(f"IMBREX_EMULATE_SEED should be a number of at most nine digits, got '{given}'")
    return int(given)
