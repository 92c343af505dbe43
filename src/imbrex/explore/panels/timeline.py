"""The pipeline in time, of the model: what a step over K is made of, and how loads and products overlap.

The streams of a step go on side by side; the slowest of them is the bound.  The picture of time has what
waves issue and wait for, where `imbrex.timing` simulates them, and on Hopper the stages of a ring.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from imbrex.chip import CpuMachine, GpuMachine
from imbrex.config.cpu.cost import parts as cpu_parts
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.general.cost import resident_of, streams
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.halo.cost import HaloCost
from imbrex.config.halo.plan import HaloTuning
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.warpgroup.steps import Streams
from imbrex.config.warpgroup.tile import Tile as WarpgroupTile
from imbrex.config.warpgroup.tunings import Tunings
from imbrex.config.xdlops.cost import bounds_of, step_trip
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.config.xdlops.residency import resident_groups
from imbrex.explore.bars import HEIGHT, Bar, bars
from imbrex.explore.gantt import Gantt, gantt
from imbrex.explore.panel import Panel, Table, absent, rows
from imbrex.explore.panels.maps import NO_PRODUCT
from imbrex.explore.stages_in_time import Ring, stages_in_time
from imbrex.explore.subject import Subject
from imbrex.explore.svg import drawing, label
from imbrex.explore.waves_in_time import waves_in_time
from imbrex.numeral import counted

__all__ = ["timeline"]

TITLE: Final = "The pipeline in time, by the model"
WIDTH, TIME_WIDTH, TOP = 760.0, 1000.0, 44.0


@dataclass(frozen=True)
class Step:
    """What goes on side by side, in cycles.  cycles: of a step.  stages: of a ring; steps: of a tile.

    epilogue: from the last product of a tile to the next one's first.  what: what the streams are of.
    times: the same in time, and what is to be said of it.
    """

    streams: Mapping[str, float]
    cycles: float
    stages: int
    steps: int
    epilogue: float
    what: str
    times: Gantt | None = None
    said: str = ""

    @property
    def bound(self) -> str:
        """The slowest stream."""
        return max(self.streams, key=lambda name: self.streams[name])


def timeline(subject: Subject) -> Panel:
    """Streams of a step as bars, and some steps in time."""
    if subject.product is None or subject.tuned is None:
        return absent("pipeline", TITLE, NO_PRODUCT)
    found = _step(subject)
    if found is None:
        kind = subject.tuned.tuning.kind
        return absent(
            "pipeline", TITLE, f"the model of '{kind}' on {subject.request.machine.name} has no steps"
        )
    given = [
        Bar(name, cycles, f"{cycles:,.0f} cycles", is_bound=name == found.bound)
        for name, cycles in found.streams.items()
    ]
    parts = [label(8, 20, found.what, "head"), *bars(given, 0, TOP - 12, WIDTH - 110, None)]
    height = TOP + len(given) * HEIGHT
    width = WIDTH
    if found.times is not None:
        more, high = gantt(found.times, height + 20, TIME_WIDTH)
        parts, height, width = [*parts, *more], height + 20 + high, TIME_WIDTH
    said = [f"Bound by {found.bound}: {found.streams[found.bound]:,.0f} of {found.cycles:,.0f} cycles."]
    if found.stages:
        many = "stage" if found.stages == 1 else "stages"
        then = f"; then {found.epilogue:,.0f} cycles for C" if found.epilogue else ""
        tile_steps = counted(found.steps, "step")
        said.append(f"{tile_steps} a tile, {found.stages} {many}{then}.")
    if found.said:
        said.append(found.said)
    share = {name: f"{cycles / found.cycles:.0%}" for name, cycles in found.streams.items()}
    table = rows(*((name, f"{cycles:,.1f}", share[name]) for name, cycles in found.streams.items()))
    svg = drawing(TITLE, parts, width, height + 16)
    return Panel("pipeline", TITLE, tuple(said), svg, Table(("stream", "cycles", "of the whole"), table))


def _step(subject: Subject) -> Step | None:
    assert subject.product is not None and subject.tuned is not None
    tuning, context, machine = subject.tuned.tuning, subject.product.context, subject.request.machine
    match tuning, machine:
        case CpuTuning(), CpuMachine():
            found = cpu_parts(tuning, context, machine)
            what = "The whole product, all threads together: what cycles are spent on, one after the other"
            return Step(found, sum(found.values()), 0, 0, 0.0, what)
        case XdlopsTuning(), GpuMachine():
            return _of_waves(tuning, subject, machine)
        case WarpgroupTuning(), GpuMachine():
            return _of_warpgroups(tuning, subject, machine)
        case HaloTuning(), GpuMachine():
            cost = HaloCost(tuning.plan(context, machine))
            streams_ = {"products": cost.matrix, "loads": cost.loads, "storing C": cost.epilogue}
            what = "A tile of windows, which is one step"
            return Step(streams_, cost.tile, tuning.stages, 1, cost.epilogue, what)
        case GeneralTuning(), GpuMachine() if machine.multiprocessor is not None:
            plan = tuning.plan(context, machine)
            resident = resident_of(plan, machine)
            each = streams(plan, machine, resident)
            named = {"instructions": each.issue, "shared memory": each.shared, "loads from L2": each.cache}
            cycles = max(named.values()) + each.more
            what = f"A step over K of one of {counted(resident, 'workgroup')} of a multiprocessor"
            return Step(named | {"besides": each.more}, cycles, 2, plan.k_iterations, 0.0, what)
        case _:
            return None


def _of_waves(tuning: XdlopsTuning, subject: Subject, machine: GpuMachine) -> Step | None:
    assert subject.product is not None
    plan = tuning.plan(subject.product.context, machine)
    if plan.wave_tiles is None:
        return None
    groups = resident_groups(plan)
    names = {"matrix": "matrix instructions", "LDS": "LDS", "loads": "loads from L2"}
    named = {names[part]: clocks for part, clocks in bounds_of(plan, groups).items()}
    what = f"A step over K of each of {groups} workgroups that share a compute unit"
    said = "What is drawn in time is simulated operation by operation; nothing of it was measured on a GPU."
    clocks = step_trip(plan, groups).clocks
    times = waves_in_time(plan, groups)
    return Step(named, clocks, tuning.buffers, plan.k_iterations, 0.0, what, times, said)


def _of_warpgroups(tuning: WarpgroupTuning, subject: Subject, machine: GpuMachine) -> Step:
    assert subject.product is not None
    plan = tuning.plan(subject.product.context, machine)
    active = min(plan.grid_size, machine.compute_units)
    steps = Streams(Tunings.of(plan)).at(active)
    of, tile = steps.of, WarpgroupTile(plan)
    each = {**steps.streams, "together": of.together, "step": steps.step}
    found = {name: float(cycles[0]) for name, cycles in each.items()}
    named = {
        "matrix unit": found["matrix unit"],
        "shared memory, read by it": found["shared memory"],
        "copy engine": found["copy engine"],
        "L2": found["L2"],
        "latency that stages hide": found["latency"],
        "loads by lanes": found["ordinary loads"],
        "cluster's agreement": found["together"],
    }
    what = f"A step over K of a workgroup, where {active} run"
    spent = {name: cycles for name, cycles in named.items() if cycles}
    loads = max(found["copy engine"], found["ordinary loads"])
    ring = Ring(
        tuning.stages, plan.k_iterations, loads, max(loads, found["L2"]), of.rates.answer,
        max(found["matrix unit"], found["shared memory"]) + found["together"], tile.epilogue, tuning.pingpong,
    )  # fmt: skip
    said = (
        f"In time each stream has its own cycles; the model's step, {found['step']:,.0f}, is longer than its "
        "bound by what streams that are nearly as slow add to it."
    )
    times = stages_in_time(ring)
    return Step(spent, found["step"], tuning.stages, plan.k_iterations, tile.epilogue, what, times, said)
