"""What an algorithm makes of a problem, by values alone, is what the passes make of it: products and all that
a tuning may know of them, copies, zeros; over every algorithm, direction, layout, and sizes that fit badly.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import pytest
from tests.pairs import fewest, one_in
from tests.unit.ir.launches import filled_elements, launches_of, moved_bytes

from imbrex.chip import CPU_ISAS, GPU_MACHINES, Machine
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.config.algorithm.product import Lanes, Products
from imbrex.config.algorithm.table import ALGORITHMS, Needs, row_of
from imbrex.config.outline import outline
from imbrex.config.products import products
from imbrex.config.request import Request
from imbrex.config.strips import strips_of
from imbrex.config.window_strips import workgroup_strips
from imbrex.diagnostic import Diagnostic
from imbrex.ir.dialect import context
from imbrex.ir.from_problem import problem_module
from imbrex.ir.ops.grid import GridwiseGemmOp
from imbrex.ir.ops.standard import Operation
from imbrex.ir.passes.affix_tuning import gemm_context
from imbrex.ir.to_product import to_product
from imbrex.problem import Conv2d, Gemm

HOPPER, AMD, CPU = GPU_MACHINES["sm_90a"], GPU_MACHINES["gfx942"], CPU_ISAS["avx2"]
NEWEST = GPU_MACHINES["gfx950"]
NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
MIXED = {"filter_layout": "CKYX", "input_layout": "NHWC", "output_layout": "NKHW"}
LAYOUTS: tuple[dict[str, Any], ...] = ({}, NHWC, MIXED)


def shape(
    n: int, c: int, h: int, w: int, k: int, window: tuple[int, int] = (1, 1), **given: Any
) -> dict[str, Any]:
    return {"n": n, "c": c, "h": h, "w": w, "k": k, "y": window[0], "x": window[1], **given}


SAME: dict[str, Any] = {"window": (3, 3), "pad_h": 1, "pad_w": 1}
SHAPES = {
    "3x3": shape(3, 64, 14, 13, 64, **SAME),
    "3x3 of odd channels": shape(2, 67, 9, 8, 40, (3, 3), pad_h=(1, 0)),
    "3x3 of whole sectors": shape(2, 48, 9, 8, 80, (3, 3), pad_w=1),
    "4x5 by 4x6": shape(2, 3, 19, 18, 20, (4, 5), stride=(4, 6), pad_w=1),
    "3x4 of 3 filters": shape(2, 16, 9, 8, 3, (3, 4), pad_h=(1, 0)),
    "1x1": shape(2, 48, 28, 28, 32),
    "1x1 of odd planes": shape(4, 64, 7, 7, 128),
    "1x1 by 2": shape(2, 64, 56, 56, 128, stride=2),
    "1x1 by 2, padded": shape(2, 64, 15, 16, 64, stride=2, pad_h=1, pad_w=1),
    "3x3 by 2": shape(2, 32, 16, 16, 64, **SAME, stride=2),
    "5x3 by 2x1, dilated": shape(2, 16, 19, 21, 24, (5, 3), stride=(2, 1), dilation=(1, 2)),
    "3x2 by 1x4": shape(2, 16, 12, 18, 24, (3, 2), stride=(1, 4)),
    "7x7 of 3 channels": shape(2, 3, 30, 30, 64, (7, 7), stride=2, pad_h=3, pad_w=3),
    "groups": shape(2, 128, 14, 14, 128, **SAME, groups=16),
    "depthwise": shape(2, 64, 14, 14, 64, **SAME, groups=64),
}
DIRECTIONS: tuple[Any, ...] = ("forward", "backward_data", "backward_weight")
COUNTS = (1, 8, 32, 64)
PLACES: dict[Needs, tuple[Machine, str]] = {"CPU": (CPU, "cpu"), "waves": (NEWEST, "gfx950")}
"""Where an algorithm is asked for that Hopper does not serve."""
IS_ALL = os.environ.get("IMBREX_TESTS") == "all"


@cache
def served(name: str) -> dict[str, Request]:
    """Every algorithm on a shape in every direction and in two of the layouts, where it serves."""
    found: dict[str, Request] = {}
    place = list(SHAPES).index(name)
    layouts = [one for one in enumerate(LAYOUTS) if one[0] != place % 2 + 1 or IS_ALL]
    for direction, (at, layout), row in product(DIRECTIONS, layouts, ALGORITHMS):
        is_added = row.phases == "added" and row.machine == "any"  # sums that memory adds up lose nothing
        dtype = "f32" if is_added else "f16"
        problem = Conv2d(direction, **SHAPES[name], **layout, dtype=dtype)
        numbers = [f":{count}" for count in COUNTS] if row.is_counted else [""]
        for number in numbers if direction in row.of else ():
            where = PLACES.get(row.machine, (HOPPER, "sm_90a"))
            request = Request(problem, *where, algorithm=row.name + number)
            if serves(request):
                found[f"{direction}, {at}, {request.algorithm}"] = request
    return found


def serves(request: Request) -> bool:
    try:
        algorithm_of(request)
    except Diagnostic:
        return False
    return True


def made_of(request: Request) -> Products | Lanes:
    return products(request.problem, outline(request, request.algorithm), request.machine)


def lowered(request: Request) -> list[Operation]:
    """The operations before a tuning is chosen."""
    module = problem_module(request.problem, request.name, request.algorithm)
    for step in to_product(outline(request, request.algorithm), request.machine):
        step.apply(context(), module)
    return list(module.walk())


def expect_equal(request: Request) -> None:
    ops, made = lowered(request), made_of(request)
    launches, found = launches_of(ops), [op for op in ops if isinstance(op, GridwiseGemmOp)]
    if isinstance(made, Lanes):
        box = outline(request, request.algorithm).strips
        assert box is not None
        cut = strips_of if request.machine is HOPPER else workgroup_strips
        strips = cut(made.shape, box)
        assert not found and launches[0].grid_size.data == strips.numbering.workgroups
        return
    assert [(op.tuning.data if op.tuning else None) for op in found] == [p.tuning for p in made.products]
    for op, one in zip(found, made.products, strict=True):
        assert elements(one.context) == elements(gemm_context(op))
    assert (len(launches), moved_bytes(ops)) == (len(made.launches), made.moved_bytes)
    assert filled_elements(ops) == made.filled


def elements(of: Any) -> tuple[Any, ...]:
    """A context and the numbers of elements, which its equality leaves out."""
    return of, of.a.elements, of.b.elements, of.c.elements


@pytest.mark.parametrize("name", one_in(2, list(SHAPES)))
def test_passes_yield_the_products_of_a_convolution(name: str) -> None:
    """Of directions, layouts and algorithms every two that serve it together."""
    requests = served(name)
    assert requests
    for key in fewest({key: key.split(", ") for key in requests}):
        expect_equal(requests[key])


def test_every_algorithm_is_among_the_cases() -> None:
    """The shapes that tell: of these, one or more are served by each."""
    telling = (
        "1x1",
        "3x3 by 2",
        "4x5 by 4x6",
        "7x7 of 3 channels",
        "groups",
        "depthwise",
        "1x1 of odd planes",
    )
    found = {row_of(request.algorithm) for name in telling for request in served(name).values()}
    assert found == {row for row in ALGORITHMS if row.of != ("product",)}


@pytest.mark.parametrize("dtype", ["f32", "tf32", "f8e4m3fn", "i8"])
def test_passes_yield_those_of_other_types(dtype: str) -> None:
    directions = DIRECTIONS if dtype != "i8" else DIRECTIONS[:1]
    for name, direction, row in product(("3x3", "1x1 by 2"), directions, ALGORITHMS):
        if direction in row.of:
            problem = Conv2d(direction, **SHAPES[name], dtype=dtype)
            request = Request(
                problem, HOPPER, "sm_90a", algorithm=row.name + (":1" if row.is_counted else "")
            )
            if serves(request):
                expect_equal(request)


@pytest.mark.parametrize("machine", [AMD, CPU], ids=["gfx942", "avx2"])
def test_passes_yield_those_of_other_machines(machine: Any) -> None:
    for request in served("3x3 of odd channels").values():
        other = replace(request, machine=machine, target=machine.name)
        if serves(other):
            expect_equal(other)


def test_passes_yield_those_of_an_epilogue() -> None:
    for layout, algorithm in (({}, "v4r4"), ({}, "channels_last"), (NHWC, "halo:1")):
        problem = Conv2d("forward", **SHAPES["3x3"], **layout, dtype="f16", epilogue="relu(x + bias)")
        expect_equal(Request(problem, HOPPER, "sm_90a", algorithm=algorithm))


GEMMS = {
    "plain": Gemm(200, 136, 96, dtype="f16"),
    "batch": Gemm(40, 70, 33, batch=3, dtype="f16", transpose_a=True),
    "odd": Gemm(137, 131, 139, dtype="f16", transpose_b=True),
    "odd i8": Gemm(137, 131, 139, batch=2, dtype="i8"),
    "odd tf32": Gemm(137, 131, 139, dtype="tf32", transpose_a=True),
    "strided": Gemm(64, 96, 48, dtype="f16", lda=56, ldb=101, ldc=100),
    "one matrix for a batch": Gemm(64, 96, 48, batch=4, dtype="f16", stride_b=0),
    "microscaled": Gemm(100, 72, 160, batch=2, dtype="mxf8e4m3fn", transpose_b=True),
    "packs of 4 bits": Gemm(100, 72, 160, batch=2, dtype="mxf4e2m1fn", transpose_b=True, lda=192),
    "packs of 6 bits": Gemm(100, 72, 160, dtype="mxf6e2m3fn", transpose_b=True),
    "8 by 4 bits": Gemm(100, 72, 160, batch=2, dtype="mxfp8_mxfp4", transpose_b=True, lda=192),
    "4 by 6 bits": Gemm(100, 72, 160, dtype="mxfp4_mxfp6", transpose_b=True, ldb=192),
    "long": Gemm(40, 30, 700, batch=2, dtype="f16", transpose_a=True),
    "scaled": Gemm(100, 50, 77, dtype="f16", alpha=2.0, beta=3.0, epilogue="relu(x)"),
}


@pytest.mark.parametrize("name", GEMMS)
def test_passes_yield_the_products_of_a_product(name: str) -> None:
    problem = GEMMS[name]
    for machine, algorithm in (
        (HOPPER, "direct"),
        (HOPPER, "aligned"),
        (HOPPER, "k_parts:2"),
        (AMD, "data_tiled"),
        (NEWEST, "direct"),
        (CPU, "direct"),
    ):
        request = Request(problem, machine, machine.name, algorithm=algorithm)
        if serves(request):
            expect_equal(replace(request, algorithm=algorithm_of(request)))


def test_control_a_wrong_step_is_seen() -> None:
    """With channels counted up to another multiple, or a copy left out, nothing is equal."""
    request = served("3x3 of odd channels")["forward, 0, channels_last"]
    made = made_of(request)
    assert isinstance(made, Products) and made.launches
    other = made_of(replace(request, algorithm="v4r4"))
    assert isinstance(other, Products) and not other.launches
    assert made.products[0].context != other.products[0].context
