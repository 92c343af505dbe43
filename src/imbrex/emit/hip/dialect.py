"""HIP's dialect: global memory by raw buffers, LDS in an address space, and what a wave shares in scalars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from imbrex.cached import cached_property
from imbrex.emit import c
from imbrex.emit.gpu import reference
from imbrex.emit.gpu.reference import element, pointer
from imbrex.emit.hip.address import Arrays, arrays
from imbrex.emit.hip.waves import LANE
from imbrex.index.expr import lin
from imbrex.lower.stmt import Buffer, Kernel, Let, Move, Ref, View, walk


@dataclass(frozen=True)
class HipDialect:
    """How one kernel is said, after `by_wave` and `named_once`."""

    kernel: Kernel

    @cached_property
    def arrays(self) -> Arrays:
        return arrays(self.kernel)

    @cached_property
    def has_direct(self) -> bool:
        """Does it move anything to LDS past the registers?"""
        return any(isinstance(s, Move) and s.direct for s in walk(self.kernel.body))

    @property
    def has_products(self) -> bool:
        return False

    def next_block(self, loads: int, width: int) -> Sequence[str]:
        return ()

    def opening(self) -> list[str]:
        """The arguments that are reached as raw buffers."""
        moves = [s for s in walk(self.kernel.body) if isinstance(s, Move)]
        used = {s.source.buffer.name for s in moves}
        used |= {s.dest.buffer.name for s in moves if s.method != "atomic_add"}
        return [
            f"const imbrex::buffer {_buffer(b)} = imbrex::buffer_of({b.name}, {self.arrays.before[b.name]});"
            for b in self.kernel.arguments
            if b.name in used and self.arrays.has_buffer(b)
        ]

    def let(self, stmt: Let) -> str:
        """What depends on the work item and yet is the same in all lanes is read from the first."""
        if self.kernel.workitem in stmt.index.variables and stmt.name not in self.arrays.lanes:
            return f"const int32_t {stmt.name} = __builtin_amdgcn_readfirstlane({c.index(stmt.index)});"
        return c.let(stmt)

    def shared(self, buffer: Buffer) -> str:
        kind = buffer.dtype.c_name
        return f"__shared__ __attribute__((aligned(16))) {kind} {buffer.name}[{buffer.elements}];"

    def view(self, stmt: View) -> str:
        kind = stmt.buffer.dtype.c_name
        start = stmt.base.name if not stmt.byte_offset else f"({stmt.base.name} + {stmt.byte_offset})"
        return f"const auto {stmt.buffer.name} = (imbrex::lds<{kind}>){start};"

    def global_arguments(self, ref: Ref) -> str:
        if self.arrays.is_far(ref.buffer):
            return reference.guarded_pointer(ref)
        address = self.arrays.address(ref)
        lane = c.index(address.lane)
        if ref.missing is not None:
            word = element(Ref(ref.missing.buffer, ref.missing.offset))
            lane = f"imbrex::unless({word}, {c.index(ref.missing.bit)}, {lane})"
        if ref.guards:
            lane = f"imbrex::where({c.guards(ref.guards)}, {lane})"
        wave = c.index(address.wave)
        if self.arrays.has_buffer(ref.buffer):
            return f"{_buffer(ref.buffer)}, {lane}, {wave}"
        return f"imbrex::buffer_from({ref.buffer.name}, {wave}), {lane}, 0"

    def target(self, dest: Ref, width: int) -> tuple[str, str]:
        """A buffer does not know the type of its elements."""
        far = self.arrays.is_far(dest.buffer)
        return f"{width}" if far else f"{dest.buffer.dtype.c_name}, {width}", self.global_arguments(dest)

    def direct(self, move: Move) -> str:
        """The place of a wave's first lane."""
        ref = move.dest
        first = ref.offset.subs({self.kernel.workitem: lin(0), LANE: lin(0)})
        assert not first.variables & self.arrays.lanes, f"lanes write {ref.offset}, not one after the other"
        return pointer(Ref(ref.buffer, first))

    def barrier(self, in_flight: int) -> str:
        if in_flight:
            return f"imbrex::barrier_after_direct<{in_flight}>();"
        return "imbrex::barrier_after_direct();" if self.has_direct else "imbrex::barrier();"


def _buffer(buffer: Buffer) -> str:
    return f"{buffer.name}_memory"
