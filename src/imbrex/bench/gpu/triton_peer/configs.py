"""What a Triton kernel of a matrix product can be configured to: plain data, read without Triton.

Law: a list for a problem depends on its sizes only, and names no configuration twice.  Sizes themselves are
arguments of a kernel, so that each configuration is compiled once for all problems of a type and layout; the
number of parts is one, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

__all__ = ["Config", "Way", "configs", "parts_for"]

Way: TypeAlias = Literal["tiles", "persistent", "parts", "pointers"]
LEAST_STEPS = 4
"""Fewest steps of a part along k; with fewer its start and its sum cost more than it saves."""
MOST_PARTS = 32


@dataclass(frozen=True)
class Config:
    """way: a program a tile; as many programs as fit, each going through tiles; several programs a tile, each
    with a part of k, the last of which adds; a program a tile that reads by pointers, where the others read
    by TMA.  is_early: the next kernel may start as soon as there is room, not only when sums are done, which
    is worth it for the smallest problems and costs some large ones a quarter.
    """

    way: Way
    rows: int
    columns: int
    depth: int
    stages: int
    warps: int
    parts: int = 1
    is_early: bool = False

    def __str__(self) -> str:
        of = f"{self.way} {self.rows}x{self.columns}x{self.depth}, {self.stages} stages, {self.warps} warps"
        of += ", early" if self.is_early else ""
        return f"{of}, {self.parts} parts" if self.parts > 1 else of

    def tiles(self, m: int, n: int) -> int:
        return -(-m // self.rows) * -(-n // self.columns)


TILES = (
    Config("tiles", 128, 256, 64, 4, 8),
    Config("tiles", 128, 128, 64, 3, 4),
    Config("tiles", 128, 128, 64, 4, 4),
    Config("tiles", 64, 256, 64, 4, 4),
    Config("tiles", 64, 128, 64, 4, 4),
    Config("tiles", 64, 128, 64, 6, 4),
    Config("tiles", 64, 128, 128, 4, 4),
    Config("tiles", 128, 64, 64, 4, 4),
    Config("tiles", 128, 64, 128, 4, 4),
    Config("tiles", 64, 64, 64, 4, 4),
    Config("tiles", 64, 64, 128, 4, 4),
    Config("tiles", 64, 64, 128, 6, 4),
    Config("tiles", 64, 32, 128, 4, 4),
    Config("tiles", 64, 16, 128, 6, 4),
    Config("tiles", 64, 64, 128, 4, 4, is_early=True),
    Config("tiles", 64, 32, 128, 4, 4, is_early=True),
    Config("tiles", 64, 16, 128, 6, 4, is_early=True),
)
PERSISTENT = (
    Config("persistent", 128, 256, 64, 3, 8),
    Config("persistent", 128, 256, 64, 4, 8),
    Config("persistent", 256, 128, 64, 4, 8),
    Config("persistent", 128, 128, 64, 5, 4),
)
PARTS = (
    Config("parts", 128, 256, 64, 3, 8),
    Config("parts", 128, 128, 64, 3, 4),
    Config("parts", 64, 256, 64, 4, 4),
    Config("parts", 128, 64, 64, 4, 4),
    Config("parts", 64, 64, 128, 4, 4),
    Config("parts", 64, 32, 128, 4, 4),
)
POINTERS = (
    Config("pointers", 128, 256, 64, 3, 8),
    Config("pointers", 128, 128, 64, 3, 4),
    Config("pointers", 128, 128, 64, 4, 8),
    Config("pointers", 64, 128, 64, 4, 4),
    Config("pointers", 128, 64, 64, 4, 4),
    Config("pointers", 64, 64, 64, 5, 4),
    Config("pointers", 64, 256, 64, 3, 4),
    Config("pointers", 32, 64, 128, 4, 4),
)


def configs(m: int, n: int, k: int, processors: int, *, described: bool) -> tuple[Config, ...]:
    """Configurations worth a try.  described: whether tensor descriptors can name all three matrices."""
    if not described:
        return POINTERS
    through = tuple(config for config in PERSISTENT if config.tiles(m, n) > processors)
    parts = [
        replace(config, parts=count)
        for config in PARTS
        for count in parts_for(config.tiles(m, n), -(-k // config.depth), processors)
    ]
    return (*TILES, *through, *parts)


def parts_for(tiles: int, steps: int, processors: int) -> tuple[int, ...]:
    """As many parts of k as fill the processors once, and half as many; none where tiles alone do."""
    most = min(processors // tiles, steps // LEAST_STEPS, MOST_PARTS)
    return tuple(dict.fromkeys(count for count in (most, most // 2) if count > 1))
