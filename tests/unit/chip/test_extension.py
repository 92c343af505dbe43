"""What a chip of a known kind costs: a row.  Made-up rows go through the whole way down, and nothing else is
told of them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.build.amd.hot_loop.rates import modelled
from imbrex.build.amd.occupancy import occupancy
from imbrex.build.amd.usage import Usage
from imbrex.chip import GPU_TARGETS, WARPGROUPS, WAVES, CodeObjects, GpuTarget
from imbrex.config.access import context_of
from imbrex.config.choose import family_of
from imbrex.config.request import Request
from imbrex.dtype import F16, F32
from imbrex.kernel import Goal, goal
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
def row(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> GpuTarget:
    made: GpuTarget = request.param
    monkeypatch.setitem(GPU_TARGETS, made.name, made)
    return made


def lowered(target: str, problem: Conv2d | Gemm) -> Lowered:
    return lower(Request(problem, machine_for(target, "avx2", 1), target))


def test_a_row_is_a_target(row: GpuTarget) -> None:
    assert goal(row.name) == Goal(row.name, row.name)
    assert goal(row.name, True).source == ("emulate" if row.vendor == "AMD" else "emulate_sm_89")
    assert unit_of(row.name, F16) == (unit_of(WAVES.name, F16) if row.vendor == "AMD" else unit_of(None, F16))


def test_a_twin_of_gfx942_writes_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GPU_TARGETS, AMD_TWIN.name, AMD_TWIN)
    mine, other = lowered("gfx940", CONV), lowered("gfx942", CONV)
    assert mine.tunings == other.tunings and mine.tunings[0].kind == "xdlops" and mine.lds == other.lds
    assert mine.bundle.files.keys() == other.bundle.files.keys()
    for name, text in mine.bundle.files.items():
        assert text.replace("gfx940", "gfx942") == other.bundle.files[name], name
    assert any("target gfx940" in text for text in mine.bundle.files.values())


def test_a_twin_of_gfx942_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GPU_TARGETS, AMD_TWIN.name, AMD_TWIN)
    usage = Usage("k", 96, 32, 128, 32, 0, 0, 16384, 0, 24, 256)
    assert occupancy(usage, "gfx940") == occupancy(usage, "gfx942")
    assert modelled("gfx940").rates == WAVES.rates
    assert goal("gfx940", "isa") == Goal("gfx940", "gfx940", is_executed=True)


def test_a_gpu_without_warpgroups_multiplies_by_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GPU_TARGETS, NVIDIA_BEFORE.name, NVIDIA_BEFORE)
    context = context_of(plain(256, 256, 128), F16)
    assert (family_of(context, NVIDIA_BEFORE), family_of(context, WARPGROUPS)) == ("general", "warpgroup")
    for problem in (CONV, GEMM):
        found = lowered("sm_89", problem)
        assert {t.kind for t in found.tunings} == {"general"}
        assert "kernel.cu" in found.bundle.files and not any("wgmma" in x for x in found.bundle.units)
        assert not any(getattr(step, "tensors", ()) for step in found.steps)
