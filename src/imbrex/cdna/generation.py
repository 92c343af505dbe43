"""The machines whose code objects are read or executed, and what tells them apart."""

from __future__ import annotations

from imbrex.chip import GPU_MACHINES, CodeObjects

__all__ = ["executed", "facts_of", "machines"]


def facts_of(chip: str) -> CodeObjects:
    """What is to be known of a chip's code objects."""
    found = GPU_MACHINES[chip].code
    assert found is not None, chip
    return found


def machines() -> dict[int, str]:
    """The chips by EF_AMDGPU_MACH of a header's flags."""
    return {gpu.code.elf_machine: name for name, gpu in GPU_MACHINES.items() if gpu.code is not None}


def executed() -> tuple[str, ...]:
    """The chips whose code objects can be executed."""
    return tuple(name for name in machines().values() if facts_of(name).core_number is not None)
