"""Pictures of shared memory and of time against what the maps and the models say."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from tests.unit.explore.studied import FORWARD, PRODUCT, studied

from imbrex.chip import GpuMachine
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.xdlops.cost import product_of, step_trip
from imbrex.config.xdlops.loop import modelled
from imbrex.config.xdlops.plan import XdlopsPlan, XdlopsTuning
from imbrex.config.xdlops.residency import resident_groups
from imbrex.explore.stages_in_time import Ring, stages_in_time
from imbrex.explore.stored_tile import stored_tiles
from imbrex.explore.waves_in_time import waves_in_time
from imbrex.timing.compute_unit import MEASURED, WARM, traced
from imbrex.timing.kernel import residents_of

LONG = "gemm -t f16 -m 512 -n 512 -k 4096"


@pytest.mark.parametrize("chip", ["gfx942", "sm_90a"])
@pytest.mark.parametrize("line", [FORWARD.replace("conv ", "convfp16 "), PRODUCT])
def test_a_cell_holds_the_elements_that_the_map_puts_there(chip: str, line: str) -> None:
    tiles = stored_tiles(studied(chip, line).subject)
    assert [tile.operand for tile in tiles] in (["A", "B"], ["B", "A"])
    for tile in tiles:
        size, cells = tile.cells()
        assert size and cells
        sizes = [dim.size for dim in tile.map.lower]
        for cell in cells[:: max(1, len(cells) // 20)]:
            corners = [(k, d) for k in set(cell.k) for d in set(cell.d)]
            for k, d in corners:
                coords, _ = tile.map.evaluate([k, d])
                element = int(np.ravel_multi_index([int(x) for x in coords], sizes))
                assert element * tile.element_bytes // size == cell.number


def test_control_without_the_permutation_cells_hold_other_elements() -> None:
    (tile, _) = stored_tiles(studied("sm_90a", PRODUCT).subject)
    assert tile.cells()[1] != tile.unpermuted.cells()[1]


def _plan(chip: str) -> tuple[XdlopsPlan, int]:
    subject = studied(chip, LONG).subject
    assert subject.product is not None and subject.tuned is not None
    tuning, machine = subject.tuned.tuning, subject.request.machine
    assert isinstance(tuning, XdlopsTuning) and isinstance(machine, GpuMachine)
    plan = tuning.plan(subject.product.context, machine)
    return plan, resident_groups(plan)


@pytest.mark.parametrize("chip", ["gfx908", "gfx942", "gfx950"])
@pytest.mark.parametrize("is_alone", [False, True])
def test_a_trace_takes_as_long_as_the_simulation(chip: str, is_alone: bool) -> None:
    plan, most = _plan(chip)
    groups = 1 if is_alone else most
    product, gpu = product_of(plan), modelled(plan.machine)
    found = traced(product.loop, gpu, residents_of(product.waves, groups, gpu, product.is_ping_pong))
    assert all(i.since <= i.at <= i.until for i in found)
    ends = [
        max(i.at for i in found if i.wave == 0 and i.trip == trip) for trip in (WARM - 1, WARM + MEASURED - 1)
    ]
    clocks = (ends[1] - ends[0]) / MEASURED
    assert clocks / product.steps == pytest.approx(step_trip(plan, groups).clocks, rel=0.02)


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
@pytest.mark.parametrize("is_alone", [False, True])
def test_waves_do_one_thing_at_a_time(chip: str, is_alone: bool) -> None:
    plan, most = _plan(chip)
    drawn = waves_in_time(plan, 1 if is_alone else most)
    names = [name for name, _ in drawn.rows]
    assert names[0] == "wave 0" and {"matrix pipe", "loads under way"} <= set(names)
    for _, row in drawn.rows:
        assert all(a.last <= b.first + 1e-6 for a, b in pairwise(row))
        assert all(span.first < span.last for span in row)


def test_a_stage_is_filled_when_it_is_empty_and_multiplied_when_it_is_full() -> None:
    ring = Ring(3, 8, 100.0, 300.0, 900.0, 250.0, 500.0, is_in_turn=False)
    times = list(ring.times())
    for step, (asked, came, begun, done) in enumerate(times):
        assert asked + ring.latency <= came <= begun < done
        assert step < 3 or asked >= times[step - 3][3]
        assert step == 0 or begun >= times[step - 1][3]
    steady = times[-1][2] - times[-2][2]
    assert steady >= max(ring.path, ring.multiply), "no faster than the slowest"
    rows = dict(stages_in_time(ring).rows)
    assert [span.text for span in rows["consumer"] if span.text] == [str(step) for step in range(8)]
    assert rows["epilogue"][0].first == times[-1][3]


def test_the_roofline_has_what_explain_predicts() -> None:
    study = studied("gfx942", LONG)
    assert study.subject.product is not None
    (told,) = re.findall(r"([\d.]+) TFLOP/s", study.subject.product.derived["prediction"])
    assert f"{told} TFLOP/s" in study.panel("roofline").sentences[1]


@pytest.mark.parametrize("line", [PRODUCT, "gemm -t f16 -m 4096 -n 4096 -k 512"])
def test_no_more_workgroups_share_a_gpu_than_there_are(line: str) -> None:
    """Nor more than the GPU has units for: streams that all of them share are slower then."""
    found = studied("sm_90a", line)
    subject = found.subject
    assert subject.product is not None and subject.tuned is not None
    tuning, machine = subject.tuned.tuning, subject.request.machine
    assert isinstance(tuning, WarpgroupTuning) and isinstance(machine, GpuMachine)
    tiles = tuning.plan(subject.product.context, machine).grid_size
    assert (tiles < machine.compute_units) == (line == PRODUCT)
    running = tiles if line == PRODUCT else machine.compute_units
    assert f"of a workgroup, where {running} run" in str(found.panel("pipeline").to_json())
