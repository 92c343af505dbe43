"""A code object that can be executed: its image in memory, its instructions, its kernels.

Source: LLVM, "User Guide for AMDGPU Backend", sections "Kernel Descriptor" and "Code Object V5 Metadata".
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from ctypes import Array
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from imbrex.cdna.decode import decoded
from imbrex.cdna.elf import read_elf
from imbrex.cdna.generation import executed
from imbrex.cdna.instruction import Instruction
from imbrex.cdna.machine import InstructionStruct
from imbrex.cdna.predecode import predecoded
from imbrex.cdna.text import instruction_text
from imbrex.diagnostic import Diagnostic

__all__ = ["Argument", "CodeObject", "Kernel", "aligned", "load_code_object"]

Bytes = npt.NDArray[np.uint8]
_PAGE = 4096


@dataclass(frozen=True, slots=True)
class Argument:
    """kind: as the metadata has it: `global_buffer`, `by_value`, or one of the loader's, `hidden_...`."""

    kind: str
    offset: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """entry: address of the first instruction, after what only preloads arguments.

    setup, system: the words RSRC2 and `kernel_code_properties` of the descriptor, which say what the first
    scalar registers hold.  preloaded: words of arguments that are among them, from `preload_offset` on.
    """

    name: str
    entry: int
    lds_bytes: int
    scratch_bytes: int
    argument_bytes: int
    most_items: int
    setup: int
    system: int
    preloaded: int
    preload_offset: int
    arguments: tuple[Argument, ...]
    grows: bool


@dataclass(frozen=True, eq=False)
class CodeObject:
    """image: the bytes that the instructions see.  structs: the instructions, for the core."""

    chip: str
    image: Bytes = field(repr=False)
    instructions: tuple[Instruction, ...] = field(repr=False)
    structs: Array[InstructionStruct] = field(repr=False)
    kernels: Mapping[str, Kernel]

    @property
    def base(self) -> int:
        """Where the image lies."""
        return self.image.ctypes.data

    def text(self, position: int) -> str:
        """An instruction, written as an assembler takes it."""
        return instruction_text(self.instructions[position], self.chip)

    @property
    def unknown(self) -> tuple[str, ...]:
        """What the machine cannot execute: an error where it is."""
        names = (
            found.name
            for found, to in zip(self.instructions, self.structs, strict=False)
            if found.row is not None and to.row < 0
        )
        return tuple(sorted(set(names)))


def load_code_object(data: bytes) -> CodeObject:
    """The code object of these bytes; a Diagnostic where they are none, or of a chip that is not emulated."""
    found = read_elf(data)
    if found.chip not in executed():
        raise Diagnostic(
            f"code objects of {found.chip} cannot be executed here",
            hint=f"those of {', '.join(executed())} can",
        )
    image = aligned(len(found.image) + _PAGE)
    image[: len(found.image)] = np.frombuffer(found.image, np.uint8)
    for relocation in found.relocations:
        struct.pack_into("<Q", image.data, relocation.address, image.ctypes.data + relocation.value)
    code = found.code
    start, end = code.address, code.address + code.size
    instructions = tuple(decoded(found.image[start:end], start, found.chip))
    kernels = {
        entry[".name"]: _kernel(entry, found.symbols, found.image)
        for entry in found.metadata["amdhsa.kernels"]
    }
    return CodeObject(found.chip, image, instructions, predecoded(instructions), kernels)


def _kernel(entry: Mapping[str, Any], symbols: Mapping[str, int], image: bytes) -> Kernel:
    at = symbols[entry[".symbol"]]
    lds, scratch, arguments = struct.unpack_from("<III", image, at)
    (first,) = struct.unpack_from("<q", image, at + 16)
    (setup,) = struct.unpack_from("<I", image, at + 52)
    system, preload = struct.unpack_from("<HH", image, at + 56)
    preloaded = preload & 0x7F
    given = (Argument(a[".value_kind"], a[".offset"], a[".size"]) for a in entry.get(".args", ()))
    return Kernel(
        entry[".name"],
        at + first + (_PRELOADED_ENTRY if preloaded else 0),
        lds,
        scratch,
        arguments,
        entry.get(".max_flat_workgroup_size", 1024),
        setup,
        system,
        preloaded,
        preload >> 7,
        tuple(given),
        bool(entry.get(".uses_dynamic_stack")),
    )


_PRELOADED_ENTRY = 256
"""Bytes from a kernel's start to where it begins with its arguments in registers."""


def aligned(count: int, at: int = _PAGE) -> Bytes:
    """So many zero bytes, from a multiple of `at` on."""
    memory = np.zeros(count + at, np.uint8)
    start = -memory.ctypes.data % at
    return memory[start : start + count]
