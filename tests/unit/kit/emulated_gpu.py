"""The program of a kit on a GPU that the emulator plays.

`python emulated_gpu.py --kit KIT --hip LIBRARY` is what `python KIT/verify.py --hip LIBRARY` is, with the
stand-in of `libamdhip64.cpp` as LIBRARY.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_uint, c_void_p
from typing import Any

from imbrex.cdna.code_object import CodeObject, load_code_object
from imbrex.cdna.execute import Launch, Memory, Strictness, execute
from imbrex.diagnostic import Diagnostic

LOAD = CFUNCTYPE(c_int, POINTER(c_void_p), c_void_p)
FIND = CFUNCTYPE(c_int, POINTER(c_void_p), c_void_p, c_char_p)
LAUNCH = CFUNCTYPE(c_int, c_void_p, c_uint, c_uint, POINTER(c_void_p))
FAILED = 719


class Emulator:
    """Code objects and launches of the stand-in.  memory: bytes of what is allocated, by address."""

    def __init__(self, library: str) -> None:
        self.modules: list[CodeObject] = []
        self.functions: list[tuple[CodeObject, str]] = []
        self.memory: dict[int, int] = {}
        self.held = LOAD(self.load), FIND(self.find), LAUNCH(self.launch)
        self.library = ctypes.CDLL(library)
        self.library.standin_use(*self.held)

    def load(self, made: Any, image: int) -> int:
        header = ctypes.string_at(image, 64)
        sections = int.from_bytes(header[40:48], "little")
        size = int.from_bytes(header[58:60], "little") * int.from_bytes(header[60:62], "little")
        self.modules.append(load_code_object(ctypes.string_at(image, sections + size)))
        made[0] = len(self.modules)
        return 0

    def find(self, found: Any, module: int, name: bytes) -> int:
        code = self.modules[module - 1]
        if name.decode() not in code.kernels:
            return 500
        self.functions.append((code, name.decode()))
        found[0] = len(self.functions)
        return 0

    def launch(self, function: int, grid: int, block: int, values: Any) -> int:
        code, name = self.functions[function - 1]
        count = code.kernels[name].argument_bytes // 8
        pointers = [ctypes.string_at(values[i], 8) for i in range(count)]
        owned = [self.owned(int.from_bytes(one, "little")) for one in dict.fromkeys(pointers)]
        try:
            execute(code, name, Launch((grid,), (block,)), pointers, owned, Strictness(seed=1))
        except Diagnostic as fault:
            print(fault, file=sys.stderr)
            return FAILED
        return 0

    def owned(self, address: int) -> Memory:
        """What the pointer may reach: between margins that are equally long."""
        start, size = next((s, n) for s, n in self.memory.items() if s <= address < s + n)
        return Memory(address, size - 2 * (address - start))


def watch(hip: Any, emulator: Emulator) -> None:
    """Tells the emulator of memory, through the class of the kit's program."""
    allocate, free = hip.allocate, hip.free

    def allocated(self: Any, size: int) -> int:
        found: int = allocate(self, size)
        emulator.memory[found] = size
        return found

    def freed(self: Any, address: int) -> None:
        del emulator.memory[address]
        free(self, address)

    hip.allocate, hip.free = allocated, freed


if __name__ == "__main__":
    kit, library = (sys.argv[sys.argv.index(option) + 1] for option in ("--kit", "--hip"))
    sys.path.insert(0, kit)
    from runner.hip import Hip  # pyright: ignore[reportMissingImports]
    from runner.main import main  # pyright: ignore[reportMissingImports]

    watch(Hip, Emulator(library))
    sys.exit(main())
