"""Roofline: operations a byte against operations a cycle, with the roofs that are known of the machine.

Two points: the problem, every array once through memory; and a workgroup's tiles, which come from L2 for each
tile again.  Where a model has cycles, the height of the points is what it expects; else the roof above them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, inf, log10
from typing import Final

from imbrex.chip import CpuMachine, GpuMachine
from imbrex.config.cpu.cost import cycles as cpu_cycles
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.warpgroup.cost import schedule_cycles
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.xdlops.cost import prediction_of
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.explore.measured import measured_of
from imbrex.explore.panel import Panel, Table, absent, rows
from imbrex.explore.panels.instruction import instruction_of
from imbrex.explore.panels.maps import NO_PRODUCT
from imbrex.explore.subject import Subject
from imbrex.explore.svg import box, drawing, label, line
from imbrex.explore.tiling import Tiling
from imbrex.numeral import counted
from imbrex.view.mma.vector import CPU_UNITS

__all__ = ["roofline"]

TITLE: Final = "Roofline"
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 720.0, 340.0, 84.0, 36.0, 26.0
CHARACTER: Final = 5.6


@dataclass(frozen=True)
class Roof:
    """Bytes a cycle of one path, for the whole machine."""

    name: str
    bytes: float
    source: str


@dataclass(frozen=True)
class Dot:
    """Operations a byte, by which roof it is held, and operations a cycle and a second where they are known,
    and by what.
    """

    name: str
    intensity: float
    roof: str
    reached: float | None = None
    speed: float | None = None
    by: str = "the model expects"

    def most(self, peak: float, roofs: Sequence[Roof]) -> float:
        """Operations a cycle that its roof and the peak allow."""
        return min([peak, *(roof.bytes * self.intensity for roof in roofs if roof.name == self.roof)])

    def says(self, peak: float, roofs: Sequence[Roof], hz: float | None) -> str:
        """Where it stands, and what holds it."""
        most = self.most(peak, roofs)
        held = f"held by {self.roof if most < peak else 'the peak'}"
        if not any(roof.name == self.roof for roof in roofs):
            held += f", as far as is known without the roof of {self.roof}"
        text = f"{self.intensity:,.1f} operations a byte, {held}"
        if self.reached is None:
            return f"{text}, which allows {most:,.0f} a cycle{_speed(most, hz)}"
        speed = "" if self.speed is None else f", {self.speed / 1e12:,.1f} TFLOP/s"
        return f"{text}, of which {self.by} {self.reached / most:.0%}{speed}"


def roofline(subject: Subject) -> Panel:
    """Roofs and points."""
    if subject.product is None or subject.tuned is None:
        return absent("roofline", TITLE, NO_PRODUCT)
    peak, what = _peak(subject)
    if peak is None:
        return absent("roofline", TITLE, what)
    roofs, dots, hz = _roofs(subject), _dots(subject), _hz(subject)
    table_rows: list[tuple[object, ...]] = [("peak", f"{peak:,.0f} operations a cycle", what)]
    table_rows += [
        (f"roof of {roof.name}", f"{roof.bytes:,.0f} bytes a cycle", roof.source) for roof in roofs
    ]
    said = [f"The peak is {peak:,.0f} operations a cycle{_speed(peak, hz)}: {what}."]
    if not any(roof.name == "memory" for roof in roofs):
        said.append(f"How fast memory of {subject.request.machine.name} is, no row of the machine says.")
    for dot in dots:
        said.append(f"{dot.name[:1].upper()}{dot.name[1:]}: {dot.says(peak, roofs, hz)}.")
        most = f"at most {dot.most(peak, roofs):,.0f} a cycle"
        table_rows.append((dot.name, f"{dot.intensity:,.2f} operations a byte", most))
    table = Table(("what", "value", "source"), rows(*table_rows))
    return Panel("roofline", TITLE, tuple(said), _drawn(peak, roofs, dots, hz), table)


def _peak(subject: Subject) -> tuple[float | None, str]:
    """Operations a cycle of the whole machine, and what makes them."""
    assert subject.product is not None and subject.tuned is not None
    machine, tuning, dtype = subject.request.machine, subject.tuned.tuning, subject.product.context.dtype
    if isinstance(machine, CpuMachine):
        assert isinstance(tuning, CpuTuning)
        unit = CPU_UNITS[tuning.unit]
        each = 2 * unit.rate(machine, tuning.vector_lanes)
        where = "tiles of {}" if unit.tiles is not None else f"{{}} on {counted(machine.threads, 'thread')}"
        return each * machine.threads, where.format(tuning.unit)
    used = instruction_of(subject)
    if used is not None:
        units = machine.compute_units * (1 if machine.has_wgmma else machine.simds)
        return used.rate(
            machine.chip
        ) * units, f"{used.name} on all of {counted(machine.compute_units, 'unit')}"
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
    cut, of, (cycles, hz) = subject.tiling, subject.request.problem, _cycles(subject)
    assert subject.product is not None
    operations = 2 * subject.product.context.multiplies
    reached = None if cycles is None else operations / cycles
    speed = None if reached is None or hz is None else reached * hz
    found = [Dot("the problem, arrays once", of.flops / of.bytes, "memory", reached, speed)]
    if cut is not None and any(roof.name == "L2" for roof in _roofs(subject)):
        found.append(Dot("a tile, operands for each tile", _of_tile(cut, subject), "L2", reached, speed))
    times, highest = measured_of(subject)[0], _hz(subject)
    if times and highest is not None:
        rate = of.flops / (min(times.values()) * 1e-9)
        text = "the fastest that was measured"
        found.append(Dot(text, of.flops / of.bytes, "memory", rate / highest, rate, "it reached"))
    return found


def _hz(subject: Subject) -> float | None:
    """The highest clock of a GPU whose row has it."""
    gpu = subject.gpu
    if gpu is None:
        return None
    if gpu.warpgroup_rates is not None:
        return gpu.warpgroup_rates.clock_hz
    return None if gpu.device is None else gpu.device.hz


def _of_tile(cut: Tiling, subject: Subject) -> float:
    """Operations a byte of a step of a tile."""
    assert subject.product is not None
    (rows_, columns), context = cut.tile, subject.product.context
    of_a, of_b = (context.exchanged if cut.swapped else context).element_bytes
    return 2 * rows_ * columns * context.dtype.pack / (rows_ * of_a + columns * of_b)


def _cycles(subject: Subject) -> tuple[float | None, float | None]:
    """Cycles of the drawn product by the model of its tuning, and their clock; None where there is none.
    That of AMD's GPUs is compared with published times only: none of our kernels was measured there.
    """
    assert subject.product is not None and subject.tuned is not None
    tuning, context, machine = subject.tuned.tuning, subject.product.context, subject.request.machine
    match tuning, machine:
        case CpuTuning(), CpuMachine():
            return cpu_cycles(tuning, context, machine), None
        case WarpgroupTuning(), GpuMachine():
            found = schedule_cycles(tuning.plan(context, machine), subject.tuned.schedule)
            return (None if found == inf else found), _hz(subject)
        case XdlopsTuning(), GpuMachine():
            plan = tuning.plan(context, machine)
            if plan.wave_tiles is None:
                return None, None
            whole = prediction_of(plan)
            return whole.seconds * whole.hz, whole.hz
        case _:
            return None, None


def _drawn(peak: float, roofs: Sequence[Roof], dots: Sequence[Dot], hz: float | None) -> str:
    """Both axes in powers of ten."""
    frame = _frame(peak, roofs, dots)
    parts = list(_axes(frame, hz))
    end, words = 10**frame.high_x, f"peak {peak:,.0f}{_speed(peak, hz)}"
    begin = max(10**frame.low_x, min((peak / r.bytes for r in roofs), default=10**frame.low_x))
    parts.append(line(*frame.at(begin, peak), *frame.at(end, peak), "ink"))
    parts.append(label(frame.at(end, peak)[0], frame.at(end, peak)[1] - 6, words, "end"))
    for roof in roofs:
        start, knee = max(10**frame.low_x, 10**frame.low_y / roof.bytes), peak / roof.bytes
        parts.append(line(*frame.at(start, start * roof.bytes), *frame.at(knee, peak), "ink"))
        x, y = frame.at(start**0.6 * knee**0.4, start**0.6 * knee**0.4 * roof.bytes)
        parts.append(label(x + 8, y + 10, f"{roof.name}, {roof.bytes:,.0f} bytes a cycle"))
    for i, dot in enumerate(dots):
        most = dot.most(peak, roofs)
        x, y = frame.at(dot.intensity, dot.reached or most)
        tooltip = f"{dot.name}: {dot.intensity:.1f} operations a byte, {dot.reached or most:,.0f} a cycle"
        parts.append(line(x, y, *frame.at(dot.intensity, most), "line"))
        parts.append(box(x - 5, y - 5, 10, 10, f"g{i} sent", "", tooltip, 5))
        y = HEIGHT + 14 + 18 * i
        parts.append(box(LEFT + 8, y, 12, 12, f"g{i}"))
        parts.append(label(LEFT + 26, y + 10, f"{dot.name}: {dot.says(peak, roofs, hz)}"))
    width = max(WIDTH, LEFT + 40 + max(CHARACTER * len(f"{d.name}: {d.says(peak, roofs, hz)}") for d in dots))
    return drawing(TITLE, parts, width, HEIGHT + 24 + 18 * len(dots))


@dataclass(frozen=True)
class Frame:
    """The powers of ten that are drawn."""

    low_x: float
    high_x: float
    low_y: float
    high_y: float

    def at(self, intensity: float, reached: float) -> tuple[float, float]:
        """The point of operations a byte and operations a cycle."""
        x = (log10(intensity) - self.low_x) / (self.high_x - self.low_x)
        y = (self.high_y - log10(reached)) / (self.high_y - self.low_y)
        high = HEIGHT - BOTTOM - TOP
        return LEFT + x * (WIDTH - LEFT - 20), TOP + min(max(y, 0.0), 1.0) * high


def _frame(peak: float, roofs: Sequence[Roof], dots: Sequence[Dot]) -> Frame:
    ends = [dot.intensity for dot in dots] + [peak / roof.bytes for roof in roofs]
    low_x, high_x = log10(min(ends)) - 0.4, log10(max(ends)) + 0.4
    lows = [dot.reached or dot.most(peak, roofs) for dot in dots]
    lows += [roof.bytes * 10**low_x for roof in roofs]
    return Frame(low_x, high_x, log10(min(lows)) - 0.15, log10(peak) + 0.15)


def _axes(frame: Frame, hz: float | None) -> Iterator[str]:
    """Lines at round numbers: 1, 2 and 5 times the powers of ten."""
    left, right = 10**frame.low_x, 10**frame.high_x
    low, high = 10**frame.low_y, 10**frame.high_y
    yield label(LEFT, HEIGHT - 6, "operations a byte", "soft")
    yield label(8, 14, "operations a cycle", "soft")
    for value in _round(left, right):
        x, y = frame.at(value, low)
        yield line(x, y, *frame.at(value, high), "faint")
        yield label(x, y + 14, f"{value:g}", "mid tiny soft")
    for value in _round(low, high):
        x, y = frame.at(left, value)
        yield line(x, y, *frame.at(right, value), "faint")
        yield label(x - 6, y + 3, f"{value:,.0f}" if value >= 1 else f"{value:g}", "end tiny soft")
    if hz is not None:
        yield label(WIDTH - 20, 14, f"at {hz / 1e9:.2f} GHz", "end soft")


def _round(low: float, high: float) -> Iterator[float]:
    for power in range(floor(log10(low)), floor(log10(high)) + 1):
        yield from (times * 10.0**power for times in (1, 2, 5) if low <= times * 10.0**power <= high)


def _speed(a_cycle: float, hz: float | None) -> str:
    """The same in TFLOP/s, where a clock is known."""
    return "" if hz is None else f", {a_cycle * hz / 1e12:,.1f} TFLOP/s"
