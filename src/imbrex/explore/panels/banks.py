"""Shared memory by banks: which words each phase of an access asks of which bank, and where lanes collide.

Every access is that of the kernel's own statements, at the lanes of one wave: the one of its kind that meets
most conflicts.  Of warpgroups it is the matrix unit that reads, eight rows of sixteen bytes at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from imbrex.chip import BANK_BYTES, GpuMachine, Phases
from imbrex.config.tuned_product import TunedProduct
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.diagnostic import Diagnostic
from imbrex.explore.panel import Panel, Row, Table, absent
from imbrex.explore.stored_tile import ROWS, StoredTile, picture, stored_tiles, unpermuted
from imbrex.explore.subject import Subject
from imbrex.explore.svg import box, drawing, label
from imbrex.lower.lds_traffic import moved, offsets
from imbrex.lower.warpgroup.pipeline import Pipeline
from imbrex.numeral import counted
from imbrex.view.stage.banks import cycles
from imbrex.view.stage.shared_tile import ATOM_ROWS, CHUNK_BYTES, SharedTile

__all__ = ["banks"]

TITLE: Final = "Shared memory by banks"
CELL_W, CELL_H, LEFT, HEAD = 22, 15, 92, 46
MOST: Final = 6
"""Accesses that are drawn."""


@dataclass(frozen=True)
class Access:
    """One access: byte offset of each lane, as hardware serves it.  stands_for: what a lane's number means,
    where no lane asks but the matrix unit.
    """

    title: str
    offsets: Any
    bytes_per_lane: int
    how: Phases
    stands_for: tuple[tuple[str, str], ...] = ()

    def tokens(self, lanes: Sequence[int]) -> str:
        """What a cell stands for that these lanes ask for."""
        if not self.stands_for:
            return f"lane:{','.join(map(str, lanes))}"
        rows, columns = (list(dict.fromkeys(self.stands_for[n][i] for n in lanes)) for i in (0, 1))
        axis, alike = rows[0].partition(":")[0], [word.partition(":")[2] for word in rows]
        return f"{axis}:{','.join(alike)} {columns[0]}" if len(columns) == 1 else f"{rows[0]} {columns[0]}"

    @property
    def extra(self) -> int:
        """Cycles lost to conflicts."""
        return int(cycles(self.offsets[None, :], self.bytes_per_lane, self.how)[0])

    def words(self, phase: int) -> dict[int, dict[int, list[int]]]:
        """bank -> word -> the lanes that ask for it, in one phase."""
        found: dict[int, dict[int, list[int]]] = {}
        for lane in self.how.lanes[phase]:
            first = int(self.offsets[lane])
            reach = range(first, first + max(self.bytes_per_lane, 1), BANK_BYTES)
            for word in (byte // BANK_BYTES for byte in reach if first >= 0):
                found.setdefault(word % self.how.banks, {}).setdefault(word, []).append(lane)
        return found


def banks(subject: Subject) -> Panel:
    """The accesses of a step, and the same without the permutation of shared memory."""
    machine = subject.gpu
    if machine is None:
        return absent(
            "banks", TITLE, "a CPU's panels lie in its caches, which have no banks that lanes share"
        )
    found = list(_accesses(subject, machine))
    if not found:
        return absent("banks", TITLE, "no lane reads or writes shared memory")
    plain, plain_tiles = _without(subject, machine)
    tiles = stored_tiles(subject)
    said = [_said(found, "as the kernel has it")]
    variants: tuple[tuple[str, str], ...] = ()
    if plain:
        variants = (("without the permutation", _drawn(plain, plain_tiles)),)
        said.append(_said(plain, "without the permutation"))
    table = Table(("access", "bytes a lane", "phases", "extra cycles"), tuple(_row(one) for one in found))
    sampled = f"the first {ROWS} times all banks are drawn of each tile" if tiles else None
    return Panel("banks", TITLE, tuple(said), _drawn(found, tiles), table, variants, sampled=sampled)


def _said(found: Sequence[Access], when: str) -> str:
    extra = sum(one.extra for one in found)
    drawn = counted(len(found), "access that is", "accesses that are")
    return f"{counted(extra, 'extra cycle')} for conflicts {when}, in the {drawn} drawn."


def _row(one: Access) -> Row:
    cells = (one.title, str(one.bytes_per_lane), str(len(one.how.lanes)), str(one.extra))
    return Row(cells)


def _accesses(subject: Subject, machine: GpuMachine) -> Iterator[Access]:
    if subject.pipeline is not None:
        yield from _of_tiles(subject.pipeline, machine, subject.sides, is_permuted=True)
    elif subject.kernel is not None:
        yield from _of_lanes(subject, machine)


def _of_lanes(subject: Subject, machine: GpuMachine) -> Iterator[Access]:
    """Each kind of access of the statements, at the position where it loses most."""
    kernel = subject.kernel
    assert kernel is not None
    seen: dict[str, Access] = {}
    for one in moved(kernel):
        title = f"{one.way} of {_operand(one.ref.buffer.name, subject.sides)}"
        if one.ref.buffer.space != "lds" or one.is_direct or title in seen or len(seen) == MOST:
            continue
        wide = min(16, one.bytes_per_lane)
        how = machine.served(wide, one.way)
        rows = offsets(kernel, one, machine.wave_size)
        worst = int(np.argmax(cycles(rows, wide, how)))
        seen[title] = Access(title, rows[worst], wide, how)
    yield from seen.values()


def _operand(buffer: str, sides: tuple[str, str]) -> str:
    """A or B, where the buffer is of one of the two, which kernels call a and b after a swap."""
    name = buffer.removesuffix("_even").removesuffix("_odd")
    return {"_a": sides[0], "_b": sides[1]}.get(name[-2:], name)


def _of_tiles(
    pipeline: Pipeline, machine: GpuMachine, sides: tuple[str, str], *, is_permuted: bool
) -> Iterator[Access]:
    """Eight rows of sixteen bytes of each operand's tile, as the matrix unit reads it."""
    how = machine.served(CHUNK_BYTES, "read")
    for name, stage in zip(sides, (pipeline.a, pipeline.b), strict=True):
        tile = stage.tile
        if not isinstance(tile, SharedTile):
            continue
        stored = tile.map if is_permuted else unpermuted(tile.map)
        chunk, count = CHUNK_BYTES // tile.element_bytes, sum(len(lanes) for lanes in how.lanes)
        lane = np.arange(count)
        row, column = lane % ATOM_ROWS, lane // ATOM_ROWS * chunk
        along = tile.k if tile.major == "k" else tile.d
        k, d = (column % along, row) if tile.major == "k" else (row, column % along)
        (element,), _ = stored.evaluate([k, d])
        title = f"{name} by the matrix unit: eight rows of {tile.row_bytes} bytes"
        axis = "tm" if name == "A" else "tn"
        names = (axis, "tk") if tile.major == "k" else ("tk", axis)
        stands = tuple(
            (f"{names[0]}:{r}", f"{names[1]}:{c % along}-{c % along + chunk - 1}")
            for r, c in zip(row.tolist(), column.tolist(), strict=True)
        )
        yield Access(title, np.asarray(element) * tile.element_bytes, CHUNK_BYTES, how, stands)


