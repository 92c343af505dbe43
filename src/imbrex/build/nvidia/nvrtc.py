"""NVRTC, NVIDIA's compiler as a library: source text in memory to a cubin and the compiler's log.

Law: nothing is read from the disk.  A header is found by its own name among the sources, or by the name that
a preprocessor would make of it beside the file that includes it; so a cubin and its log name no path of the
host.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from imbrex.diagnostic import Diagnostic

__all__ = ["MEND", "Answer", "compiled", "in_memory", "nvrtc_here", "nvrtc_version"]

MEND = "pip install 'imbrex[cuda]' adds cuda-bindings and NVRTC; no GPU and no CUDA toolkit is needed"
_PACKAGE = "nvidia_cuda_nvrtc"
_INCLUDE = re.compile(r'^(?P<before>[ \t]*#[ \t]*include[ \t]*")(?P<name>[^"\n]+)(?=")', re.M)


@dataclass(frozen=True, slots=True)
class Answer:
    """cubin: None where the compiler refused the source.  status: its own word for how it ended."""

    cubin: bytes | None
    log: str
    status: str


def nvrtc_here() -> Any:
    """cuda-bindings' module `nvrtc`, with its library; else a Diagnostic says what is missing."""
    try:
        nvrtc = import_module("cuda.bindings.nvrtc")
    except ImportError:
        raise Diagnostic("no NVRTC: the package 'cuda-bindings' is not installed", hint=MEND) from None
    try:
        nvrtc.nvrtcVersion()
    except Exception as error:  # cuda-pathfinder has errors of its own for a library that is nowhere
        reason = str(error).strip().partition("\n")[0]
        raise Diagnostic(f"no NVRTC: cuda-bindings finds no libnvrtc: {reason}", hint=MEND) from None
    return nvrtc


@cache
def nvrtc_version() -> str:
    """Version as its package says it, which knows the patch; else as the library does."""
    _, major, minor = nvrtc_here().nvrtcVersion()
    reported = f"{major}.{minor}"
    noted = (path.name for folder in sys.path for path in Path(folder).glob(f"{_PACKAGE}-*.dist-info"))
    packaged = (name.removeprefix(f"{_PACKAGE}-").removesuffix(".dist-info") for name in noted)
    return next((version for version in packaged if version.startswith(f"{reported}.")), reported)


def compiled(sources: Mapping[str, str], unit: str, flags: Sequence[str]) -> Answer:
    """`unit` among the sources, compiled; the other sources are headers that it may include."""
    nvrtc = nvrtc_here()
    texts = in_memory(sources)
    headers = {name: text for name, text in texts.items() if name != unit}
    error, program = nvrtc.nvrtcCreateProgram(
        texts[unit].encode(), unit.encode(), len(headers),
        [text.encode() for text in headers.values()], [name.encode() for name in headers],
    )  # fmt: skip
    _expect(error, "taking the source")
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), [flag.encode() for flag in flags])
        log = _bytes(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        cubin = None if int(status) else _bytes(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    word = getattr(status, "name", str(status))
    return Answer(cubin, log.decode(errors="replace").rstrip("\0").rstrip(), word)


def in_memory(sources: Mapping[str, str]) -> dict[str, str]:
    """The sources with their quoted includes under full names: NVRTC itself knows no folders."""

    def renamed(file: str, text: str) -> str:
        def full(found: re.Match[str]) -> str:
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(file), found["name"]))
            return found["before"] + (beside if beside in sources else found["name"])

        return _INCLUDE.sub(full, text)

    return {file: renamed(file, text) for file, text in sources.items()}


def _bytes(size: Any, read: Any, program: Any) -> bytes:
    error, count = size(program)
    _expect(error, "asking for a size")
    data = bytes(count)  # written into: it is nobody else's
    (error,) = read(program, data)
    _expect(error, "reading")
    return data


def _expect(error: Any, what: str) -> None:
    if int(error):
        raise Diagnostic(f"NVRTC failed at {what}: {getattr(error, 'name', error)}")
