"""The report as facts and as JSON: every number of a kernel, and only what is known."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from imbrex.build.amd.code_object import CodeObject
from imbrex.build.amd.lds import LdsCost, from_json, to_json
from imbrex.build.amd.report import Resources, resources

Code = Callable[[str], CodeObject]


def by_name(code: CodeObject, **costs: LdsCost) -> dict[str, Resources]:
    return {r.usage.kernel: r for r in resources(code.assembly, code.chip, lds=costs)}


def text(found: Resources) -> str:
    return "\n".join(f"{name}: {told}" for name, told in found.rows())


def test_rows_of_a_loop_with_matrix_instructions(amd_code: Code) -> None:
    found = by_name(amd_code("gfx942"))["sums_4_256"]
    assert found.hot_loop is not None
    told, used = text(found), found.usage
    for line in (
        f"registers: {used.vgprs} VGPRs, 0 AGPRs, {used.sgprs} SGPRs; none spilled",
        "lds: 0 bytes a workgroup of 256 work items\n",
        "occupancy: 5 waves a SIMD, 5 workgroups a compute unit, bounded by registers",
        "4 v_mfma_f32_32x32x8_f16",
        "loads 5 x 8 bytes",
        "matrix unit: busy",
    ):
        assert line in told


def test_a_kernel_without_a_loop_has_none(amd_code: Code) -> None:
    found = by_name(amd_code("gfx942"))["lds_5000_256"]
    assert found.hot_loop is None and "hot loop" not in text(found)
    assert found.to_json()["hot_loop"] is None and found.to_json()["lds_conflict_cycles"] is None


def test_spills_are_told(amd_code: Code) -> None:
    told = text(by_name(amd_code("gfx908"))["sums_20_64"])
    assert " spilled, " in told and "bytes of scratch" in told


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (LdsCost(1.0, 1.0, 0), "work items; no bank conflict"),
        (LdsCost(2.0, 1.0, 96), "work items; 96 cycles lost to bank conflicts"),
    ],
)
def test_conflicts_are_told_where_they_were_counted(cost: LdsCost, words: str, amd_code: Code) -> None:
    found = by_name(amd_code("gfx942"), lds_5000_256=cost)["lds_5000_256"]
    assert words in text(found) and found.to_json()["lds_conflict_cycles"] == cost.extra_cycles


def test_json_is_plain(amd_code: Code) -> None:
    for found in by_name(amd_code("gfx950")).values():
        data = found.to_json()
        assert json.loads(json.dumps(data)) == data
        assert data["occupancy"]["limit"] in ("registers", "lds", "barriers", "slots")


def test_costs_survive_the_cache() -> None:
    costs = {"k_0": LdsCost(1.0, 4.0, 768), "k_1": LdsCost(1.0, 1.0, 0)}
    assert from_json(json.loads(json.dumps(to_json(costs)))) == costs
