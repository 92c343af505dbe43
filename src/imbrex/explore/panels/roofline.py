"""Roofline: operations a byte against operations a cycle, with the roofs that are known of the machine.

Two points: the problem, every array once through memory; and a workgroup's tiles, which come from L2 for each
tile again.  Where a model has cycles, the height of the points is what it expects; else the roof above them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log10
from typing import Final

from imbrex.chip import CpuMachine, GpuMachine
from imbrex.config.cpu.cost import cycles as cpu_cycles
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.warpgroup.cost import schedule_cycles
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.explore.panel import Panel, Table, absent, rows
from imbrex.explore.panels.instruction import instruction_of
from imbrex.explore.panels.maps import NO_PRODUCT
from imbrex.explore.subject import Subject
from imbrex.explore.svg import box, drawing, label, line
from imbrex.explore.tiling import Tiling
from imbrex.view.mma.vector import CPU_UNITS

__all__ = ["roofline"]

TITLE: Final = "Roofline"
WIDTH, HEIGHT, LEFT, BOTTOM = 640.0, 320.0, 70.0, 46.0


@dataclass(frozen=True)
class Roof:
    """Bytes a cycle of one path, for the whole machine."""

    name: str
    bytes: float
    source: str


@dataclass(frozen=True)
class Dot:
    """Operations a byte, by which roof it is held, and operations a cycle where a model has them."""

    name: str
    intensity: float
    roof: str
    reached: float | None = None


def roofline(subject: Subject) -> Panel:
    """Roofs and points."""
    if subject.product is None or subject.tuned is None:
        return absent("roofline", TITLE, NO_PRODUCT)
    peak, what = _peak(subject)
    if peak is None:
        return absent("roofline", TITLE, what)
    roofs, dots = _roofs(subject), _dots(subject)
    told: list[tuple[object, ...]] = [("peak", f"{peak:,.0f} operations a cycle", what)]
    told += [(f"roof of {roof.name}", f"{roof.bytes:,.0f} bytes a cycle", roof.source) for roof in roofs]
    said = [f"The peak is {peak:,.0f} operations a cycle: {what}."]
    if not any(roof.name == "memory" for roof in roofs):
        said.append(f"How fast memory of {subject.request.machine.name} is, no row of the machine says.")
    for dot in dots:
        most = min([peak, *(r.bytes * dot.intensity for r in roofs if r.name == dot.roof)])
        reached = "" if dot.reached is None else f", of which the model expects {dot.reached / most:.0%}"
        held = dot.roof if most < peak else "the peak"
        if not any(roof.name == dot.roof for roof in roofs):
            held += f", as far as is known without the roof of {dot.roof}"
        said.append(f"{dot.name}: {dot.intensity:,.1f} operations a byte, held by {held}{reached}.")
        told.append((dot.name, f"{dot.intensity:,.2f} operations a byte", f"at most {most:,.0f} a cycle"))
    table = Table(("what", "value", "source"), rows(*told))
    return Panel("roofline", TITLE, tuple(said), _drawn(peak, roofs, dots), table)


def _peak(subject: Subject) -> tuple[float | None, str]:
    """Operations a cycle of the whole machine, and what makes them."""
    assert subject.product is not None and subject.tuned is not None
    machine, tuning, dtype = subject.request.machine, subject.tuned.tuning, subject.product.context.dtype
    if isinstance(machine, CpuMachine):
        assert isinstance(tuning, CpuTuning)
        unit = CPU_UNITS[tuning.unit]
        if unit.tiles is not None:
            size = unit.tiles.rows * tuning.vector_lanes * unit.tiles.rows * unit.packed
            return 2 * size / unit.tiles.product * machine.threads, f"tiles of {tuning.unit}"
        each = 2 * machine.fma_per_cycle * tuning.vector_lanes * unit.packed
        return each * machine.threads, f"{tuning.unit} on {machine.threads} threads"
    used = instruction_of(subject)
    if used is not None:
        units = machine.compute_units * (1 if machine.has_wgmma else machine.simds)
        return used.rate(machine.chip) * units, f"{used.name} on all of {machine.compute_units} units"
    if machine.multiprocessor is None:
        return None, f"what the vector ALUs of {machine.name} multiply in a cycle, no row of the machine says"
    issue = machine.multiprocessor.schedulers * machine.wave_size
    rate = 2 * issue / machine.multiprocessor.multiply_add[dtype.accumulator.name]
    return rate * machine.compute_units, f"multiply-adds of {dtype.accumulator} by lanes"


def _roofs(subject: Subject) -> list[Roof]:
    machine = subject.request.machine
    match machine:
        case CpuMachine():
            stream = machine.prices.stream
            prices = (("L2", stream.l2), ("L3", stream.l3), ("memory", stream.memory))
            source = "price of a byte of the CPU's model, on one thread"
            return [Roof(name, machine.threads / price, source) for name, price in prices if price]
        case GpuMachine():
            found: list[Roof] = []
            if machine.warpgroup_rates is not None:
                product = machine.warpgroup_rates.product
                found.append(Roof("memory", product.memory_bytes, "fitted to times (chip/hopper_rates.py)"))
                if machine.multiprocessor is not None and subject.pipeline is None:
                    each = machine.multiprocessor.rates.cache_bytes * machine.compute_units
                    found.append(Roof("L2", each, "bytes of L2 of the model of general tunings"))
            elif machine.device is not None:
                own = machine.device
                found.append(Roof("memory", own.memory_bytes / own.hz, "data sheet, at the highest clock"))
                each = f"{own.l2_bytes:.0f} bytes a compute unit"
                found.append(Roof("L2", own.l2_bytes * machine.compute_units, each))
            return found


def _dots(subject: Subject) -> list[Dot]:
    cut, of, cycles = subject.tiling, subject.request.problem, _cycles(subject)
    assert subject.product is not None
    reached = None if cycles is None else 2 * subject.product.context.multiplies / cycles
    found = [Dot("the problem, arrays once", of.flops / of.bytes, "memory", reached)]
    if cut is not None and any(roof.name == "L2" for roof in _roofs(subject)):
        found.append(Dot("a tile, operands for each tile", _of_tile(cut, subject), "L2", reached))
    return found


def _of_tile(cut: Tiling, subject: Subject) -> float:
    """Operations a byte of a step of a tile."""
    assert subject.product is not None
    (rows_, columns), size = cut.tile, subject.product.context.dtype.bytes
    return 2 * rows_ * columns / ((rows_ + columns) * size)


def _cycles(subject: Subject) -> float | None:
    """Cycles of the drawn product by a model that is fitted to times; None where there is none."""
    assert subject.product is not None and subject.tuned is not None
    tuning, context, machine = subject.tuned.tuning, subject.product.context, subject.request.machine
    match tuning, machine:
        case CpuTuning(), CpuMachine():
            return cpu_cycles(tuning, context, machine)
        case WarpgroupTuning(), GpuMachine():
            found = schedule_cycles(tuning.plan(context, machine), subject.tuned.schedule)
            return None if found == inf else found
        case _:
            return None


def _drawn(peak: float, roofs: Sequence[Roof], dots: Sequence[Dot]) -> str:
    """Both axes in powers of ten."""
    ends = [dot.intensity for dot in dots] + [peak / roof.bytes for roof in roofs]
    low_x, high_x = log10(min(ends)) - 0.5, log10(max(ends)) + 0.5
    high_y = log10(peak) + 0.3
    low_y = high_y - (high_x - low_x)

    def at(intensity: float, reached: float) -> tuple[float, float]:
        x = LEFT + (log10(intensity) - low_x) / (high_x - low_x) * (WIDTH - LEFT - 120)
        y = (high_y - log10(reached)) / (high_y - low_y) * (HEIGHT - BOTTOM) + 10
        return x, min(y, HEIGHT - BOTTOM + 10)

    first, last = 10**low_x, 10**high_x
    parts = [
        line(*at(first, 10**low_y), *at(last, 10**low_y)),
        line(*at(first, 10**low_y), *at(first, 10**high_y)),
    ]
    parts.append(label(LEFT, HEIGHT - 14, "operations a byte", "soft"))
    parts.append(label(8, 14, "operations a cycle", "soft"))
    for power in range(int(low_x) + 1, int(high_x) + 1):
        x, y = at(10.0**power, 10**low_y)
        parts.append(label(x, y + 14, f"{10.0**power:g}", "mid tiny soft"))
    parts.append(
        line(
            *at(max(first, min((peak / r.bytes for r in roofs), default=first)), peak), *at(last, peak), "ink"
        )
    )
    parts.append(label(at(last, peak)[0] + 4, at(last, peak)[1] + 4, f"peak {peak:,.0f}"))
    for roof in roofs:
        start = max(first, 10**low_y / roof.bytes)
        end = peak / roof.bytes
        parts.append(line(*at(start, start * roof.bytes), *at(end, peak), "ink"))
        middle = (start * end) ** 0.5
        x, y = at(middle, middle * roof.bytes)
        parts.append(label(x - 6, y - 4, f"{roof.name} {roof.bytes:,.0f} B", "end"))
    for i, dot in enumerate(dots):
        most = min([peak, *(roof.bytes * dot.intensity for roof in roofs if roof.name == dot.roof)])
        x, y = at(dot.intensity, dot.reached or most)
        told = f"{dot.name}: {dot.intensity:.1f} operations a byte"
        parts.append(line(x, y, *at(dot.intensity, most), "line"))
        parts.append(box(x - 5, y - 5, 10, 10, f"g{i} sent", "", told, 5))
        parts.append(label(x + 9, y + 14, dot.name))
    return drawing(TITLE, parts, WIDTH, HEIGHT)
