"""Shared memory that legality counts on is what a kernel of each family is given, or more."""

from __future__ import annotations

from dataclasses import fields

import pytest
from tests.unit.emit.emulate.hopper_cases import CASES

from imbrex.chip import GPU_MACHINES
from imbrex.config import configuration
from imbrex.config import tuning as tunings
from imbrex.config.configured import configured
from imbrex.config.halo.plan import WindowTuning
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.emit.cuda.layout import layout
from imbrex.ir.ops import GridwiseGemmOp
from imbrex.ir.passes.affix_tuning import gemm_context
from imbrex.lower.build import program
from imbrex.pipeline import Request, levels, lower
from imbrex.problem import parse_problem
from imbrex.run.launch import Launch

FAMILIES = (
    "two consumers, epilogue", "pingpong", "phases", "a raster", "lines", "taps as columns",
    "blocks of a diagonal", "planes",
)  # fmt: skip


def test_copies_around_a_product_that_is_shared_need_not_run_all_at_once() -> None:
    line = "convbfp16 -n 96 -c 384 -H 13 -W 13 -k 384 -y 3 -x 3 -p 1 -q 1 -F 1"
    tuning = "v1:warpgroup:128,192,64,4,2,1,2,cooperative,swapped,16"
    config = f"v2:all_last+taps_first+channels=64+product={tuning}@stream_k:66,early"
    (problem,) = parse_problem(line)
    request = Request(problem, GPU_MACHINES["sm_90a"], "sm_90a", config=configuration.parse(config))
    steps = [step for step in lower(request).steps if isinstance(step, Launch)]
    assert [(step.meets, step.grid_size > 132) for step in steps] == [
        (False, True), (True, False), (False, True),
    ]  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_counted_is_what_a_kernel_gets(family: str) -> None:
    case = CASES[family]
    given = None if case.tuning is None else tunings.parse(case.tuning)
    request = Request(case.problem, GPU_MACHINES["sm_90a"], "sm_90a", given, case.algorithm)
    contexts, module = [], None
    for level in levels(request):
        products = [op for op in level.module.walk() if type(op) is GridwiseGemmOp]
        contexts = [gemm_context(op) for op in products] or contexts
        module = level.module
    assert module is not None
    used = [product.tuning for product in configured(request).products]
    (made,) = [
        k.pipeline for k in program(module, frozenset({2}), GPU_MACHINES["sm_90a"]).kernels if k.pipeline
    ]
    (tuning,), (context,) = used, contexts
    assert isinstance(tuning, WarpgroupTuning | WindowTuning)
    counted, gets = tuning.plan(context).layout, layout(made)
    assert gets.bytes <= counted.bytes
    for field in fields(gets):
        ours, theirs = getattr(gets, field.name), getattr(counted, field.name)
        assert ours <= theirs if field.name.endswith("_bytes") else ours == theirs, field.name
