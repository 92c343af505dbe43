"""SharedLayout: where a workgroup's shared memory has the stages of its rings, pieces of C, and barriers.

    stages      [ring][stage] A, and B where it comes step by step
    kept        B, where it stays
    pieces      [consumer][2]
    barriers    full, empty [ring][stage]; turn [consumer]; vacated; collected [consumer]; b_there; b_left

Law: parts follow one another, none overlaps another, and tiles begin on whole swizzles.  Legality asks for
`bytes`, kernels are given the places as constants, and headers compute none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal, TypeAlias

from imbrex.cached import cached_property

__all__ = ["ALIGNMENT", "BARRIER_BYTES", "PIECES", "Residency", "SharedLayout"]

ALIGNMENT: Final = 1024
"""Bytes: of a tile, so that its rows' permutations are those of their addresses: atoms of 8 rows of 128."""
BARRIER_BYTES: Final = 8
PIECES: Final = 2
"""Pieces of C of each consumer, one being stored while the next is written."""

Residency: TypeAlias = Literal["step", "tile", "kernel"]
"""How long a tile stays in shared memory: for one step, in a ring of stages; until tiles of C want another
one; for all of the kernel.
"""


@dataclass(frozen=True)
class SharedLayout:
    """a_bytes, b_bytes: of a tile.  stages: of a ring.  piece_bytes: of a piece of C, 0 where there are none.

    consumers: warpgroups that multiply; each has a ring where it `has_own_ring`.  takes_turns: they multiply
    one after the other.  parts: workgroups that share a tile of C through their shared memory.
    """

    a_bytes: int
    b_bytes: int
    stages: int
    consumers: int
    piece_bytes: int
    b_residency: Residency = "step"
    has_own_ring: bool = False
    takes_turns: bool = False
    parts: int = 1

    @property
    def stage_bytes(self) -> int:
        """Bytes from a stage to the next."""
        return _rounded(self.a_bytes) + (_rounded(self.b_bytes) if self.b_residency == "step" else 0)

    @property
    def all_stages(self) -> int:
        """Stages of all rings."""
        return self.stages * (self.consumers if self.has_own_ring else 1)

    @property
    def b_offset(self) -> int:
        """Where B's first tile is, and the only one where it stays."""
        return _rounded(self.a_bytes) if self.b_residency == "step" else self.all_stages * self.stage_bytes

    @property
    def b_step(self) -> int:
        """Bytes from B's tile of a stage to that of the next."""
        return self.stage_bytes if self.b_residency == "step" else 0

    @property
    def pieces_offset(self) -> int:
        """Where the pieces of C begin: behind all tiles."""
        kept = 0 if self.b_residency == "step" else _rounded(self.b_bytes)
        return self.all_stages * self.stage_bytes + kept

    @property
    def barriers_offset(self) -> int:
        """Where barriers begin."""
        return self.pieces_offset + self.consumers * PIECES * self.piece_bytes

    @cached_property
    def barriers(self) -> Mapping[str, int]:
        """How many there are of each kind, in their order."""
        return {
            "full": self.all_stages,
            "empty": self.all_stages,
            "turn": self.consumers if self.takes_turns else 0,
            "vacated": 1 if self.parts > 1 else 0,
            "collected": self.consumers if self.parts > 1 else 0,
            "b_there": 0 if self.b_residency == "step" else 1,
            "b_left": 1 if self.b_residency == "tile" else 0,
        }

    @cached_property
    def barrier_offsets(self) -> Mapping[str, int]:
        """Where the first barrier of each kind is."""
        before = accumulate(self.barriers.values(), initial=0)  # one more, where they end
        return {
            name: self.barriers_offset + BARRIER_BYTES * at
            for name, at in zip(self.barriers, before, strict=False)
        }

    @property
    def bytes(self) -> int:
        """Shared memory of a workgroup."""
        return self.barriers_offset + BARRIER_BYTES * sum(self.barriers.values())


def _rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
