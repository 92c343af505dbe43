"""A CPU's kernel on a machine without its tiles: the folder of functions that they are reached by, written a
second time, in software.
"""

from __future__ import annotations

from typing import Final

from imbrex.chip import CPU_ISAS
from imbrex.emit.emulate import form

__all__ = ["AMX", "emulated"]

AMX: Final = {"cpu/amx": "emulate/amx"}
"""The folder of the CPU's headers -> where its second form is."""


def emulated(target: str) -> str | None:
    """The level whose kernels source for `emulate_LEVEL` is of; None of other targets."""
    return form.emulated(target, CPU_ISAS)
