"""Candidates: the pick first, each once, all of them such that they can be lowered."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import pytest
from tests.pairs import one_in

from imbrex.chip import CPU_ISAS, GPU_MACHINES
from imbrex.config.candidates import Candidates, candidates
from imbrex.config.configuration import parse
from imbrex.config.configured import configured
from imbrex.config.request import Request
from imbrex.diagnostic import Diagnostic
from imbrex.explore.products import views_as_product
from imbrex.pipeline import lower
from imbrex.problem import Conv2d, Gemm, Problem, problem_text

IMAGE: dict[str, Any] = {
    "n": 2,
    "c": 64,
    "h": 14,
    "w": 14,
    "k": 64,
    "y": 3,
    "x": 3,
    "pad_h": 1,
    "pad_w": 1,
}
NHWC: dict[str, Any] = {"input_layout": "nhwc", "filter_layout": "kyxc", "output_layout": "nhwk"}
PROBLEMS: dict[str, Problem] = {
    "square": Gemm(512, 512, 512, dtype="f16"),
    "odd": Gemm(137, 131, 139, dtype="f16", transpose_a=True),
    "few tiles": Gemm(64, 96, 4096, dtype="f32"),
    "forward": Conv2d("forward", **IMAGE, dtype="f16"),
    "halo": Conv2d("forward", **IMAGE, **NHWC, dtype="f16"),
    "weights": Conv2d("backward_weight", **IMAGE, **NHWC, dtype="f16"),
    "phases": Conv2d("backward_data", **{**IMAGE, "stride": 2}, dtype="f16"),
    "depthwise": Conv2d("forward", **{**IMAGE, "groups": 64}, dtype="f16"),
}  # fmt: skip
MACHINES = {
    "cpu": (replace(CPU_ISAS["avx2"], threads=2), "cpu"),
    "gfx942": (GPU_MACHINES["gfx942"], "gfx942"),
    "sm_90a": (GPU_MACHINES["sm_90a"], "sm_90a"),
}
SAMPLED = 2


IN_TURN = {
    "cpu": ("odd", "halo", "depthwise"),
    "gfx942": ("forward", "phases"),
    "sm_90a": ("square", "few tiles", "halo", "weights", "depthwise"),
}
"""Each problem on one machine or two, each machine with several."""
CASES = [
    (name, where)
    for name, where in product(PROBLEMS, MACHINES)
    if name in IN_TURN[where] or os.environ.get("IMBREX_TESTS") == "all"
]


@cache
def of(name: str, where: str) -> Candidates:
    """What all tests of a problem on a machine look at."""
    return candidates(Request(PROBLEMS[name], *MACHINES[where]))


@pytest.mark.parametrize(("name", "where"), one_in(2, CASES))
def test_candidates_are_legal_and_the_pick_is_the_first(name: str, where: str) -> None:
    machine, target = MACHINES[where]
    request = Request(PROBLEMS[name], machine, target)
    found = of(name, where).ranked
    texts = [str(one.configuration) for one in found]
    assert found[0].configuration == configured(request)
    assert len(set(texts)) == len(texts) > 2
    others = [one.cycles for one in found[1:]]
    assert others == sorted(others) and others[0] >= 0
    for text in random.Random(0).sample(texts, SAMPLED):
        assert str(lower(replace(request, config=parse(text))).configuration) == text


def test_every_algorithm_that_serves_has_candidates() -> None:
    ranked = of("weights", "sm_90a").ranked
    words = {one.configuration.algorithm.partition(":")[0] for one in ranked}
    assert words >= {"v4r4", "halo"}


def test_what_is_asked_for_narrows_the_candidates() -> None:
    request = Request(PROBLEMS["halo"], *MACHINES["sm_90a"], algorithm="v4r4")
    assert {one.configuration.algorithm for one in candidates(request).ranked} == {"v4r4"}


def test_tunings_that_break_a_rule_are_counted() -> None:
    assert of("forward", "gfx942").refused["lds_bytes"] > 0


def test_an_algorithm_that_does_not_serve_is_told() -> None:
    assert "nothing to copy" in of("square", "sm_90a").unserved["aligned"]


@pytest.mark.parametrize(
    "problem",
    [
        Conv2d("backward_data", 2, 3, 6, 3, 9, 7, 1, pad_h=2, pad_w=(1, 2), stride=(1, 4), groups=3),
        Conv2d(
            "backward_data", 2, 15, 8, 1, 48, 7, 2, pad_h=1, pad_w=2, stride=(1, 4), groups=3, dtype="f16"
        ),
        Conv2d("backward_data", 2, 64, 8, 1, 64, 1, 2, pad_w=2, stride=(1, 4), dtype="f16"),
    ],
    ids=problem_text,
)
@pytest.mark.parametrize("where", ["gfx942", "sm_90a"])
def test_a_gradient_that_no_launch_writes_has_no_products(problem: Conv2d, where: str) -> None:
    request = Request(problem, GPU_MACHINES[where], where)
    assert candidates(request).ranked[0].configuration.products == ()
    with pytest.raises(Diagnostic, match=r"whole_images"):
        lower(replace(request, algorithm="whole_images:1"))
    with pytest.raises(Diagnostic, match="the gradient is 0, by no product"):
        views_as_product(request)


@pytest.mark.parametrize("where", ["gfx942", "gfx950", "sm_90a"])
def test_lanes_have_candidates_on_every_gpu(where: str) -> None:
    problem = Conv2d("forward", **{**IMAGE, "groups": 64}, dtype="f16")
    found = candidates(Request(problem, GPU_MACHINES[where], where, algorithm="channel_vectors")).ranked
    assert len(found) > 1 and {of.configuration.algorithm for of in found} == {"channel_vectors"}
