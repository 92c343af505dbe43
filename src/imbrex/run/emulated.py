"""A kernel of a GPU of NVIDIA's on this machine: called as one of the CPU, it says what it did wrong.

Law: what runs is the GPU's own source; which lane goes on when is chance, and the same for the same seed.
"""

from __future__ import annotations

import ctypes
import os
import re
from dataclasses import dataclass
from pathlib import Path

from imbrex.diagnostic import Diagnostic
from imbrex.run.arrays import Array
from imbrex.run.cpu import CpuKernel, Parameter, load

__all__ = ["EmulatedKernel", "load_emulated"]

_FAULT = 2


@dataclass(frozen=True, slots=True)
class EmulatedKernel(CpuKernel):
    """A call raises a Diagnostic where lanes race, wait for ever, or leave their memory."""

    def _call(self, arrays: tuple[Array, ...], scratch: list[Array], threads: int | None) -> None:
        del threads  # one lane runs at a time
        library = ctypes.CDLL(str(self.path))
        seed = _seed()
        library[f"{self.symbol}_seed"](ctypes.c_uint(seed))
        status = self.entry(*(array.ctypes.data for array in (*arrays, *scratch)), 1)
        if status == _FAULT:
            told = library[f"{self.symbol}_fault"]
            told.restype = ctypes.c_char_p
            message = f"'{self.symbol}' does what a GPU does not promise: {told().decode()}"
            raise Diagnostic(message, hint=f"the order of its warps is that of IMBREX_EMULATE_SEED={seed}")
        assert status == 0, f"'{self.symbol}' returned {status}, which its ABI does not know"


def load_emulated(
    path: Path, symbol: str, parameters: tuple[Parameter, ...], workspace: tuple[Parameter, ...] = ()
) -> EmulatedKernel:
    """Opens the library and finds the symbol; a Diagnostic when either fails."""
    plain = load(path, symbol, parameters, workspace)
    return EmulatedKernel(plain.path, plain.symbol, plain.parameters, plain.entry, plain.workspace)


def _seed() -> int:
    """IMBREX_EMULATE_SEED, else 0; a Diagnostic where it is no number."""
    given = os.environ.get("IMBREX_EMULATE_SEED", "").strip() or "0"
    if not re.fullmatch(r"[0-9]{1,9}", given):
        raise Diagnostic(f"IMBREX_EMULATE_SEED should be a number of at most nine digits, got '{given}'")
    return int(given)
