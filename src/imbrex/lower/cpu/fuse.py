"""A CPU workgroup's step over K as one Product: it packs what must be packed and reads the rest.

Packing copies an operand so that vectors and broadcasts find it in order.  Where the map already has
that order, the copy changes nothing but cache lines, and is left out:

    A   element (m, k) at base + m * pitch + k, no guards, rows that do not crowd into few sets of the cache
    A   element (m, k) at base + k * pitch + m, no guards, of few enough k; of more, of lines that are gone
        before the next panel, or of other elements than panels hold, it is copied without a window
    A   long runs of neighbours in k, as channels that come last: a pointer for each run
    A   short ones, as the taps of a row of a window of few channels, of rows that are mostly evenly apart
    B   vectors of neighbours along n, rows that do not crowd into few sets, or panels that are met once; the
        device looks at each panel
    C   vectors of neighbours along n
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Any, Literal

import numpy as np

from imbrex.config.cpu.crowding import (
    comes_anew,
    crowds,
    loses_lines,
    reads_runs_by_tiles,
    repays_clearing,
    repays_packing,
)
from imbrex.config.cpu.met import leaves_out
from imbrex.config.cpu.plan import LEAST_RUN, MOST_LINES, MOST_RUNS
from imbrex.index.atom import Div, Mod, Select, Var
from imbrex.index.expr import Lin, lin, var
from imbrex.index.met import Guarded
from imbrex.index.query import pointer_step
from imbrex.index.rule import COUNT
from imbrex.lower.cpu.operands import CopiedRuns, OperandA, ShortRuns, TilesInPlace
from imbrex.lower.cpu.runs import common_run, extents, neighbours, short_runs
from imbrex.lower.finish import OLD
from imbrex.lower.stmt import (
    AxisOffsets,
    For,
    InPlace,
    Let,
    Meet,
    Pack,
    PanelGemm,
    Product,
    Ref,
    RunsInPlace,
    Stmt,
    Unpack,
    Window,
    walk,
)
from imbrex.view.mma.vector import FMA

SHORTEST_RUN = 16
"""Words of neighbours in k that make a run worth a pointer: the widest vector's."""
CHUNKS = range(24, 7, -1)
"""Turns of the innermost loop for runs that are no whole vectors, as 3 channels of 7 taps."""


def fused(body: Sequence[Stmt]) -> list[Stmt]:
    """The body, or, where C has no guards, its windows and one Product."""
    body = [_ended(stmt) for stmt in body]
    parts = _parts(body)
    if parts is None:
        return list(body)
    a = in_place(parts)
    if a is None:
        return list(body)
    windows = {parts.b.window.name, parts.c.window.name}
    if not isinstance(a, InPlace):
        windows.add(parts.a.window.name)

    def kept(stmts: Sequence[Stmt]) -> list[Stmt]:
        """Names of numbers, and the windows that are still looked through."""
        return [s for s in walk(tuple(stmts)) if isinstance(s, Let) or _is_of(s, windows)]

    made = replace(product(parts, a), finish=parts.c.finish)
    if parts.steps is None:
        return [*kept(body), made]
    steps = parts.steps.count if parts.steps.end is None else parts.steps.end
    made = replace(made, steps=steps, keeps_sums=not _holds_sums(parts.c))
    inner = (*kept(parts.steps.body), made)
    return [*kept([s for s in body if s is not parts.steps]), replace(parts.steps, body=inner)]


