"""Parts of output tiles, each step over K of them one Product: as `fuse`, but the sums go to a private tile.

A workgroup that shares its output tiles does not know before its last step whether it will store its sums or
send them, so C cannot hold them; the private tile can, whatever C's type, guards and order are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from imbrex.index.expr import lin, var
from imbrex.lower.cpu.fuse import Parts, in_place, product
from imbrex.lower.cpu.operands import CopiedRuns, ShortRuns, TilesInPlace
from imbrex.lower.stmt import (
    AxisOffsets,
    For,
    InPlace,
    Meet,
    Pack,
    PanelGemm,
    Product,
    RunsInPlace,
    Stmt,
    Unpack,
    Window,
    walk,
)


def fused_parts(body: Sequence[Stmt]) -> list[Stmt]:
    """The body of a kernel with its loops over segments fused, where they can be."""
    axes = {(s.window.name, s.axis): s for s in walk(tuple(body)) if isinstance(s, AxisOffsets)}
    done: list[Stmt] = []
    for stmt in body:
        made = _fused(stmt, axes) if isinstance(stmt, For) else None
        done += [stmt] if made is None else made
    used = {s.name for stmt in walk(tuple(done)) for s in _windows(stmt)}
    return [s for s in done if not isinstance(s, AxisOffsets | Meet) or s.window.name in used]


def _windows(stmt: Stmt) -> tuple[Window, ...]:
    """The windows that a statement reads or writes through."""
    match stmt:
        case Pack() | Unpack():
            return (stmt.window,)
        case Product(Window() as a):
            return a, stmt.b, stmt.c
        case Product(RunsInPlace(a) | ShortRuns(a) | CopiedRuns(a) | TilesInPlace(a)):
            return a, stmt.b, stmt.c
        case Product():
            return stmt.b, stmt.c
        case _:
            return ()


def _fused(segments: For, axes: dict[tuple[str, str], AxisOffsets]) -> list[Stmt] | None:
    """The window of the private tile, and the loop over segments; None where a step cannot be one Product."""
    parts = _parts(segments, axes)
    a = None if parts is None else in_place(parts)
    if parts is None or parts.steps is None or a is None:
        return None
    sums = _sums(parts)
    left_out = (parts.a.window.name,) if isinstance(a, InPlace) else ()

    def stays(stmt: Stmt) -> bool:
        return not isinstance(stmt, AxisOffsets | Meet) or stmt.window.name not in left_out

    made = replace(
        product(parts, a), c=sums, c_is_transposed=False, alpha=1.0, beta=0.0, start=parts.steps.start
    )
    placed = [s for s in parts.steps.body if isinstance(s, AxisOffsets | Meet) and stays(s)]
    steps = replace(parts.steps, body=(*placed, made))
    body = tuple(steps if s is parts.steps else s for s in segments.body if stays(s))
    m, n = var("m", sums.rows), var("n", sums.lanes)
    window = [
        AxisOffsets(sums, "lanes", "n", lin(sums.lanes), n, ()),
        AxisOffsets(sums, "rows", "m", lin(sums.rows), m * sums.lanes, ()),
        Meet(sums),
    ]
    return [*window, replace(segments, body=body)]


def _parts(segments: For, axes: dict[tuple[str, str], AxisOffsets]) -> Parts | None:
    found = list(walk(segments.body))
    products = [s for s in found if isinstance(s, PanelGemm)]
    stores = [s for s in found if isinstance(s, Unpack)]
    if len(products) != 1 or len(stores) != 1 or products[0].first is None:
        return None
    packs = {s.dest.buffer.name: s for s in found if isinstance(s, Pack)}
    a, b = packs[products[0].a.buffer.name], packs[products[0].b.buffer.name]
    (steps,) = [s for s in segments.body if isinstance(s, For) and products[0] in walk(s.body)]
    return Parts(a, b, products[0], stores[0], axes, "a" if a.stays else "b", steps)


def _sums(parts: Parts) -> Window:
    """The private tile as a window."""
    buffer, columns = parts.c.tile.buffer, parts.c.tile_step
    name = f"{parts.c.window.name}_sums"
    return Window(name, buffer, buffer.dtype, buffer.elements // columns, columns, ())
