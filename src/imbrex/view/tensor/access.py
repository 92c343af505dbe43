"""access: how TMA fills a stage's tile with an operand, derived from the operand's map.

Law, checked by evaluation before an answer is given: element (k, d) of a tile is the operand's element there
where the map says that there is one, and zero where it says that there is none, as in padding and beyond
the end of k.  Beyond the operand's rows (d), what is loaded is zero or any element of the array: it only
goes into rows of C that are not stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from imbrex.index.expr import var
from imbrex.index.map import Map
from imbrex.view.stage.shared_tile import SharedTile
from imbrex.view.tensor.box import along_inner, boxed, split
from imbrex.view.tensor.check import differs, misplaced
from imbrex.view.tensor.form import Box, ElementType, Refused, Walk
from imbrex.view.tensor.limit import beyond_limits
from imbrex.view.tensor.space import Space, spaces
from imbrex.view.tensor.tiling import Run, Tiling
from imbrex.view.tensor.walk import walked

__all__ = ["access"]

K_NAME: Final = "gemmK"


def access(
    map: Map,
    tile: SharedTile,
    dtype: ElementType,
    parts: int = 1,
    d_name: str | None = None,
    tiles: int = 1,
    columns: int | None = None,
) -> Box | Walk | Refused:
    """How TMA fills `tile`; a reason where it cannot.

    map: the operand's own, not grown to whole tiles, from (gemmG?, gemmK, gemmM | gemmN) to a compact array.
    parts: the workgroups of a cluster that each load a part of the tile, for all of them.
    tiles: along d, where there are more than the operand needs.  columns: from one of them to the next, where
    a tile is stored with more of them than are its own.
    """
    assert dtype.bytes == tile.element_bytes, (dtype, tile)
    sizes = dict(map.upper)
    d_name = d_name or next(n for n in sizes if n not in ("gemmG", K_NAME))
    columns = columns or tile.d
    tiling = Tiling(map, tile, parts, K_NAME, d_name, max(tiles, -(-sizes[d_name] // columns)), columns)
    if isinstance(tiling.runs, Refused):
        return tiling.runs
    runs, variables, reasons = tiling.runs, tiling.variables, list[list[str]]()
    for found in spaces(map, [var(name, tiling.grown[name]) for name in sizes], tiling.inner):
        reasons.append([])
        for form in _forms(found, tiling, runs):
            if isinstance(form, Refused):
                reasons[-1].append(form.reason)
                continue
            reason = beyond_limits(form, dtype.bytes) or misplaced(form, runs, variables, dtype.bytes)
            reason = reason or differs(form, map, runs, variables, free=d_name)
            if reason is None:
                return form
            reasons[-1].append(reason)
    return Refused("; ".join(dict.fromkeys(reasons[0])))


def _forms(space: Space | Refused, tiling: Tiling, runs: Sequence[Run]) -> Iterator[Box | Walk | Refused]:
    """A box and a walk.  A box that steps over elements comes after the walk, which is meant for that, better
    with an axis of its own for those in between.
    """
    if isinstance(space, Refused):
        yield space
        return
    if reason := along_inner(space.axes[-1], tiling.inner):
        yield Refused(reason)
        return
    box = boxed(space, runs, tiling.tile.swizzle, tiling.inner)
    is_plain = isinstance(box, Box) and max(box.steps) == 1
    if is_plain:
        yield box
    yield walked(space, tiling, runs)
    if not is_plain:
        if apart := split(space, runs):
            yield boxed(apart, runs, tiling.tile.swizzle, tiling.inner)
        yield box
