"""Keys of the cache: what decides a kernel's code, and nothing else.

Law: options of one key have one code.  A GPU's code is the same on every host: the instructions of this CPU
are in keys of what runs on it, its threads and caches where the model chooses for it.
"""

from __future__ import annotations

from imbrex.build.nvidia.cubin import compiler_version
from imbrex.build.shared_library import recipe_key
from imbrex.build.toolchain import compiler_of, find_compiler
from imbrex.kernel.options import CompileOptions
from imbrex.problem import problem_text
from imbrex.run.host_machine import host_machine

__all__ = ["key_of"]


def key_of(options: CompileOptions) -> str:
    """The key under which the cache remembers what options became."""
    text = f"{options.text}{_host(options)}"
    return recipe_key(problem_text(options.problem), text, builder=_builder(options))


def _host(options: CompileOptions) -> str:
    """The numbers of a machine that the model of a CPU chooses by, where it does."""
    if options.target.kind != "cpu" or options.constraints.config is not None:
        return ""
    if options.target.level is not None:
        return f" threads={options.threads}"
    here = host_machine()
    return f" threads={options.threads} l2={here.l2_bytes} l3={here.l3_bytes}"


def _builder(options: CompileOptions) -> tuple[str, ...] | None:
    """The compiler, and the instructions of a CPU that is named; None for those of this machine."""
    if options.target.level is not None:
        isa = options.target.isa
        return compiler_of(isa).version, isa.fingerprint
    if options.target.is_native:
        return None
    return (compiler_version() if options.target.is_cuda else find_compiler("zig").version,)
