"""A compute unit holds as many workgroups of every default pick of the benchmark sets as its plan says, or
more: no kernel loses a wave to registers that its epilogue takes, and none spills those of lanes.

Hundreds of kernels are compiled, with IMBREX_TESTS=all; `test_plan_and_assembly.py` looks at a dozen always.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

import imbrex
from imbrex import Gemm
from imbrex.bench.resnet import LAYERS, conv
from imbrex.build.amd.code_object import CodeObject
from imbrex.build.amd.occupancy import occupancy
from imbrex.build.amd.report import Resources, resources
from imbrex.config.algorithm.product import Products
from imbrex.config.products import products
from imbrex.config.tuning import parse
from imbrex.config.xdlops.plan import XdlopsPlan, XdlopsTuning
from imbrex.config.xdlops.residency import kept_waves, resident_groups
from imbrex.pipeline import Request, configuration_of, machine_for
from imbrex.problem import Problem, problem_text

CHIPS = {"gfx942": "f8e4m3fnuz", "gfx950": "f8e4m3fn"}
"""With the 8-bit floats of each."""
NEAR = conv(
    next(one for one in LAYERS if one.name == "l2.1x1.128-512"), "forward", "nhwc", dtype="bf16", batch=64
)
TUNING = "v1:xdlops:256,128,4,128,64,8,auto,xor,staged,straight,2,1"
"""By it, it took 260 registers, where 256 leave room for two waves."""


def sets(chip: str) -> Iterator[Problem]:
    for dtype in ("bf16", "f16", "i8", CHIPS[chip], "f32"):
        for a, b in ((False, True), (False, False), (True, False), (True, True)):
            yield Gemm(4096, 4096, 4096, transpose_a=a, transpose_b=b, dtype=dtype)
    for dtype in ("bf16", "f16"):
        for a, b in ((False, True), (False, False), (True, False), (True, True)):
            yield Gemm(8192, 8192, 8192, transpose_a=a, transpose_b=b, dtype=dtype)
        yield Gemm(8192, 28672, 4096, transpose_b=True, dtype=dtype)
        yield Gemm(4095, 4093, 4096, dtype=dtype)
        yield Gemm(4096, 4096, 4095, dtype=dtype)
        for direction in ("forward", "backward_data", "backward_weight"):
            for layer in LAYERS:
                yield conv(layer, direction, "nhwc", dtype=dtype, batch=64)


def picks(problem: Problem, chip: str, tuning: str | None = None) -> Iterator[tuple[XdlopsPlan, Resources]]:
    """Each product's plan, the default or that of a tuning, and what its kernel was compiled to."""
    given = None if tuning is None else parse(tuning)
    request = Request(problem, machine_for(chip, chip, 1), "hip", given)
    config = configuration_of(request)
    made = products(problem, config, request.machine)
    if not isinstance(made, Products):
        return
    kernel = imbrex.compile(problem, chip, config=str(config))
    assert isinstance(kernel.library, CodeObject)
    every = resources(kernel.library.assembly, chip)
    is_alone = len(every) == len(made.products)  # a loop may be unrolled whole
    found = every if is_alone else [r for r in every if r.hot_loop is not None]
    for tuned, product, one in zip(config.products, made.products, found, strict=True):
        if isinstance(tuned.tuning, XdlopsTuning):
            yield tuned.tuning.plan(product.context, request.machine), one


def faults(problem: Problem, chip: str, tuning: str | None = None) -> Iterator[str]:
    for plan, found in picks(problem, chip, tuning):
        said, held = resident_groups(plan), found.occupancy.workgroups_per_cu
        if held < said or found.usage.spilled_vgprs:
            yield f"{chip} {problem_text(problem)}: {held} of {said}, {found.usage.spilled_vgprs} spilled"


@pytest.mark.skipif(os.environ.get("IMBREX_TESTS") != "all", reason="only with IMBREX_TESTS=all")
@pytest.mark.parametrize("chip", CHIPS)
def test_no_default_pick_loses_a_wave(chip: str) -> None:
    assert [fault for problem in sets(chip) for fault in faults(problem, chip)] == []


def test_a_kernel_that_loses_a_wave_is_seen() -> None:
    ((plan, found),) = picks(NEAR, "gfx942", TUNING)
    assert list(faults(NEAR, "gfx942", TUNING)) == []
    assert kept_waves(plan) == 2 and 224 <= found.usage.total_vgprs <= 256
    lost = occupancy(replace(found.usage, total_vgprs=257), "gfx942")
    assert lost.workgroups_per_cu < resident_groups(plan)
