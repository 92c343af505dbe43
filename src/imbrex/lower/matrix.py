"""MatrixMultiply: one matrix instruction, a statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from imbrex.lower.buffer import Ref
from imbrex.view.mma import Instruction

__all__ = ["MatrixMultiply"]


@dataclass(frozen=True)
class MatrixMultiply:
    """c += a * b on the matrices that a wave holds in its registers: one matrix instruction.

    The lanes of a wave run it together; lane = workitem % instruction.wave.  Each reference is the first of
    `a_elements`, `b_elements`, `c_elements` neighbours in a private buffer, in the order of the registers of
    the instruction's maps; its offset is the same in every lane.  scales: none, or the first of a register's
    neighbours, `scale_count` of them, of which `scale_place` is the lane's, of A and of B.  It is no barrier.
    """

    instruction: Instruction
    c: Ref
    a: Ref
    b: Ref
    scales: tuple[Ref, ...] = ()
    scale_count: int = 1
    scale_place: int = 0

    @property
    def read(self) -> tuple[Ref, ...]:
        """All that it takes but the sums."""
        return (self.a, self.b, *self.scales)

    def mapped(self, change: Callable[[Ref], Ref]) -> MatrixMultiply:
        """The same on other registers."""
        c, a, b, *scales = (change(ref) for ref in (self.c, *self.read))
        return replace(self, c=c, a=a, b=b, scales=tuple(scales))
