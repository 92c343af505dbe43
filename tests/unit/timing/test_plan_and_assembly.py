"""What a plan says of a loop and of its residents, and what the compiler made of it.

The busy share of both loops by the same model, with the plan's residents, and as if lines of memory came
whole, which assembly does not show; and a compute unit holds no fewer workgroups of the compiled kernel than
the plan says.  Kernels are default picks.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest
from tests.pairs import one_in

import imbrex
from imbrex import Gemm
from imbrex.build.amd.code_object import CodeObject
from imbrex.build.amd.hot_loop import Conflicts, hot_loop_of, read_code, simulated_busy
from imbrex.build.amd.report import resources
from imbrex.cli.source import read_problems
from imbrex.config.products import products
from imbrex.config.xdlops.cost import step_trip
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.config.xdlops.residency import resident_groups, waves_of_simd
from imbrex.pipeline import Request, configuration_of, machine_for
from imbrex.problem import Problem

LAYER = "conv -n 64 -c 256 -H 14 -W 14 -k 256 -y 3 -x 3 -p 1 -q 1 -F"
CASES = (
    ("gfx942 f32 nt", 0.05), ("gfx942 bf16 nt", 0.05), ("gfx942 i8 nn", 0.05), ("gfx942 f16 nn", 0.05),
    ("gfx950 f16 nn", 0.05), ("gfx950 bf16 nt", 0.05), ("gfx950 fp8 tn", 0.05), ("gfx942 bf16 tt", 0.05),
    ("gfx950 bf16 1", 0.05), ("gfx942 bf16 1", 0.05), ("gfx942 bf16 4", 0.05), ("gfx950 bf16 4", 0.05),
)  # fmt: skip
"""How far apart the two may be.  Of three beside each other two are looked at with IMBREX_TESTS=all alone."""


def problem_of(dtype: str, kind: str) -> Problem:
    if kind in ("1", "4"):
        (entry,) = read_problems([f"{LAYER} {kind}"], "NHWC")
        return replace(entry.problem, dtype=dtype)
    return Gemm(4096, 4096, 4096, transpose_a=kind[0] == "t", transpose_b=kind[1] == "t", dtype=dtype)


@pytest.mark.parametrize(("case", "apart"), one_in(3, CASES))
def test_the_plan_says_what_is_compiled(case: str, apart: float) -> None:
    chip, dtype, kind = case.split()
    problem = problem_of(dtype, kind)
    request = Request(problem, machine_for(chip, chip, 1), "hip")
    config = configuration_of(request)
    kernel = imbrex.compile(problem, chip, config=str(config))
    assert isinstance(kernel.library, CodeObject)
    (found,) = (r for r in resources(kernel.library.assembly, chip) if r.hot_loop is not None)
    (product,) = products(problem, config, request.machine).products
    tuning = config.products[0].tuning
    assert isinstance(tuning, XdlopsTuning)
    plan = tuning.plan(product.context, request.machine)
    groups = resident_groups(plan)
    assert found.occupancy.workgroups_per_cu >= groups
    assert found.usage.spilled_vgprs == 0
    loop = hot_loop_of(read_code(kernel.library.assembly, found.usage.kernel))
    of_group = max(1, plan.block_size // prod((request.machine.wave_size, request.machine.simds)))
    compiled = simulated_busy(loop, chip, waves_of_simd(plan), Conflicts(), of_group)
    assert step_trip(plan, groups, whole_lines=True).busy == pytest.approx(compiled, abs=apart)
