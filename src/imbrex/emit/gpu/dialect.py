"""Dialect: what languages for GPUs say differently of the statements of one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from imbrex.lower.stmt import Buffer, Let, Move, Ref, View


class Dialect(Protocol):
    """One kernel in one language; each answer is C++ text."""

    @property
    def has_products(self) -> bool:
        """Does it take the product of a column and a row as one?"""
        ...

    def next_block(self, loads: int, width: int) -> Sequence[str]:
        """What begins a basic block before a load of `width` neighbours in a long straight text; empty where
        none is to begin.  loads: how many stand before it.
        """
        ...

    def opening(self) -> list[str]:
        """What stands before the kernel's own statements."""
        ...

    def let(self, stmt: Let) -> str: ...

    def shared(self, buffer: Buffer) -> str:
        """The declaration of memory that the work items of a workgroup share."""
        ...

    def view(self, stmt: View) -> str: ...

    def global_arguments(self, ref: Ref) -> str:
        """The arguments that say where in global memory a move begins, and whether it does."""
        ...

    def target(self, dest: Ref, width: int) -> tuple[str, str]:
        """Template arguments and place of a store to global memory."""
        ...

    def direct(self, move: Move) -> str:
        """Where in shared memory a move past the registers begins."""
        ...

    def barrier(self, in_flight: int) -> str:
        """in_flight: moves past the registers that may still be under way."""
        ...
