"""Phases: how LDS serves the lanes of one access, as documents and measurements of each chip have it.

LDS is cut into banks of 4 bytes.  An access of a wave goes in phases, each a set of lanes; a phase takes one
cycle for every word that its busiest bank must give.  The phases of 16-byte accesses are not neighbouring
lanes: rows of LDS that are fine for one chip's order of lanes collide in another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal, TypeAlias

__all__ = ["BANK_BYTES", "CDNA4_PHASES", "CDNA_PHASES", "WARP_PHASES", "Access", "Phases"]

Access: TypeAlias = Literal["read", "write"]
BANK_BYTES: Final = 4


@dataclass(frozen=True)
class Phases:
    """One access of a wave, of `bytes` a lane: the banks it meets, the lanes of each phase, who says so."""

    bytes: int
    access: Access
    banks: int
    lanes: tuple[tuple[int, ...], ...]
    source: str


def _both_halves(*lanes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Phases of lanes 0 to 31, then the same of lanes 32 to 63."""
    return tuple(tuple(lane + half for lane in phase) for half in (0, 32) for phase in lanes)


def _spans(*spans: tuple[int, int]) -> tuple[int, ...]:
    return tuple(chain.from_iterable(range(first, last + 1) for first, last in spans))


def _neighbours(count: int, wave: int = 64) -> tuple[tuple[int, ...], ...]:
    """Phases of `count` neighbouring lanes."""
    return tuple(tuple(range(i, i + count)) for i in range(0, wave, count))


_EIGHTS: Final = _both_halves(
    _spans((0, 3), (20, 23)), _spans((4, 7), (16, 19)), _spans((8, 11), (28, 31)), _spans((12, 15), (24, 27))
)
_SIXTEENS: Final = _both_halves(_spans((0, 3), (12, 15), (20, 27)), _spans((4, 11), (16, 19), (28, 31)))
_CK: Final = "Composable Kernel documentation, LDS bank conflicts of gfx942"
_AS_16: Final = "taken as the 16-byte access"
_MEASURED: Final = "HipKittens, measured on MI350X"
_FILLS: Final = "as many neighbouring lanes as fill all banks once"

CDNA_PHASES: Final = (
    Phases(4, "read", 32, _neighbours(32), _FILLS),
    Phases(4, "write", 32, _neighbours(32), _FILLS),
    Phases(8, "read", 32, _neighbours(16), _FILLS),
    Phases(8, "write", 32, _neighbours(16), _FILLS),
    Phases(12, "read", 32, _EIGHTS, _AS_16),
    Phases(12, "write", 32, _neighbours(8), _AS_16),
    Phases(16, "read", 32, _EIGHTS, _CK),
    Phases(16, "write", 32, _neighbours(8), _CK),
)
"""CDNA 3's, which CDNA 1 and 2 are taken to have, too."""

CDNA4_PHASES: Final = (
    Phases(4, "read", 64, _neighbours(64), _FILLS),
    Phases(4, "write", 32, _neighbours(32), _FILLS),
    Phases(8, "read", 64, _neighbours(32), _MEASURED),
    Phases(8, "write", 32, _neighbours(16), _MEASURED),
    Phases(12, "read", 32, _EIGHTS, _MEASURED),
    Phases(12, "write", 32, _neighbours(8), _AS_16),
    Phases(16, "read", 64, _SIXTEENS, _MEASURED),
    Phases(16, "write", 32, _neighbours(8), _CK),
)

WARP_PHASES: Final = tuple(
    Phases(size, access, 32, _neighbours(128 // size, wave=32), _FILLS)
    for size in (4, 8, 16)
    for access in ("read", "write")
)
"""NVIDIA's, of warps of 32."""
