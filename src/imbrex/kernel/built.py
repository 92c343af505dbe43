"""How a kernel's library was built, as plain JSON: its compiler, the flags, what lies beside the sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, assert_never

from imbrex.build.amd.code_object import AMD_FLAGS, CodeObject
from imbrex.build.isa import host_isa
from imbrex.build.nvidia.cubin import Cubin, compiler_version
from imbrex.build.shared_library import SharedLibrary
from imbrex.build.toolchain import FLAGS, find_compiler

__all__ = ["SUFFIXES", "Library", "built"]

Library: TypeAlias = SharedLibrary | CodeObject | Cubin
"""What the machine loads: of a CPU, of AMD's GPUs, of NVIDIA's."""

SUFFIXES: Final[Mapping[type[Library], tuple[str, ...]]] = {
    SharedLibrary: (".so",),
    CodeObject: (".hsaco", ".s"),
    Cubin: (".cubin", ".log"),
}
"""Suffixes of the files that a compiler leaves, the library first."""


def built(library: Library) -> dict[str, Any]:
    """The compiler, with its version, and the flags it was given; of a CPU, its instructions too."""
    match library:
        case SharedLibrary():
            isa = host_isa()
            version, flags = find_compiler().version, [*FLAGS, *isa.flags]
            return {"compiler": version, "flags": flags, "instruction_set": isa.level}
        case CodeObject():
            return {"compiler": find_compiler("zig").version, "flags": [*AMD_FLAGS, f"-mcpu={library.chip}"]}
        case Cubin():
            return {"compiler": compiler_version(), "flags": list(library.flags)}
        case _:
            assert_never(library)
