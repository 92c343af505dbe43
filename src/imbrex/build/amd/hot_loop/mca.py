"""LLVM's own model of the loop: llvm-mca, where it is installed.

It runs one wave in order through the scheduling model of the compiler, whose unit is a pass (four clocks).
The matrix pipe's share is its passes over all of them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

from imbrex.build.amd.hot_loop.kind import unit_of
from imbrex.build.amd.hot_loop.rates import matrix_clocks, modelled
from imbrex.build.amd.hot_loop.text import Inst
from imbrex.chip import TURN

__all__ = ["find_mca", "mca_busy"]

ITERATIONS = 16
_TOOLS = ("llvm-mca-22", "llvm-mca")


def find_mca() -> str | None:
    """The path of llvm-mca, 22 before any other."""
    return next((path for tool in _TOOLS if (path := shutil.which(tool))), None)


def mca_busy(loop: Sequence[Inst], chip: str) -> float | None:
    """None where llvm-mca is not installed, or does not take the loop."""
    tool = find_mca()
    if tool is None:
        return None
    text = "\n".join(line for inst in loop if (line := _printed(inst)))
    command = [tool, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={chip}", f"-iterations={ITERATIONS}"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
    cycles = re.search(r"^Total Cycles:\s+(\d+)", done.stdout, re.MULTILINE)
    if done.returncode != 0 or cycles is None:
        return None
    passes = sum(matrix_clocks(inst, modelled(chip))[0] for inst in loop if unit_of(inst) == "matrix") / TURN
    return ITERATIONS * passes / int(cycles[1])


def _printed(inst: Inst) -> str:
    """The instruction as text again; branches go, for the tool runs the text round by itself."""
    if inst.target is not None:
        return ""
    return " ".join((inst.name, ", ".join(inst.operands), *inst.modifiers))