def _ended(stmt: Stmt) -> Stmt:
    """The loop over K of a run-time size with its end: as many steps as begin before what exists ends."""
    if not isinstance(stmt, For) or stmt.end is not None:
        return stmt
    for axis in walk(stmt.body):
        left = _left(axis.count, stmt.var) if isinstance(axis, AxisOffsets) else None
        if left is not None:
            ((number, _),) = var(stmt.var, stmt.count).terms
            (step,) = (-factor for atom, factor in left.terms if atom == number)
            whole = left.subs({stmt.var: lin(0)})
            return replace(stmt, end=(whole + (step - 1)) // step)
    return stmt


def _left(count: Lin, step: str) -> Lin | None:
    """What is left of a run-time size at a step of a loop, of an extent that is that or a whole step."""
    if not count.mentions(COUNT) or not count.mentions(step):
        return None
    for atom, _ in count.terms:
        if isinstance(atom, Select):
            return _left(atom.then, step) or _left(atom.other, step)
    return count


def _is_of(stmt: Stmt, windows: set[str]) -> bool:
    return isinstance(stmt, AxisOffsets | Meet) and stmt.window.name in windows


@dataclass(frozen=True)
class Parts:
    """The statements of a workgroup: two packs, one product, one store, and the axes of their windows.

    steps: the loop over K, where it has several steps.
    """

    a: Pack
    b: Pack
    product: PanelGemm
    c: Unpack
    axes: dict[tuple[str, str], AxisOffsets]
    stationary: str
    steps: For | None

    def axis(self, window: Window, name: str) -> AxisOffsets:
        return self.axes[window.name, name]


def _parts(body: Sequence[Stmt]) -> Parts | None:
    found = list(walk(tuple(body)))
    products = [s for s in found if isinstance(s, PanelGemm)]
    stores = [s for s in found if isinstance(s, Unpack)]
    packs = {s.dest.buffer.name: s for s in found if isinstance(s, Pack)}
    if len(products) != 1 or len(stores) != 1:
        return None
    a, b = packs[products[0].a.buffer.name], packs[products[0].b.buffer.name]
    axes = {(s.window.name, s.axis): s for s in found if isinstance(s, AxisOffsets)}
    loops = [s for s in body if isinstance(s, For) and products[0] in walk(s.body)]
    steps = loops[0] if products[0].first is not None else None
    parts = Parts(a, b, products[0], stores[0], axes, "a" if a.stays else "b", steps)
    is_plain = stores[0].method == "set" and not stores[0].window.sizes
    has_form = parts.stationary == "b" or not stores[0].is_transposed
    return parts if is_plain and has_form else None


def _holds_sums(store: Unpack) -> bool:
    """Can C hold the sums between steps: of their type, and not asked afterwards for what it held before?"""
    asks = store.finish is not None and any(name == OLD for name, _ in store.finish.arrays)
    return store.window.buffer.dtype == store.tile.buffer.dtype and not asks


def in_place(parts: Parts) -> OperandA | None:
    """A where it lies, if its map is a matrix or has long runs of neighbours along k; None where its panels
    keep no neighbours along k together and it is no matrix.
    """
    if parts.a.form != "blocked":
        return _transposed(parts)
    window, dest = parts.a.window, parts.a.dest.buffer
    rows, lanes = parts.axis(window, "rows"), parts.axis(window, "lanes")
    pitch = pointer_step(rows.offset, rows.var, window.rows)
    rest = lanes.offset - var(lanes.var, window.lanes)
    if window.buffer.dtype != dest.dtype:
        return window
    vector = SHORTEST_RUN * parts.product.unit.packed
    if not window.sizes and pitch.is_constant and not rest.mentions(lanes.var):
        step = abs(pitch.const) * dest.dtype.bytes
        base = Ref(window.buffer, rest + rows.offset.subs({rows.var: lin(0)}))
        is_crowd = parts.product.unit.tiles is None and crowds(parts.a.width, step)
        return window if is_crowd else InPlace(base, pitch.const)
    run = common_run(lanes, parts.steps)
    if parts.product.unit.tiles is not None:
        visits = _visits(parts) if parts.stationary == "a" else 1
        if reads_runs_by_tiles(run, vector, visits) and window.lanes <= MOST_RUNS * run:
            return TilesInPlace(window, run)
        run = neighbours(lanes, parts.steps)
        return CopiedRuns(window, run) if run >= LEAST_RUN else window
    if run >= vector and run % vector == 0:
        return RunsInPlace(window, run)
    if (short := _short_runs(parts)) is not None:
        return short
    chunk = next((chunk for chunk in CHUNKS if run % chunk == 0), None)
    has_chunks = run >= vector and chunk is not None and parts.product.unit == FMA
    return RunsInPlace(window, run, chunk) if has_chunks else window


def _short_runs(parts: Parts) -> ShortRuns | None:
    """A as short runs, where all of K is one step."""
    if parts.steps is not None:
        return None
    window, columns = parts.a.window, parts.c.window
    n = columns.rows if parts.c.is_transposed else columns.lanes
    rows, lanes = parts.axis(window, "rows"), parts.axis(window, "lanes")
    return short_runs(rows, lanes, parts.product.unit, parts.a.width, n)


def _transposed(parts: Parts) -> InPlace | None:
    """A as a matrix with neighbours along m."""
    window = parts.a.window
    if parts.a.form != "along_lanes" or window.sizes:
        return None
    rows, lanes = parts.axis(window, "rows"), parts.axis(window, "lanes")
    pitch = pointer_step(rows.offset, rows.var, window.rows)
    rest = lanes.offset - var(lanes.var, window.lanes)
    if not pitch.is_constant or rest.mentions(lanes.var):
        return None
    base = Ref(window.buffer, rest + rows.offset.subs({rows.var: lin(0)}))
    is_plain = window.buffer.dtype == parts.a.dest.buffer.dtype and parts.product.unit == FMA
    lines, apart = max(extents(rows, parts.steps)), abs(pitch.const) * window.buffer.dtype.bytes
    multiplied = parts.product.m * parts.product.n
    visits = _visits(parts)
    is_lost = loses_lines(lines, apart, multiplied, visits)
    if parts.stationary == "a":
        is_lost = is_lost or comes_anew(lines, apart, multiplied, visits)
    stays = is_plain and not is_lost and lines <= MOST_LINES
    return InPlace(base, pitch.const, is_transposed=True, is_copied=not stays)


def _visits(parts: Parts) -> int:
    """Panels of B that meet each panel of A."""
    n_axis = parts.axis(parts.c.window, "rows" if parts.c.is_transposed else "lanes")
    return -(-max(_extents(n_axis)) // parts.product.n)


def product(parts: Parts, a: OperandA) -> Product:
    b, c, panels = parts.b, parts.c, parts.product
    m_axis = parts.axis(c.window, "lanes" if c.is_transposed else "rows")
    n_axis = parts.axis(c.window, "rows" if c.is_transposed else "lanes")
    k_axis = parts.axis(b.window, "lanes" if b.form == "transposed" else "rows")
    heights, widths = _extents(m_axis), _extents(n_axis)
    axes: tuple[tuple[Literal["m", "n", "k"], AxisOffsets], ...] = ("m", m_axis), ("n", n_axis), ("k", k_axis)
    return Product(
        a,
        b.window,
        c.window,
        panels.unit,
        m_axis.count,
        n_axis.count,
        heights,
        widths,
        a.padded_k(panels.unit) if isinstance(a, ShortRuns) else max(extents(k_axis, parts.steps)),
        panels.m,
        panels.n,
        b.form == "transposed",
        c.is_transposed,
        b.form != "transposed" and _stays_unpacked(parts, max(heights)),
        parts.stationary,  # type: ignore[arg-type]
        c.alpha,
        c.beta,
        parts.steps.var if parts.steps is not None else None,
        open=next((name for name, axis in axes if axis.count.mentions(COUNT)), None),
        leaves_out=_leaves_out(parts, a),
    )


def _leaves_out(parts: Parts, a: OperandA) -> bool:
    """Are rows of B that are padding in all columns of a panel left out?"""
    window, is_read = parts.b.window, isinstance(a, Window | InPlace)
    sizes = [lin(size) for size in window.sizes]
    is_known = all(size.is_constant for size in sizes)
    if not (is_read and sizes and is_known and parts.b.form == "along_lanes" and parts.product.unit == FMA):
        return False
    rows, lanes = parts.axis(window, "rows"), parts.axis(window, "lanes")
    steps = () if parts.steps is None else ((parts.steps.var, parts.steps.count),)
    blocks = sorted(
        {(at.name, at.size) for guard in lanes.guards for at in _variables(guard)}
        - {(lanes.var, window.lanes)}
    )
    across, along = (*steps, (rows.var, window.rows)), (*blocks, (lanes.var, window.lanes))
    guards = Guarded(rows.guards, lanes.guards, tuple(size.const for size in sizes), across, along)
    return leaves_out(guards.met(parts.b.width))


def _extents(axis: AxisOffsets) -> tuple[int, ...]:
    """The values of a clipped extent: a whole block's, and what is left for the last one.  Of a run-time size
    the greatest and the least.
    """
    count = axis.count
    if count.mentions(COUNT):
        whole = axis.window.rows if axis.axis == "rows" else axis.window.lanes
        return min(count.bounds[1], whole), max(1, count.bounds[0])
    if count.is_constant:
        return (count.const,)
    low, high = _values(count)
    return (high,) if low == high else (high, low)


def _values(count: Lin) -> tuple[int, int]:
    """Least and greatest value over all workgroups; where there are very many, over the first and the last,
    among which are whole blocks and the last one of every axis.
    """
    (workgroup,) = _variables(count)
    size, most = workgroup.size, MOST_WORKGROUPS
    ends = [(0, size)] if size <= 2 * most else [(0, most), (size - most, size)]
    values: set[int] = set()
    for first, end in ends:
        found: Any = count.eval({workgroup.name: np.arange(first, end)})
        values |= {int(value) for value in np.unique(found)}
    assert len(values) <= 2, f"an extent takes more than two values: {sorted(values)}"
    return min(values), max(values)


MOST_WORKGROUPS = 1 << 20
"""Most workgroups that are looked at, at either end of a grid."""


def _variables(index: Lin) -> set[Var]:
    """The variables under the atoms of an index; those of a count are only the workgroup."""
    found: set[Var] = set()
    for atom, _ in index.terms:
        match atom:
            case Var():
                found.add(atom)
            case Div() | Mod():
                found |= _variables(atom.num)
            case Select():
                found |= _variables(atom.cond) | _variables(atom.then) | _variables(atom.other)
            case _:
                raise AssertionError(f"a count depends on {atom}")
    return found


def _stays_unpacked(parts: Parts, height: int) -> bool:
    """Are panels of B, in rows along n, read where they lie, of which so many rows of C are made?"""
    b, tile = parts.b, parts.product
    visits, rows = -(-height // tile.m), parts.axis(b.window, "rows")
    if repays_packing(max(extents(rows, parts.steps)), _bytes_apart(rows, b), visits, tile.m * tile.n):
        return False
    return not b.window.sizes or not repays_clearing(visits, tile.m * tile.n)


def _bytes_apart(rows: AxisOffsets, pack: Pack) -> int:
    """How far apart rows of B lie, or a common divisor where that differs."""
    step = pointer_step(rows.offset, rows.var, pack.window.rows)
    return gcd(*(c for _, c in step.terms), step.const) * pack.window.buffer.dtype.bytes
