"""CUDA's dialect: pointers for all memory, and shared memory as one piece that the launch gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from imbrex.cached import cached_property
from imbrex.chip import VECTOR_BYTES
from imbrex.emit import c
from imbrex.emit.gpu import reference
from imbrex.emit.gpu.solver import shared_buffers
from imbrex.index.expr import Lin, lin
from imbrex.lower.stmt import Buffer, For, Kernel, Let, Move, Ref, View, walk

WIDE: Final = 4
"""Elements of a load from which on ptxas would have more loads under way than there are registers for."""
WIDE_LOADS: Final = 4
"""Loads of a block of such."""


@dataclass(frozen=True)
class CudaDialect:
    """How one kernel is said, after `named_once`."""

    kernel: Kernel

    @property
    def has_products(self) -> bool:
        return True

    def next_block(self, loads: int, width: int) -> Sequence[str]:
        if not loads or (width >= WIDE and loads % WIDE_LOADS):
            return ()
        return ("imbrex::keep_block();" if width >= WIDE else "imbrex::next_block();",)

    def opening(self) -> list[str]:
        return []

    def let(self, stmt: Let) -> str:
        return c.let(stmt)

    def shared(self, buffer: Buffer) -> str:
        kind, at = buffer.dtype.c_name, _offsets(self.kernel)[buffer.name]
        address = "imbrex::shared_memory" if not at else f"imbrex::shared_memory + {at}"
        return f"{kind} *const {buffer.name} = reinterpret_cast<{kind} *>({address});"

    def view(self, stmt: View) -> str:
        kind, base = stmt.buffer.dtype.c_name, stmt.base.name
        start = base if not stmt.byte_offset else f"{base} + {stmt.byte_offset}"
        return f"{kind} *const {stmt.buffer.name} = reinterpret_cast<{kind} *>({start});"

    def global_arguments(self, ref: Ref) -> str:
        start, comma, exists = reference.guarded_pointer(ref).partition(", ")
        parted = apart(ref.offset, self._written_out)
        return f"{ref.buffer.name} + ({parted}){comma}{exists}" if parted else f"{start}{comma}{exists}"

    def target(self, dest: Ref, width: int) -> tuple[str, str]:
        return str(width), self.global_arguments(dest)

    @cached_property
    def _written_out(self) -> frozenset[str]:
        """Variables of the loops in a loop that stays one, which are constants when it is compiled."""
        loops = [s for s in walk(self.kernel.body) if isinstance(s, For) and s.rolled]
        return frozenset(s.var for loop in loops for s in walk(loop.body) if isinstance(s, For))

    def direct(self, move: Move) -> str:
        """Each lane writes where it says."""
        return reference.pointer(move.dest)

    def barrier(self, in_flight: int) -> str:
        assert not in_flight, "copies past the registers are waited for as one"
        has_direct = any(isinstance(s, Move) and s.direct for s in walk(self.kernel.body))
        return "imbrex::barrier_after_direct();" if has_direct else "imbrex::barrier();"


def apart(offset: Lin, known: frozenset[str]) -> str:
    """An offset as what a lane knows and, with 64 bits, what the compiler knows: beside a sum that may
    overflow it would not find its constant.  Empty where one of the two is all.
    """
    near = sum((Lin(((a, k),), 0) for a, k in offset.terms if a.variables <= known), lin(offset.const))
    far = offset - near
    if not known or far.is_constant or near == lin(0) or not c.fits_32_bits(offset):
        return ""
    return f"int64_t({c.index(far)}) + ({c.index(near)})"


def shared_bytes(kernel: Kernel) -> int:
    """Shared memory of one workgroup, which its launch asks for."""
    return sum(map(_aligned, shared_buffers(kernel).values()))


def _offsets(kernel: Kernel) -> dict[str, int]:
    """Where each shared buffer begins, in bytes."""
    offsets: dict[str, int] = {}
    at = 0
    for name, size in shared_buffers(kernel).items():
        offsets[name] = at
        at += _aligned(size)
    return offsets


def _aligned(size: int) -> int:
    return -(-size // VECTOR_BYTES) * VECTOR_BYTES
