"""Units of device code, which are the same for all kernels of a target: compiled once, then linked.

What runs Hopper's kernels on a CPU takes six times as long to compile as a kernel for it (clang 22).
Law: the library is the same, byte by byte, as one whose units were all compiled together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from imbrex.build.cache import Cache, digest, source_parts
from imbrex.build.isa import Isa
from imbrex.build.toolchain import Compiler, compile_options, compile_units, units_of, write_sources

__all__ = ["DEVICE", "device_objects"]

DEVICE = "device/"
"""Folder of what is written by hand, in the sources of a kernel."""


def device_objects(
    sources: Mapping[str, str], flags: Sequence[str], compiler: Compiler, isa: Isa, cache: Cache
) -> dict[str, Path]:
    """The objects of the units below `device/`, each by its unit's name; none where there is no such unit."""
    written = {file: text for file, text in sources.items() if file.startswith(DEVICE)}
    units = units_of(written)
    if not units:
        return {}
    options = compile_options(isa, flags)

    def build(directory: Path) -> None:
        write_sources(written, directory)
        compile_units(units, directory, options, compiler)

    key = digest([*source_parts(written), "|", *options, "|", compiler.version, isa.fingerprint])
    objects = tuple(f"{unit}.o" for unit in units)
    stored = cache.object(key, build, objects).directory
    return {unit: stored / name for unit, name in zip(units, objects, strict=True)}
