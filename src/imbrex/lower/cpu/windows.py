"""Windows of few channels as grids: what a map says of rows, columns, taps, depth and lanes, each apart.

An index is a part of the workgroup's own plus a multiple of each, or, of lanes that share what they read, of
the number of their group; a guard is of one axis.  The algebra says so, or an assertion does.  Of a strided
gradient whole strides only are read: a part of the index is a quotient, whose remainder has a guard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import gcd

from imbrex.config.cpu.crowding import stays_near
from imbrex.index.atom import Mod
from imbrex.index.expr import Lin, lin, select, var
from imbrex.index.rule import Guard
from imbrex.ir.chain import finish_of
from imbrex.ir.ops.standard import SSAValue
from imbrex.ir.ops.windows import ThreadwiseFilterSumsOp, ThreadwiseWindowsOp
from imbrex.lower.buffer import Buffer, Ref
from imbrex.lower.cpu.operands import Window
from imbrex.lower.cpu.packed import FilterSums, Finishing, Grid, Windows
from imbrex.lower.cpu.sliding import Sliding
from imbrex.lower.finish import Stored, finishing
from imbrex.lower.grid import is_of_grid
from imbrex.lower.reader import Reader, element_type, sizes

__all__ = ["filter_sums", "windows"]

AXES = (("row", "y"), ("column", "x"), ("lane", ""))
"""A position and a tap of each axis."""


def windows(op: ThreadwiseWindowsOp, reader: Reader) -> Windows:
    """The statement of an operation on views."""
    rows, y, columns, x, depth, lanes = sizes(op.window)[len(op.window_index) :]
    count = {"row": rows, "y": y, "column": columns, "x": x, "depth": depth, "lane": lanes}
    reader.names |= {*count, "place"}
    seen = partial(_seen, reader, count)
    window = seen(op.window, op.window_index, "row y column x depth lane")
    taps = seen(op.filter, op.filter_index, "y x depth lane")
    c = seen(op.c, op.c_index, "row column lane")
    height, width = (_sliding(window, names, count) for names in AXES[:2])
    turned = {tap for axis, (_, tap) in zip((height, width), AXES, strict=False) if axis.dilation < 0}
    window, taps = (_turned(ref, turned, count) for ref in (window, taps))
    height, width = (
        replace(axis, dilation=abs(axis.dilation), shift=_shift(window, names, axis.up))
        for names, axis in zip(AXES, (height, width), strict=False)
    )
    steps = tuple(_step(window, names, axis) for names, axis in zip(AXES, (height, width), strict=False))
    shared, group = _groups(window.offset, lanes)
    is_along_lanes = lanes > 1 and not (shared == lanes <= columns and steps[1] == 1)
    deep = [_coefficient(ref.offset, "depth") for ref in (taps, window)] if depth > 1 else [0, 0]
    sums = _sums(op, count, is_along_lanes, reader)
    member, *more = _members(taps.offset, lanes, shared)
    of_taps = (_coefficient(taps.offset, "y"), _coefficient(taps.offset, "x"), member, deep[0], *more)
    written = _grid(c, ("row", "column", "lane"), count, [rows, columns, lanes])
    met = _window_grid(window, count, (height, width), (*steps, group, deep[1]))
    is_turned = is_along_lanes and steps[1] == written.steps[1] == 1 != (group if shared < lanes else deep[1])
    is_plain = is_along_lanes and not is_turned and depth == shared == 1
    return Windows(
        _grid(taps, ("y", "x", "lane"), count, [y, x, lanes], of_taps),
        met,
        written,
        height,
        width,
        lanes,
        depth,
        shared,
        is_along_lanes,
        is_turned,
        is_plain and element_type(op.window) == sums.computed and _lies_near(met, height, width, lanes),
        sums,
        _finishing(op, sums, count, is_along_lanes, reader),
    )


def _lies_near(window: Grid, height: Sliding, width: Sliding, lanes: int) -> bool:
    """Are all lanes neighbours that exist, and columns these only, or rows that a cache can keep?"""
    if window.steps[2] != 1 or window.ends[2] != lin(lanes):
        return False
    apart_bytes = window.steps[1] * window.base.buffer.dtype.bytes
    return window.steps[1] == lanes or stays_near(apart_bytes, height.taps, width.extent, width.taps)


def filter_sums(op: ThreadwiseFilterSumsOp, reader: Reader) -> FilterSums:
    """The statement of the gradient of a filter on views."""
    images, rows, y, columns, x, depth, lanes = sizes(op.window)[len(op.window_index) :]
    count = {"image": images, "row": rows, "y": y, "column": columns, "x": x, "depth": depth, "lane": lanes}
    reader.names |= {*count}
    seen = partial(_seen, reader, count)
    output = seen(op.output, op.output_index, "image row column lane")
    window = seen(op.window, op.window_index, "image row y column x depth lane")
    c = seen(op.filter, op.filter_index, "y x depth lane")
    height, width = (_sliding(window, names, count) for names in AXES[:2])
    steps = tuple(_step(window, names, axis) for names, axis in zip(AXES, (height, width), strict=False))
    shared, group = _groups(window.offset, lanes)
    of_window = (*steps, group, _coefficient(window.offset, "depth"), _coefficient(window.offset, "image"))
    met, *met_more = _members(output.offset, lanes, shared)
    rows_met, columns_met, images_met = (_coefficient(output.offset, n) for n in ("row", "column", "image"))
    written, *more = _members(c.offset, lanes, shared)
    of_c = (*(_coefficient(c.offset, n) for n in ("y", "x")), written, _coefficient(c.offset, "depth"), *more)
    of_output = (rows_met, columns_met, met, images_met, *met_more)
    return FilterSums(
        _grid(output, ("row", "column", "lane"), count, [rows, columns, lanes], of_output),
        _window_grid(window, count, (height, width), of_window),
        _grid(c, ("y", "x", "lane"), count, [y, x, lanes], of_c),
        element_type(op.window).accumulator,
        height,
        width,
        lanes,
        depth,
        shared,
        images,
        is_own=lanes > 1 == shared == depth == group == met and not met_more,
    )


def _seen(
    reader: Reader, count: Mapping[str, int], value: SSAValue, index: Sequence[SSAValue], names: str
) -> Ref:
    """An array at an index and at variables of these names, of which there are so many values."""
    return reader.ref(value, [*reader.index(index), *(var(n, count[n]) for n in names.split())])


def _window_grid(
    window: Ref, count: dict[str, int], slid: tuple[Sliding, Sliding], steps: Sequence[int]
) -> Grid:
    """The grid of what windows show, from the first element of each axis that some window does."""
    kept = tuple(g for g in window.guards if not _is_remainder(g))
    extents = [*(axis.extent for axis in slid), count["lane"]]
    skipped = (*(int(axis.shift < 0) for axis in slid), 0)
    return _grid(replace(window, guards=kept), ("row y", "column x", "lane"), count, extents, steps, skipped)


def _groups(index: Lin, lanes: int) -> tuple[int, int]:
    """Neighbouring lanes that read the same, and what the index grows by from such a group to the next."""
    if lanes == 1:
        return 1, _coefficient(index, "lane")
    at = _lanes(index, lanes)
    shared = next((j for j, offset in enumerate(at) if offset), lanes)
    group = at[shared] if shared < lanes else 0
    assert at == [j // shared * group for j in range(lanes)], f"uneven lanes: {index}"
    return shared, group


def _members(index: Lin, lanes: int, shared: int) -> tuple[int, ...]:
    """What the index grows by from a lane to the next; and, where that is not all, by each group besides."""
    step, at = _coefficient(index, "lane"), _lanes(index, lanes)
    more = at[shared] - shared * step if shared < lanes else 0
    assert at == [j * step + j // shared * more for j in range(lanes)], f"uneven lanes: {index}"
    return (step, more) if more else (step,)


def _lanes(index: Lin, lanes: int) -> list[int]:
    """How far each lane lies behind the first."""
    at = [index.subs({"lane": lin(j)}) - index.subs({"lane": lin(0)}) for j in range(lanes)]
    assert all(offset.is_constant for offset in at), f"lanes are not apart in {index}"
    return [offset.const for offset in at]


def _sums(op: ThreadwiseWindowsOp, count: dict[str, int], is_along_lanes: bool, reader: Reader) -> Window:
    buffer, kind = reader.root(op.c)[0], element_type(op.window).accumulator
    if is_along_lanes:
        return Window("sums", buffer, kind, count["row"] * count["column"], count["lane"], ())
    return Window("sums", buffer, kind, count["lane"] * count["row"], count["column"], ())


def _finishing(
    op: ThreadwiseWindowsOp, sums: Window, count: dict[str, int], is_along_lanes: bool, reader: Reader
) -> Finishing | None:
    """Places are rows and columns in one where vectors run along lanes, else lanes and rows."""
    finish = finish_of(op.c)
    if finish is None:
        return None
    place = var("place", sums.rows)
    if is_along_lanes:
        axes = ("place", "lane")
        within = [place // count["column"], place % count["column"], var("lane", sums.lanes)]
    else:
        axes = ("place", "column")
        within = [place % count["row"], var("column", sums.lanes), place // count["row"]]
    coords = [*reader.index(op.c_index), *within]
    dest = reader.ref(op.c, coords)
    made = finishing(finish, Stored(sums, axes, dest, coords), (1.0, 0.0), reader)

    def placed(at: Ref | Buffer) -> Ref:
        return Ref(at, dest.offset) if isinstance(at, Buffer) else at

    kept = None if made.kept is None else replace(made.kept, at=placed(made.kept.at))
    return replace(made, arrays=tuple((name, placed(at)) for name, at in made.arrays), kept=kept)


def _sliding(ref: Ref, names: tuple[str, str], count: dict[str, int]) -> Sliding:
    """Stride and dilation, in elements of the axis where a guard counts them, else as few as there can be."""
    position, tap = names
    guards = _guards(ref.guards, names)
    ups = [g.index.terms[0][0] for g in guards if _is_remainder(g)]
    up = next((mod.den.const for mod in ups if isinstance(mod, Mod)), 1)
    terms = (ref.offset, *(g.index for g in guards if not _is_remainder(g)))[-1]
    stride, dilation = _coefficient(terms, position, up), _coefficient(terms, tap, up)
    unit = 1 if terms is not ref.offset else gcd(stride, dilation) or 1
    return Sliding(count[position], count[tap], stride // unit or 1, dilation // unit or 1, up)


def _is_remainder(guard: Guard) -> bool:
    """Does it say that a division leaves nothing?"""
    match guard.index:
        case Lin(((Mod(), 1),), 0):
            return lin(guard.size) == lin(1)
        case _:
            return False


def _shift(ref: Ref, names: tuple[str, str], up: int) -> int:
    """What is added before the first position's first tap is divided, and the quotient rounded up."""
    first = dict.fromkeys(names, lin(0))
    rests = [g.index.subs(first) for g in _guards(ref.guards, names) if _is_remainder(g)]
    assert all(rest.is_constant for rest in rests), f"a strip of parts of strides: {rests}"
    return max((rest.const for rest in rests if rest.const), default=up) - up


