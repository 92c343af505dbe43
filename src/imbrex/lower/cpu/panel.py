"""What a CPU core does: windows of global memory packed into panels, panels multiplied, tiles written back.

A window's index is a part that depends on k plus a part that depends on m or n: the algebra splits it, or
says that it cannot.  What overhangs the matrix is cut off by counts, not by guards, so the panels' edges cost
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from imbrex.dtype import DType
from imbrex.index.atom import Div
from imbrex.index.digits import row_major
from imbrex.index.expr import Index, Lin, lin, select, var
from imbrex.index.implied import is_implied
from imbrex.index.query import Separated, separate
from imbrex.index.rule import Guard
from imbrex.ir.chain import finish_of
from imbrex.ir.ops.standard import SSAValue
from imbrex.ir.ops.thread import ThreadwiseCopyOp, ThreadwiseGemmOp
from imbrex.ir.source import InvalidOp
from imbrex.ir.unit import unit_of
from imbrex.lower.finish import Stored, finishing
from imbrex.lower.grid import is_of_count, is_of_grid
from imbrex.lower.reader import Reader, element_type, number, sizes
from imbrex.lower.stmt import AxisOffsets, For, Meet, Pack, PanelGemm, Ref, Stmt, Unpack, Window
from imbrex.view.mma.vector import FMA, CpuUnit

SAMPLE = 256
Form = Literal["along_lanes", "blocked", "transposed"]


@dataclass
class Scope:
    """The statements of a loop's body, the variable that the loop adds, and how far it has come; names: that
    variable and all that were given in the body.
    """

    loop: str
    body: list[Stmt]
    index: Lin | None = None
    names: set[str] = field(default_factory=lambda: set[str]())


@dataclass(frozen=True)
class Line:
    """One axis of a two-dimensional piece: its variable, extent, and what of the index and guards is its
    own.
    """

    var: str
    size: int
    offset: Lin
    guards: tuple[Lin, ...]
    count: Lin


@dataclass(frozen=True)
class Lines:
    """Both axes of a piece, and the sizes that its guards compare with."""

    across: Line
    along: Line
    sizes: tuple[Index, ...]

    def axes(self, vectors_across: bool) -> tuple[Line, Line]:
        """Rows and lanes of a window."""
        return (self.along, self.across) if vectors_across else (self.across, self.along)


def expect_whole(op: ThreadwiseCopyOp) -> None:
    """InvalidOp where a copy of the CPU form starts elsewhere than at its index: panels have no parts."""
    if op.source_start or op.dest_start:
        raise InvalidOp(op, "a block of one work item copies whole panels; index a view instead")


def pack(op: ThreadwiseCopyOp, reader: Reader, scopes: list[Scope], clips: dict[str, Lin]) -> None:
    """A copy into panels.  The window is placed in the outermost loops that know it; the panel is packed
    here.
    """
    index, dest = reader.index(op.source_index), reader.root(op.dest)[0]
    shape = sizes(op.source)
    panels, k_outer, width, inner = _panel_shape(shape, len(index))
    lanes = panels * width
    reader.names |= {"k", "lane"}
    k, lane = var("k", k_outer * inner), var("lane", lanes)
    coords = [*index[:2], lane // width, *_k_coords(k, lane % width, inner)]
    lines = _lines(reader, op.source, coords, ("k", k_outer * inner), ("lane", lanes), index[1])
    clips[dest.name], clips[f"{dest.name}.k"] = lines.along.count, lines.across.count
    contiguous_k = _stretch(lines.across, (1, 2)) > _stretch(lines.along, (1, 2))
    unit = _multiplier(op.dest)
    form: Form = "blocked" if inner > unit.packed else "transposed" if contiguous_k else "along_lanes"
    is_across = form != "along_lanes"
    shape = lines.axes(is_across), lines.sizes, dest.dtype.accumulator, None if is_across else width
    window = _placed(_window(op.source, reader, *shape), lines.axes(is_across), scopes)
    step = width * k_outer * inner
    is_whole = len(index) == 2
    panel = var(reader.fresh("panel"), panels) if is_whole else index[2]
    guards = _inside(lines.along.count, panel * width, lanes)
    made: Stmt = Pack(
        window,
        Ref(dest, panel * step if is_whole else lin(0)),
        panel,
        width,
        form,
        unit,
        guards,
        not is_whole,
    )
    scopes[-1].body.append(For(str(panel), panels, (made,)) if is_whole and panels > 1 else made)


def product(op: ThreadwiseGemmOp, reader: Reader, clips: dict[str, Lin], step: Lin | None) -> PanelGemm:
    """One register tile: its operands are packed panels, or parts of a buffer of them."""
    a, b = (_panel(reader, v, i) for v, i in ((op.a, op.a_index), (op.b, op.b_index)))
    unit = _unit(op)
    has_words = unit.packed > 1
    blocked = len(sizes(op.a)) - len(op.a_index) == 3 and sizes(op.a)[-1] > unit.packed
    m, n = sizes(op.a)[-2 if blocked or has_words else -1], sizes(op.b)[-2 if has_words else -1]
    tile, base, map = reader.root(op.c)
    assert map is not None, "a tile of C is seen in register tiles"
    position = reader.index(op.c_index)
    offset = reader.ref(op.c, [*position, lin(0), lin(0)]).offset
    names = [d.name for d in map.upper]
    at = dict(zip(names, position, strict=False))
    guards = _inside(clips[a.buffer.name], at["m_panel"] * m, sizes(base)[0])
    guards += _inside(clips[b.buffer.name], at["n_panel"] * n, sizes(base)[1])
    first = None if step is None or step.is_constant else Guard(step - 1, step.bounds[1] + 1)
    k = clips[f"{a.buffer.name}.k"]
    return PanelGemm(Ref(tile, offset), a, b, k, m, n, sizes(base)[1], first, blocked, unit, guards)


def unpack(op: ThreadwiseCopyOp, reader: Reader, scopes: list[Scope]) -> None:
    """The tile of C to memory, vectors along whichever of m and n is contiguous there."""
    (workgroup,) = reader.index(op.dest_index)
    m, n = sizes(op.source)
    reader.names |= {"m", "n"}
    coords = [workgroup, var("m", m), var("n", n)]
    lines = _lines(reader, op.dest, coords, ("m", m), ("n", n), workgroup)
    is_transposed = _stretch(lines.across, (1,)) > _stretch(lines.along, (1,))
    scale: tuple[float, float] = number(op.alpha, 1.0), number(op.beta, 0.0)
    tile, method = Ref(reader.root(op.source)[0], lin(0)), number(op.store_method, "set")
    axes = lines.axes(is_transposed)
    window = _placed(_window(op.dest, reader, axes, lines.sizes, tile.buffer.dtype), axes, scopes)
    finish, done = finish_of(op.dest), None
    if finish is not None:
        assert method == "set", f"what is added atomically is no whole sum: {window}"
        names, unscaled = ("n", "m") if is_transposed else ("m", "n"), (1.0, 0.0)
        late, scale = (unscaled, scale) if tile.buffer.dtype.is_float else (scale, unscaled)
        done = finishing(finish, Stored(window, names, reader.ref(op.dest, coords), coords), late, reader)
    scopes[-1].body.append(Unpack(window, tile, n, is_transposed, method, *scale, done))


def _window(
    value: SSAValue,
    reader: Reader,
    axes: tuple[Line, Line],
    sizes: tuple[Index, ...],
    computed: DType,
    panel: int | None = None,
) -> Window:
    """A window of the view.  axes: its rows and lanes."""
    buffer, (rows, lanes) = reader.root(value)[0], axes
    name = reader.fresh(f"window_{buffer.name}")
    return Window(name, buffer, computed, rows.size, lanes.size, sizes, panel)


def _placed(window: Window, axes: tuple[Line, Line], scopes: list[Scope]) -> Window:
    """The window, its axes placed in the outermost loops that know them."""
    rows, lanes = axes
    depths: list[int] = []
    for axis, line in (("lanes", lanes), ("rows", rows)):
        known = frozenset[str]().union(*(i.variables for i in (line.offset, line.count, *line.guards)))
        depths.append(max((i for i, s in enumerate(scopes) if s.names & known), default=0))
        made = AxisOffsets(window, axis, line.var, line.count, line.offset, line.guards)  # type: ignore[arg-type]
        scopes[depths[-1]].body.append(made)
    scopes[max(depths)].body.append(Meet(window))
    return window


def _panel(reader: Reader, value: SSAValue, index: Sequence[SSAValue]) -> Ref:
    """The start of a panel: the whole buffer, or one part of it."""
    buffer, base, map = reader.root(value)
    assert map is None, "panels lie in plain buffers"
    position = reader.index(index)
    return Ref(buffer, row_major([*position, *([lin(0)] * (len(sizes(base)) - len(position)))], sizes(base)))


def _multiplier(panels: SSAValue) -> CpuUnit:
    """What multiplies the panels of a buffer."""
    products = (use.operation for use in panels.uses if isinstance(use.operation, ThreadwiseGemmOp))
    (found,) = {_unit(product) for product in products}
    return found


def _unit(op: ThreadwiseGemmOp) -> CpuUnit:
    name = FMA.name if op.instruction is None else op.instruction.data
    return unit_of(op, name, element_type(op.a))


def _panel_shape(shape: Sequence[int], fixed: int) -> tuple[int, int, int, int]:
    """(panels, k_outer, width, k_inner) of a paneled view (step, workgroup, panel, k, lane[, k_inner])."""
    _, _, panels, k_outer, width, *inner = shape
    assert fixed in (2, 3), "a copy fixes the step, the workgroup and perhaps the panel"
    return panels, k_outer, width, inner[0] if inner else 1


def _k_coords(k: Lin, lane: Lin, inner: int) -> list[Lin]:
    return [k // inner, lane, k % inner] if inner > 1 else [k, lane]


def _lines(
    reader: Reader,
    value: SSAValue,
    coords: Sequence[Lin],
    across: tuple[str, int],
    along: tuple[str, int],
    tile: Lin,
) -> Lines:
    """The index of a view split between two variables; what depends on neither of them, but on the output
    tile, goes with the second.
    """
    ref = reader.ref(value, coords)
    parts = _split(ref.offset, across[0], along[0], tile)
    assert parts is not None, f"an index that mixes {across[0]} and {along[0]} cannot be packed: {ref.offset}"
    counts = {name: lin(size) for name, size in (across, along)}
    kept: list[tuple[Lin, Lin, Index]] = []
    cuts = {guard: cut for guard in ref.guards if (cut := _clip(guard, dict((across, along))))[1] is not None}
    for guard in ref.guards:
        name, count = cuts.get(guard, ("", None))
        if count is not None:
            counts[name] = _least(counts[name], count)
            continue
        if is_of_grid(guard) or is_implied(guard, cuts):
            continue
        if is_of_count(guard) and not guard.index.variables & {across[0], along[0]}:
            name, size = across  # of a run-time size that is summed over: whole steps exist, or none of one
            counts[name] = _least(counts[name], _left_of(guard) * size)
            continue
        split = _split(guard.index, across[0], along[0], tile)
        assert split is not None, f"a guard that mixes {across[0]} and {along[0]} cannot be packed: {guard}"
        kept.append((split.row, split.lane, guard.size))
    return Lines(
        Line(*across, parts.row, tuple(r for r, _, _ in kept), counts[across[0]]),
        Line(*along, parts.lane, tuple(c for _, c, _ in kept), counts[along[0]]),
        tuple(size for _, _, size in kept),
    )


def _split(index: Lin, across: str, along: str, tile: Lin) -> Separated | None:
    """The terms of `across`, which may depend on the output tile, too, apart from those of `along`."""
    own = sum((Lin(((atom, c),), 0) for atom, c in index.terms if across in atom.variables), lin(0))
    if own.mentions(along):
        return None
    rest = separate(index - own, frozenset({along}) | tile.variables)
    return None if rest is None else Separated(rest.row + own, rest.lane)


def _inside(count: Lin, start: Lin, size: int) -> tuple[Guard, ...]:
    """`start < count`, where that is in doubt."""
    left = count - start - 1
    return () if left.bounds[0] >= 0 or (count.is_constant and count.const >= size) else (Guard(left, size),)


def _clip(guard: Guard, sizes: dict[str, int]) -> tuple[str, Lin | None]:
    """How many coordinates exist, where a guard cuts off the end of one axis and nothing else."""
    for name, size in sizes.items():
        rest = guard.index - var(name, size)
        if guard.index.mentions(name) and not rest.variables & sizes.keys() and guard.index.bounds[0] >= 0:
            return name, lin(guard.size) - rest
    return "", None


def _left_of(guard: Guard) -> Lin:
    """How far an index is from where the guard ends, in steps of what it is a quotient of."""
    match guard.index.terms:
        case ((Div(num, den), 1),) if den.is_constant and not guard.index.const:
            return lin(guard.size) * den.const - num
        case _:
            return lin(guard.size) - guard.index


def _least(a: Lin, b: Lin) -> Lin:
    return select(b - a, a, b)


def _stretch(line: Line, strides: tuple[int, ...]) -> float:
    """The mean length of stretches along the axis that lie one of `strides` elements apart, by a sample.

    A longer stride counts for less: a vector of it takes as many loads.
    """
    count = min(line.size, SAMPLE)
    env: dict[str, Any] = dict.fromkeys(line.offset.variables, 0)
    env[line.var] = np.arange(count)
    offsets: np.ndarray[Any, Any] = np.broadcast_to(line.offset.eval(env), (count,))
    steps = offsets[1:] - offsets[:-1]
    return max(count / (count - int(np.count_nonzero(steps == s))) / s for s in strides)