def _without(subject: Subject, machine: GpuMachine) -> tuple[list[Access], list[StoredTile]]:
    """The same accesses where tiles lie plainly, and the tiles; none where they do, or where no such kernel
    is legal.
    """
    if subject.pipeline is not None:
        tiles = [tile.unpermuted for tile in stored_tiles(subject)]
        return list(_of_tiles(subject.pipeline, machine, subject.sides, is_permuted=False)), tiles
    tuned = subject.tuned
    if tuned is None or not isinstance(tuned.tuning, XdlopsTuning) or tuned.tuning.lds == "plain":
        return [], []
    made = [_plain(product) for product in subject.configuration.products]
    config = replace(subject.configuration, products=tuple(made))
    try:
        plain = Subject(replace(subject.settled, config=config))
        return list(_accesses(plain, machine)), stored_tiles(plain)
    except Diagnostic:
        return [], []


def _plain(product: TunedProduct) -> TunedProduct:
    tuning = product.tuning
    return (
        replace(product, tuning=replace(tuning, lds="plain")) if isinstance(tuning, XdlopsTuning) else product
    )


def _drawn(found: Sequence[Access], tiles: Sequence[StoredTile]) -> str:
    parts: list[str] = []
    y, width = 8.0, 0.0
    for tile in tiles:
        drawn, high = picture(tile, y)
        parts += drawn
        y += high
    for one in found:
        width = max(width, LEFT + one.how.banks * CELL_W + 16)
        parts += _access(one, y)
        y += HEAD + len(one.how.lanes) * CELL_H + 14
    return drawing(TITLE, parts, width, y)


def _access(one: Access, y: float) -> Iterator[str]:
    """A row a phase, a column a bank; in a cell the first lane that asks for a word there."""
    lost = counted(one.extra, "extra cycle") if one.extra else "no conflicts"
    yield label(8, y + 14, f"{one.title}, {one.bytes_per_lane} bytes a lane: {lost}", "head")
    for bank in range(one.how.banks):
        yield label(LEFT + (bank + 0.5) * CELL_W, y + HEAD - 6, bank, "mid tiny soft")
    for phase in range(len(one.how.lanes)):
        top = y + HEAD + phase * CELL_H
        yield label(LEFT - 6, top + 11, f"phase {phase}", "end soft")
        yield from _phase(one, phase, top)


def _stretches(numbers: Sequence[int], lanes_of: Sequence[list[int]]) -> Iterator[tuple[int, int]]:
    """[start, end) of neighbouring banks that the same lanes ask."""
    start = 0
    for i in range(1, len(numbers) + 1):
        if i == len(numbers) or numbers[i] != numbers[i - 1] + 1 or lanes_of[i] != lanes_of[start]:
            yield start, i
            start = i


def _phase(one: Access, phase: int, top: float) -> Iterator[str]:
    """Stretches of banks that are asked by the same lanes."""
    found = sorted(one.words(phase).items())
    lanes_of = [sorted({n for lanes in words.values() for n in lanes}) for _, words in found]
    for start, end in _stretches([bank for bank, _ in found], lanes_of):
        first, lanes, last = found[start][0], lanes_of[start], found[end - 1][0]
        words = [len(words) for _, words in found[start:end]]
        bad = " bad" if max(words) > 1 else ""
        names = f"bank {first}" if first == last else f"banks {first} to {last}"
        who = "lanes" if not one.stands_for else "positions"
        tooltip = f"phase {phase}, {names}: {who} {', '.join(map(str, lanes))}"
        tooltip += f", {counted(max(words), 'word')} of one bank" if bad else ""
        x, wide = LEFT + first * CELL_W, (last - first + 1) * CELL_W
        kind = f"g{lanes[0] % 8}{bad}"
        yield box(x, top, wide, CELL_H, kind, one.tokens(lanes), tooltip)
        more = f"+{len(lanes) - 1}" if len(lanes) > 1 else ""
        yield label(x + wide / 2, top + 10, f"{lanes[0]}{more}", f"mid tiny{bad}")
