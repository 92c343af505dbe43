"""What the passes of an algorithm leave, before any tuning, computes what the problem does: executed on small
arrays, for every algorithm, direction and place of channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import pytest
from tests.pairs import fewest, one_in
from xdsl.dialects.builtin import ModuleOp

from imbrex.chip import CPU_ISAS, GPU_MACHINES
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.config.algorithm.table import ALGORITHMS, row_of
from imbrex.config.outline import outline
from imbrex.config.request import Request
from imbrex.diagnostic import Diagnostic
from imbrex.ir.dialect import context
from imbrex.ir.from_problem import problem_module
from imbrex.ir.passes import conv_products
from imbrex.ir.to_product import to_product
from imbrex.problem import Conv2d, Gemm
from imbrex.verify.compare import compare
from imbrex.verify.reference import reference

from .levels import Case, computed

HOPPER, AMD, CPU = GPU_MACHINES["sm_90a"], GPU_MACHINES["gfx942"], CPU_ISAS["avx2"]
MACHINES = {"CPU": CPU, "waves": AMD}
NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
SHAPES: dict[str, dict[str, Any]] = {
    "3x3": {"c": 16, "h": 5, "w": 7, "k": 64, "y": 3, "x": 3, "pad_h": 1, "pad_w": 1},
    "1x1": {"c": 16, "h": 4, "w": 10, "k": 24, "y": 1, "x": 1},
    "1x1 by 2": {"c": 16, "h": 8, "w": 20, "k": 8, "y": 1, "x": 1, "stride": 2},
    "3x3 by 2": {"c": 8, "h": 8, "w": 8, "k": 16, "y": 3, "x": 3, "pad_h": 1, "pad_w": 1, "stride": 2},
    "3 channels": {"c": 3, "h": 7, "w": 8, "k": 8, "y": 3, "x": 3, "pad_h": 1, "pad_w": 1, "stride": 2},
    "groups": {"c": 32, "h": 5, "w": 6, "k": 32, "y": 3, "x": 3, "pad_h": 1, "pad_w": 1, "groups": 4},
    "patches": {"c": 3, "h": 9, "w": 7, "k": 5, "y": 2, "x": 3, "pad_h": 1, "pad_w": 0, "stride": (3, 4)},
    "few filters": {"c": 5, "h": 6, "w": 5, "k": 3, "y": 3, "x": 4, "pad_h": (1, 3), "pad_w": (2, 1)},
    "depthwise": {"c": 16, "h": 5, "w": 6, "k": 16, "y": 3, "x": 3, "pad_h": 1, "pad_w": 1, "groups": 16},
}
COUNTS = ("1", "4", "16", "64")
GEMMS = (
    (Gemm(20, 19, 13, batch=2, dtype="f16", transpose_b=True), HOPPER, "aligned"),
    (Gemm(33, 40, 21, dtype="i8", transpose_a=True), HOPPER, "aligned"),
    (Gemm(20, 19, 13, dtype="f16", alpha=2.0, beta=3.0, epilogue="relu(x)"), HOPPER, "direct"),
    (Gemm(21, 17, 13, batch=2, dtype="f16", alpha=2.0, beta=3.0), AMD, "data_tiled"),
    (Gemm(9, 17, 200, batch=2, dtype="f16", transpose_a=True), HOPPER, "k_parts:4"),
    (Gemm(9, 7, 130, dtype="f16", alpha=2.0, beta=3.0, epilogue="relu(x)"), HOPPER, "k_parts:3"),
)  # fmt: skip


@cache
def served(name: str) -> tuple[Request, ...]:
    """Every algorithm of a convolution, in every direction, with channels first and last, where it serves."""
    found = list[Request]()
    for row, layout in product(ALGORITHMS, ({}, NHWC)):
        machine = MACHINES.get(row.machine, HOPPER)
        dtype = "f32" if row.phases == "added" and row.machine == "any" else "f16"
        for direction, count in product(row.of, COUNTS if row.is_counted else ("",)):
            if direction != "product":
                problem = Conv2d(direction, n=2, **SHAPES[name], **layout, dtype=dtype)
                algorithm = f"{row.name}:{count}" if count else row.name
                found.append(Request(problem, machine, machine.name, algorithm=algorithm))
    return tuple(request for request in found if serves(request))


def serves(request: Request) -> bool:
    try:
        algorithm_of(request)
    except Diagnostic:
        return False
    return True


def lowered(request: Request) -> ModuleOp:
    """The module before a tuning is chosen."""
    module = problem_module(request.problem, algorithm=request.algorithm)
    for step in to_product(outline(request, request.algorithm), request.machine):
        step.apply(context(), module)
    module.verify()
    return module


def wrong_ones(requests: Sequence[Request]) -> list[str]:
    """Those of which what is computed is not what the reference says."""
    found = list[str]()
    for request in requests:
        case = Case(request.problem, algorithm=request.algorithm)  # type: ignore[arg-type]
        arrays = case.operands()
        got = computed(lowered(request), case, arrays)
        if not compare(request.problem, got, reference(request.problem, arrays), is_exact=True).is_right:
            found.append(str(case))
    return found


@pytest.mark.parametrize("name", one_in(2, list(SHAPES), 1))
def test_an_algorithm_of_a_convolution_computes_it(name: str) -> None:
    """Of directions, places of channels and algorithms every two that serve it together."""
    requests = fewest(
        {of: (of.problem.direction, of.problem.input_layout, of.algorithm) for of in served(name)}
    )  # type: ignore[union-attr]
    assert requests and wrong_ones(requests) == []


def test_every_algorithm_of_convolutions_is_among_the_cases() -> None:
    found = {(row_of(r.algorithm), r.problem.direction) for name in SHAPES for r in served(name)}  # type: ignore[union-attr]
    assert found == {(row, kind) for row in ALGORITHMS for kind in row.of if kind != "product"}


@pytest.mark.parametrize(
    "problem, machine, algorithm",
    GEMMS,
    ids=["f16", "i8", "direct", "tiles", "parts of a batch", "parts, finished"],
)
def test_an_algorithm_of_a_product_computes_it(problem: Gemm, machine: Any, algorithm: str) -> None:
    request = Request(problem, machine, machine.name, algorithm=algorithm)
    full = Request(problem, machine, machine.name, algorithm=algorithm_of(request))
    assert wrong_ones([full]) == []


def test_control_phases_in_another_order_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [request for request in served("3x3 by 2") if request.algorithm == "interleaved"]
    right = conv_products.put_together

    def wrong(view: Any, apart: Any, *more: Any) -> None:
        right(view, apart[::-1], *more)

    monkeypatch.setattr(conv_products, "put_together", wrong)
    assert cases and len(wrong_ones(cases)) == len(cases)
