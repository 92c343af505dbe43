"""What a chip of a known kind costs: a row.  Made-up rows go through the whole way down, and nothing else is
told of them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.build.amd.hot_loop.rates import modelled
from imbrex.build.amd.occupancy import occupancy
from imbrex.build.amd.usage import Usage
from imbrex.chip import GPU_MACHINES, WARPGROUPS, WAVES, CodeObjects, GpuMachine
from imbrex.config.access import context_of
from imbrex.config.algorithm.cost import cycles
from imbrex.config.algorithm.depthwise import strips_shape
from imbrex.config.algorithm.task import task_of
from imbrex.config.choose import family_of
from imbrex.config.request import Request
from imbrex.config.strips import box_of
from imbrex.dtype import F16, F32
from imbrex.kernel import Target, target_of
from imbrex.pipeline import Lowered, lower, machine_for
from imbrex.problem import Conv2d, Gemm
from imbrex.verify.unit import unit_of
from imbrex.view.gemm.product import plain

CONV = Conv2d("forward", n=2, c=32, h=14, w=14, k=64, y=3, x=3, dtype=F16)
GEMM = Gemm(256, 256, 128, dtype=F32)

AMD_TWIN = replace(
    WAVES,
    name="gfx940",
    source="made up: gfx942 with fewer compute units",
    compute_units=228,
    like=WAVES.name,
    code=CodeObjects(0x40, 1, has_vector_offsets=True),
)
NVIDIA_BEFORE = replace(
    WARPGROUPS,
    name="sm_89",
    source="made up: a multiprocessor without what Hopper's has besides",
    lds_bytes=99 * 1024,
    compute_units=128,
    has_wgmma=False,
    has_tensor_maps=False,
    has_clusters=False,
    overlaps_launches=False,
    compute_capability=(8, 9),
    units={},
)


@pytest.fixture(params=[AMD_TWIN, NVIDIA_BEFORE], ids=repr)
def row(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> GpuMachine:
    made: GpuMachine = request.param
    monkeypatch.setitem(GPU_MACHINES, made.name, made)
    return made


def lowered(target: str, problem: Conv2d | Gemm) -> Lowered:
    return lower(Request(problem, machine_for(target, "avx2", 1), target))


def test_a_row_is_a_target(row: GpuMachine) -> None:
    assert target_of(row.name) == Target(row.name, row.name)
    assert target_of(row.name, True).source == ("emulate" if row.vendor == "AMD" else "emulate_sm_89")
    assert unit_of(row.name, F16) == (unit_of(WAVES.name, F16) if row.vendor == "AMD" else unit_of(None, F16))


def test_a_twin_of_gfx942_writes_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GPU_MACHINES, AMD_TWIN.name, AMD_TWIN)
    mine, other = lowered("gfx940", CONV), lowered("gfx942", CONV)
    assert mine.tunings == other.tunings and mine.tunings[0].kind == "xdlops" and mine.lds == other.lds
    assert mine.bundle.files.keys() == other.bundle.files.keys()
    for name, text in mine.bundle.files.items():
        assert text.replace("gfx940", "gfx942") == other.bundle.files[name], name
    assert any("target gfx940" in text for text in mine.bundle.files.values())


def test_a_twin_of_gfx942_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GPU_MACHINES, AMD_TWIN.name, AMD_TWIN)
    usage = Usage("k", 96, 32, 128, 32, 0, 0, 16384, 0, 24, 256)
    assert occupancy(usage, "gfx940") == occupancy(usage, "gfx942")
    assert modelled("gfx940").rates == WAVES.rates
    assert target_of("gfx940", "isa") == Target("gfx940", "gfx940", is_executed=True)


def test_a_gpu_without_warpgroups_multiplies_by_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GPU_MACHINES, NVIDIA_BEFORE.name, NVIDIA_BEFORE)
    context = context_of(plain(256, 256, 128), F16)
    assert (family_of(context, NVIDIA_BEFORE), family_of(context, WARPGROUPS)) == ("general", "warpgroup")
    for problem in (CONV, GEMM):
        found = lowered("sm_89", problem)
        assert {t.kind for t in found.tunings} == {"general"}
        assert "kernel.cu" in found.bundle.files and not any("wgmma" in x for x in found.bundle.units)
        assert not any(getattr(step, "tensors", ()) for step in found.steps)


NHWC = {"filter_layout": "NHWC", "input_layout": "NHWC", "output_layout": "NHWC"}
IMAGES = Conv2d(
    "forward", n=32, c=64, h=28, w=28, k=64, y=3, x=3, pad_h=(1, 1), pad_w=(1, 1), dtype=F16, **NHWC
)
RATED: dict[str, tuple[str, str | None, Conv2d | Gemm]] = {
    "product": ("start", None, replace(GEMM, dtype=F16)),
    "halo": ("start", "halo:1", IMAGES),
    "weight": ("matrix", "halo:1", replace(IMAGES, direction="backward_weight")),
}


@pytest.mark.parametrize("model", RATED)
def test_a_model_has_its_rates_from_the_row(model: str) -> None:
    """The made-up GPU is slower at one thing, and the model of what does it says so."""
    name, algorithm, problem = RATED[model]
    rates = WARPGROUPS.warpgroup_rates
    own = getattr(rates, model)
    slower = replace(own, **{name: 20 * getattr(own, name)})
    other = replace(
        WARPGROUPS, name="sm_90b", like="sm_90a", warpgroup_rates=replace(rates, **{model: slower})
    )
    usual, found = (cycles(Request(problem, row, row.name), algorithm) for row in (WARPGROUPS, other))
    assert found > 1.5 * usual


def test_what_runs_at_a_time_is_the_row_s() -> None:
    assert [WARPGROUPS.clusters_at_a_time(size) for size in (1, 2, 4, 8)] == [132, 66, 29, 14]
    small = replace(WARPGROUPS, name="sm_90b", compute_units=16, cluster_residents={4: 8})
    assert [small.clusters_at_a_time(size) for size in (1, 2, 4)] == [16, 8, 2]


def test_strips_keep_the_row_s_multiprocessors_busy() -> None:
    shape = strips_shape(task_of(replace(IMAGES, c=256, k=256, groups=256)))
    few, many = (replace(WARPGROUPS, name="sm_90b", compute_units=count) for count in (8, 4096))
    assert box_of(shape, few).rows > box_of(shape, many).rows