def _step(ref: Ref, names: tuple[str, str], axis: Sliding) -> int:
    """Elements of memory from one element of the axis to the next."""
    by_position, by_tap = (_coefficient(ref.offset, n, axis.up) for n in names)
    step = by_position // axis.stride or by_tap // axis.dilation
    is_even = (by_position in (0, step * axis.stride)) and by_tap in (0, step * axis.dilation)
    assert is_even, f"an axis whose elements lie unevenly: {ref.offset}"
    return step


def _turned(ref: Ref, taps: set[str], count: dict[str, int]) -> Ref:
    """The same with these taps counted from the last one on."""
    last = {tap: count[tap] - 1 - var(tap, count[tap]) for tap in taps}
    guards = tuple(Guard(g.index.subs(last), g.size) for g in ref.guards)
    return replace(ref, offset=ref.offset.subs(last), guards=guards)


def _grid(
    ref: Ref,
    axes: Sequence[str],
    count: dict[str, int],
    extents: Sequence[int],
    steps: Sequence[int] | None = None,
    skipped: Sequence[int] = (0, 0, 0),
) -> Grid:
    """skipped: elements of each axis before the first one."""
    found = steps or [_coefficient(ref.offset, axis) for axis in axes]
    at_first = dict.fromkeys(count, lin(0))
    begins, ends = [lin(0)] * 3, [lin(size) for size in extents]
    for guard in (g for g in ref.guards if not is_of_grid(g)):
        owns = [i for i, axis in enumerate(axes) if any(guard.index.mentions(n) for n in axis.split())]
        i = owns[0] if owns else list(extents).index(1)
        first = guard.index.subs(at_first) + skipped[i]
        begins[i] = _greatest(begins[i], lin(0) - first)
        ends[i] = _least(ends[i], guard.size - first)
    further = sum(count * step for count, step in zip(skipped, found, strict=False))
    base = Ref(ref.buffer, ref.offset.subs(at_first) + further)
    return Grid(base, tuple(found), tuple(begins), tuple(ends))  # type: ignore[arg-type]


def _guards(guards: Sequence[Guard], names: Sequence[str]) -> list[Guard]:
    return [g for g in guards if any(g.index.mentions(n) for n in names)]


def _coefficient(index: Lin, name: str, by: int = 1) -> int:
    """What an index grows by with so many of a variable, of which no part of it depends in another way."""
    step = index.subs({name: lin(by)}) - index.subs({name: lin(0)})
    assert step.is_constant, f"{name} is not apart in {index}"
    return step.const


def _least(a: Lin, b: Lin) -> Lin:
    return select(b - a, a, b)


def _greatest(a: Lin, b: Lin) -> Lin:
    return select(a - b, a, b)
