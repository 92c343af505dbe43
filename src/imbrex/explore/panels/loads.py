"""Loads and stores: how the arrays lie in memory, bytes a lane, lines that lanes meet, and which engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from imbrex.chip import LINE_BYTES, GpuMachine
from imbrex.config.context import Access, GemmContext
from imbrex.dtype import DType
from imbrex.explore.bars import HEIGHT, Bar, bars
from imbrex.explore.panel import Panel, Table, absent, rows
from imbrex.explore.panels.maps import NO_PRODUCT
from imbrex.explore.subject import Subject
from imbrex.explore.svg import box, drawing, label
from imbrex.index.expr import Lin
from imbrex.lower.lds_traffic import Moved, moved
from imbrex.lower.stmt import Kernel
from imbrex.lower.warpgroup.pipeline import Lanes, Pipeline
from imbrex.lower.warpgroup.text import described
from imbrex.numeral import counted
from imbrex.view.tensor import Box, Walk

__all__ = ["loads"]

TITLE: Final = "Loads and stores"
"""Bytes of a line of the caches, of which all come."""
WIDTH, LANE, TOP = 760.0, 10.5, 44.0
MOST: Final = 4
MOST_VALUES: Final = 16
"""Values of a loop at which an access is looked at."""


def loads(subject: Subject) -> Panel:
    """Runs of the arrays as bars; lanes of a wave on lines of memory, or boxes of a copy engine."""
    if subject.product is None and (subject.gpu is None or subject.kernel is None):
        return absent("loads", TITLE, NO_PRODUCT)
    said, parts, height = list[str](), list[str](), 8.0
    given = [] if subject.product is None else list(_all_runs(subject.product.context))
    if given:
        title = "bytes that lie together along each dimension (1 KiB and more: whole bar)"
        parts += [label(8, 20, title, "head"), *bars(given, 0, TOP - 12, WIDTH - 150, 1024.0)]
        height = TOP + len(given) * HEIGHT + 16
    table: list[tuple[object, ...]] = [(bar.name, bar.said) for bar in given]
    if subject.pipeline is not None:
        copied = _copied(subject.pipeline, subject.sides)
        parts.append(label(8, height + 14, "bytes of a row of shared memory, and who fills it", "head"))
        parts += bars(copied, 0, height + 24, WIDTH - 150, 128.0)
        height += 32 + len(copied) * HEIGHT
        names = {"A": subject.sides[0], "B": subject.sides[1], "C": "C"}
        engine = {names[k]: text for k, text in described(subject.pipeline).items() if k in names}
        table += engine.items()
        said += [f"{name}: {text}." for name, text in engine.items()]
    elif subject.gpu is not None and subject.kernel is not None:
        for one in _accesses(subject, subject.gpu):
            more, high = _lanes(one, height)
            parts += more
            height += high
            table.append((one.title, one.said))
            said.append(f"{one.title}: {one.said}.")
    else:
        said.append(_of_cpu(subject))
    svg = drawing(TITLE, parts, WIDTH, height + 8)
    return Panel("loads", TITLE, tuple(said), svg, Table(("access", "what"), rows(*table)))


def _of_cpu(subject: Subject) -> str:
    """How a thread of a CPU has its operands."""
    assert subject.product is not None
    form = subject.product.derived.get("form", "packed panels")
    return f"A thread reads A and B so: {form}. Vectors of panels are whole."


def _all_runs(context: GemmContext) -> Iterator[Bar]:
    """Runs of A, B and C."""
    a, b = context.dtype.packs
    yield from _runs("A", context.a, a)
    yield from _runs("B", context.b, b)
    yield from _runs("C", context.c, context.dtype.output)


def _runs(name: str, access: Access, dtype: DType) -> Iterator[Bar]:
    """How far neighbours along both dims of a matrix lie together."""
    dims = {"A": ("k", "m"), "B": ("k", "n"), "C": ("m", "n")}[name]
    for i, dim in enumerate(dims):
        together = access.run[i] * dtype.bytes if access.step[i] == 1 else dtype.bytes
        width = access.vector[i] * dtype.bytes
        text = f"{min(together, 1024):,.0f}{'+' if together > 1024 else ''} B, vectors of {width} B"
        yield Bar(f"{name} along {dim}", min(together, 1024.0), text, f"map:{name}")


def _copied(pipeline: Pipeline, sides: tuple[str, str]) -> list[Bar]:
    """Rows of the stages of A and B, and by whom they are filled."""
    found: list[Bar] = []
    for name, stage in zip(sides, (pipeline.a, pipeline.b), strict=True):
        tile = stage.tile
        match stage.access:
            case Box():
                who = "boxes of the copy engine"
            case Walk():
                who = "walks of the copy engine"
            case Lanes():
                who = "lanes of the producer"
        text = f"{tile.swizzle} B, {tile.k} x {tile.d} a stage, by {who}"
        found.append(Bar(name, tile.swizzle, text, f"map:{name}"))
    return found


@dataclass(frozen=True)
class Wide:
    """An access of the first wave: byte offsets of its lanes, those that exist.  where: in which of the
    loops' steps, unless in the first.
    """

    title: str
    byte_offsets: Any
    exists: Any
    bytes_per_lane: int
    where: str = ""

    @property
    def lines(self) -> int:
        """Lines of memory that it meets."""
        ends = [self.byte_offsets[self.exists] + at for at in (0, self.bytes_per_lane - 1)]
        return len(np.unique(np.concatenate(ends) // LINE_BYTES))

    @property
    def said(self) -> str:
        used = len(np.unique(self.byte_offsets[self.exists])) * self.bytes_per_lane
        part = used / max(1, self.lines * LINE_BYTES)
        lanes = int(self.exists.sum())
        missing = "" if lanes == len(self.exists) else f", {len(self.exists) - lanes} fail their guards"
        at = f" (at {self.where})" if self.where else ""
        lines = counted(self.lines, "line")
        return (
            f"{self.bytes_per_lane} bytes a lane, {counted(lanes, 'lane')}{missing}{at}: {used} bytes of "
            f"{lines} of {LINE_BYTES}, {part:.0%} of what comes"
        )


def _accesses(subject: Subject, machine: GpuMachine) -> Iterator[Wide]:
    """The first access of each array by the first wave of the workgroup in the middle."""
    kernel = subject.kernel
    assert kernel is not None
    seen: set[str] = set()
    for one in moved(kernel):
        title = f"{'loads of' if one.way == 'read' else 'stores of'} {one.ref.buffer.name}"
        if one.ref.buffer.space != "global" or title in seen or len(seen) == MOST:
            continue
        seen.add(title)
        yield _fullest(title, one, kernel, machine.wave_size)


def _fullest(title: str, one: Moved, kernel: Kernel, lanes: int) -> Wide:
    """The access where most lanes hold their guards, of those at the first values of each loop in turn."""
    best: Wide | None = None
    for loops in _first_values(one):
        env: dict[str, Any] = {kernel.workitem: np.arange(lanes), kernel.workgroup: kernel.grid_size // 2}
        env = loops | env
        exists = np.ones(lanes, bool)
        for guard in one.ref.guards:
            x = _value(guard.index, env, lanes)
            exists &= (x >= 0) & (x < guard.size)
        if best is None or exists.sum() > best.exists.sum():
            byte_offsets = _value(one.ref.offset, env, lanes) * one.ref.buffer.dtype.bytes
            where = ", ".join(f"{name} {value}" for name, value in loops.items() if value)
            best = Wide(title, byte_offsets, exists, one.bytes_per_lane, where)
        if best.exists.all():
            break
    assert best is not None
    return best


def _first_values(one: Moved) -> Iterator[dict[str, int]]:
    """All loops at their begin, then one after the other at further values."""
    yield dict.fromkeys(one.loops, 0)
    for name, count in one.loops.items():
        for value in range(1, min(count, MOST_VALUES)):
            yield dict.fromkeys(one.loops, 0) | {name: value}


def _value(index: Lin, env: Mapping[str, Any], lanes: int) -> Any:
    given: dict[str, Any] = dict.fromkeys(index.variables, 0)
    given.update(env)
    return np.broadcast_to(np.asarray(index.eval(given)), lanes)


def _lanes(one: Wide, y: float) -> tuple[list[str], float]:
    """A box a lane, coloured by the line of memory that it meets."""
    parts = [label(8, y + 14, f"{one.title}: lanes of the first wave, coloured by line of memory", "head")]
    first = int(one.byte_offsets[one.exists].min()) // LINE_BYTES if one.exists.any() else 0
    for lane, (position, exists) in enumerate(
        zip(one.byte_offsets.tolist(), one.exists.tolist(), strict=True)
    ):
        kind = f"g{(position // LINE_BYTES - first) % 8}" if exists else "none bad"
        tooltip = (
            f"lane {lane}: byte {position}, line {position // LINE_BYTES}"
            if exists
            else f"lane {lane}: a guard fails"
        )
        parts.append(box(16 + lane * LANE, y + 22, LANE, 20, kind, f"lane:{lane}", tooltip))
        if lane % 8 == 0:
            parts.append(label(16 + lane * LANE, y + 54, lane, "tiny soft"))
    return parts, 72
