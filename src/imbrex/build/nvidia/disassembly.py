"""The disassembly of a cubin, by NVIDIA's own tool where one is here: on PATH, or in a wheel beside Python's.

No tool is needed to build or to run; none is an answer too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from functools import cache
from pathlib import Path

from imbrex.diagnostic import Diagnostic

__all__ = ["find_disassembler", "sass"]

_TOOLS: tuple[tuple[str, tuple[str, ...]], ...] = (("nvdisasm", ("-c",)), ("cuobjdump", ("-sass",)))
_FOLDERS = ("nvidia/cu13/bin", "nvidia/cuda_nvcc/bin", "triton/backends/nvidia/bin")
_LONGEST_S = 120


@cache
def find_disassembler() -> tuple[str, ...] | None:
    """The command that takes a cubin's path, None where there is none."""
    site = Path(sysconfig.get_path("purelib"))
    for name, options in _TOOLS:
        places = [shutil.which(name), *(str(site / folder / name) for folder in _FOLDERS)]
        for path in places:
            if path and os.access(path, os.X_OK):
                return (path, *options)
    return None


def sass(cubin: Path) -> str | None:
    """The machine code as text, None where no tool is here that writes it; a Diagnostic where one fails."""
    command = find_disassembler()
    if command is None:
        return None
    try:
        said = subprocess.run([*command, str(cubin)], capture_output=True, text=True, timeout=_LONGEST_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise Diagnostic(f"'{Path(command[0]).name}' does not run: {error}") from None
    if said.returncode:
        raise Diagnostic(f"'{Path(command[0]).name}' cannot read {cubin.name}: {said.stderr.strip()}")
    return said.stdout
