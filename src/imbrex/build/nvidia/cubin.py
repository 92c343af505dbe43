"""Cubins for NVIDIA GPUs: CUDA C++ to `.cubin` by NVRTC, cached; no GPU and no CUDA toolkit is needed.

Law: beside a cubin lie the sources and the compiler's log that it came with.  Equal sources, architecture,
flags and compiler give the same key; anything else another one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from imbrex.build.cache import Cache, digest, entry_bytes, source_parts
from imbrex.build.nvidia.nvrtc import Answer, compiled, nvrtc_version
from imbrex.build.nvidia.report import usages
from imbrex.build.toolchain import LOG, failure, write_sources
from imbrex.diagnostic import Diagnostic

__all__ = [
    "LOG",
    "NVIDIA_FLAGS",
    "Cubin",
    "build_cubin",
    "compile_cubin",
    "compiler_version",
    "find_cubin",
    "flags_of",
]

NVIDIA_FLAGS = (
    "-std=c++17",
    "-no-source-include",
    "-default-device",
    "-minimal",
    "--ptxas-options=-v",
)
"""-minimal: without textures and the runtime's functions, which no kernel has and which take time to read."""
WANTED_FLAGS = re.compile(r"^// compiler flags: (?P<flags>.+)$", re.M)
"""Flags that a unit's own text asks for; where registers spill with them it is compiled without."""

FLAGS_HEAD = "flags: "
"""How the first line of a log begins."""

_SPILLED = 64  # bytes of a work item that may wait in memory: numbers known before a loop and needed after it


@dataclass(frozen=True, slots=True)
class Cubin:
    """path: the `.cubin`, beside its sources."""

    path: Path
    architecture: str
    key: str

    @property
    def log(self) -> str:
        """What the compiler said, with what ptxas tells of each kernel."""
        return entry_bytes(self.path.parent / LOG).decode()

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags that the compiler was given."""
        return tuple(self.log.partition("\n")[0].removeprefix(FLAGS_HEAD).split())

    @property
    def dropped_flags(self) -> bool:
        """Did the unit ask for flags with which registers spilled?"""
        wanted = WANTED_FLAGS.search(entry_bytes(self.path.with_suffix(".cu")).decode())
        return wanted is not None and not set(wanted["flags"].split()) <= set(self.flags)


def compiler_version() -> str:
    """The compiler's name and version: part of every key."""
    return f"NVRTC {nvrtc_version()}"


def flags_of(architecture: str) -> tuple[str, ...]:
    """What the compiler is told of every kernel."""
    return (f"--gpu-architecture={architecture}", *NVIDIA_FLAGS)


def build_cubin(
    sources: Mapping[str, str],
    unit: str,
    architecture: str,
    *,
    flags: Sequence[str] = (),
    tuning: str = "",
    cache: Cache | None = None,
) -> Cubin:
    """The cubin of these sources, from the cache when it is there; arguments as below."""
    cache = cache or Cache()
    key = _key(sources, unit, architecture, flags)

    def build(directory: Path) -> None:
        compile_cubin(sources, unit, architecture, directory, flags=flags, tuning=tuning)

    stored = cache.object(key, build, (_cubin(Path(), unit).name, LOG))
    return Cubin(_cubin(stored.directory, unit), architecture, key)


def find_cubin(key: str, unit: str, architecture: str, cache: Cache | None = None) -> Cubin | None:
    """The cubin built earlier under `key`, None when it is gone."""
    stored = (cache or Cache()).find(key, (_cubin(Path(), unit).name, LOG))
    return None if stored is None else Cubin(_cubin(stored.directory, unit), architecture, key)


def compile_cubin(
    sources: Mapping[str, str],
    unit: str,
    architecture: str,
    directory: Path,
    *,
    flags: Sequence[str] = (),
    tuning: str = "",
) -> Path:
    """Writes the sources into `directory`, compiles `unit` to `.cubin`, and keeps the log beside it.

    sources: file name -> text.  unit: the one that holds the kernels.  flags: after, so over, NVIDIA_FLAGS.
    tuning: by which the Diagnostic of a failure names the kernel; it carries the compiler's own words, and
    the sources stay in `directory`.
    """
    write_sources(sources, directory)
    answer, taken = _compiled(sources, unit, (*flags_of(architecture), *flags))
    try:
        (directory / LOG).write_text(f"{FLAGS_HEAD}{' '.join(taken)}\n{answer.log}\n", encoding="utf-8")
        if answer.cubin is not None:
            _cubin(directory, unit).write_bytes(answer.cubin)
    except OSError as error:
        message = f"the cubin cannot be written to {directory}: {error.strerror or error}"
        raise Diagnostic(message) from None
    if answer.cubin is None:
        raise _failure(answer.status, answer.log, unit, tuning, directory)
    return _cubin(directory, unit)


def _compiled(
    sources: Mapping[str, str], unit: str, flags: tuple[str, ...]
) -> tuple[Answer, tuple[str, ...]]:
    """What came of it, and the flags that it came of."""
    wanted = WANTED_FLAGS.search(sources[unit])
    ways = [flags] if wanted is None else [(*flags, *wanted["flags"].split()), flags]
    answer = compiled(sources, unit, ways[0])
    if len(ways) == 1 or all(usage.spill_store_bytes <= _SPILLED for usage in usages(answer.log)):
        return answer, ways[0]
    return compiled(sources, unit, flags), flags


def _cubin(directory: Path, unit: str) -> Path:
    return (directory / unit).with_suffix(".cubin")


def _key(sources: Mapping[str, str], unit: str, architecture: str, flags: Sequence[str]) -> str:
    parts = (unit, FLAGS_HEAD, *flags_of(architecture), "|", *flags, "|", compiler_version())
    return digest([*source_parts(sources), "|", *parts])


def _failure(status: str, log: str, unit: str, tuning: str, directory: Path) -> Diagnostic:
    of = f", tuning {tuning}" if tuning else ""
    return failure(f"NVRTC failed with {status} on '{unit}'{of}", log, directory, LOG)
