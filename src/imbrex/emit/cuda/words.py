"""CUDA's words: pointers for all memory, and shared memory as one piece that the launch gives."""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.emit import c
from imbrex.emit.gpu import reference
from imbrex.emit.gpu.solver import shared_buffers
from imbrex.lower.stmt import Buffer, Kernel, Let, Move, Ref, View, walk

ALIGNMENT = 16
"""Bytes: of every shared buffer, so that an access of a vector is whole."""


@dataclass(frozen=True)
class CudaWords:
    """Of one kernel, after `share`."""

    kernel: Kernel

    @property
    def has_products(self) -> bool:
        return True

    def opening(self) -> list[str]:
        return []

    def let(self, stmt: Let) -> str:
        return c.let(stmt)

    def shared(self, buffer: Buffer) -> str:
        kind, at = c.type_name(buffer.dtype), _places(self.kernel)[buffer.name]
        place = "imbrex::shared_memory" if not at else f"imbrex::shared_memory + {at}"
        return f"{kind} *const {buffer.name} = reinterpret_cast<{kind} *>({place});"

    def view(self, stmt: View) -> str:
        kind, base = c.type_name(stmt.buffer.dtype), stmt.base.name
        start = base if not stmt.byte_offset else f"{base} + {stmt.byte_offset}"
        return f"{kind} *const {stmt.buffer.name} = reinterpret_cast<{kind} *>({start});"

    def place(self, ref: Ref) -> str:
        return reference.place(ref)

    def target(self, dest: Ref, width: int) -> tuple[str, str]:
        return str(width), reference.place(dest)

    def direct(self, move: Move) -> str:
        """Each lane writes where it says."""
        return reference.pointer(move.dest)

    def barrier(self) -> str:
        has_direct = any(isinstance(s, Move) and s.direct for s in walk(self.kernel.body))
        return "imbrex::barrier_after_direct();" if has_direct else "imbrex::barrier();"


def shared_bytes(kernel: Kernel) -> int:
    """Shared memory of one workgroup, which its launch asks for."""
    return sum(map(_aligned, shared_buffers(kernel).values()))


def _places(kernel: Kernel) -> dict[str, int]:
    """Where each shared buffer begins, in bytes."""
    places: dict[str, int] = {}
    at = 0
    for name, size in shared_buffers(kernel).items():
        places[name] = at
        at += _aligned(size)
    return places


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
