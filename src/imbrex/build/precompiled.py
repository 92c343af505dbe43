"""Precompiled: the device headers of CPUs and the vector instructions that they are made of, parsed once for
all kernels that are compiled alike.

Without optimisation that is three quarters of what the compiler does for a kernel, with it a third.
Laws: the object is the same, byte by byte, as one whose units were compiled without; a compiler that refuses
what was parsed before costs time, never the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from imbrex.build.cache import Cache, digest, source_parts
from imbrex.build.device_units import DEVICE
from imbrex.build.isa import Isa
from imbrex.build.toolchain import LOG, Compiler, compile_options, run_all, write_sources
from imbrex.diagnostic import Diagnostic

__all__ = ["Precompiled", "compiled_with", "precompiled"]

PRELUDE = "prelude.h"
RESULT = "prelude.pch"
PRODUCT = '#include "device/cpu/operand.h"'
"""What every kernel of a CPU includes."""


@dataclass(frozen=True, slots=True)
class Precompiled:
    """flags: of units that include what is precompiled, which may not lie beside them, for a header counts as
    read by where it lies.  headers: the folder of what is precompiled.  forget: has it made anew by whoever
    comes next.
    """

    flags: tuple[str, ...]
    headers: Path
    forget: Callable[[], None]


def precompiled(
    sources: Mapping[str, str], flags: Sequence[str], compiler: Compiler, isa: Isa, cache: Cache
) -> Precompiled | None:
    """What these sources of a kernel have precompiled; None where they are of no kernel of a CPU, and where
    another compiler than the bundled one would have to take it.
    """
    from importlib.resources import files  # here: a kernel that is cached is found without

    own, device = _parted(sources)
    if compiler.headers is None or not any(PRODUCT in text for text in own.values()):
        return None
    device[PRELUDE] = files("imbrex.build").joinpath(PRELUDE).read_text(encoding="utf-8")
    headers = cache.object(digest(source_parts(device)), lambda at: write_sources(device, at), tuple(device))
    include, options = f"-I{headers.directory}", compile_options(isa, flags)

    def build(directory: Path) -> None:
        command = (*compiler.compile, *options, include, "-Xclang", "-fno-pch-timestamp", "-x", "c++-header")
        path = headers.directory / PRELUDE
        run_all(compiler, [(*command, str(path), "-o", RESULT)], [PRELUDE], directory)

    key = digest([include, str(compiler.headers), *options, "|", compiler.version, isa.fingerprint])
    stored = cache.object(key, build, (RESULT,))
    flags = ("-include-pch", str(stored.directory / RESULT), include)
    return Precompiled(flags, headers.directory, lambda: cache.forget(key))


def compiled_with(
    given: Precompiled | None,
    sources: Mapping[str, str],
    directory: Path,
    compile_some: Callable[[Mapping[str, str], tuple[str, ...]], None],
) -> Mapping[str, str]:
    """Compiles the sources in the directory; those that are still to be written there.

    compile_some: writes the sources that it is given, and compiles their units with further flags.
    """
    if given is not None:
        own, device = _parted(sources)
        try:
            compile_some(own, given.flags)
        except Diagnostic:  # what is wrong with a kernel is said of sources that lie together
            (directory / LOG).unlink(missing_ok=True)
        else:
            return device
    compile_some(sources, ())
    if given is not None:
        given.forget()
    return {}


def _parted(sources: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What is of this kernel, and what is written by hand."""
    own = {file: text for file, text in sources.items() if not file.startswith(DEVICE)}
    return own, {file: text for file, text in sources.items() if file not in own}
