"""A kernel of sm_90a that is told a size, run by a CPU: right for all of it, the fixed kernel's bits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests.pairs import one_in, one_of

from imbrex.diagnostic import Diagnostic
from imbrex.kernel import compile
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.run.launch import Launch, RunTimeGrid
from imbrex.verify.data import random_operands

STRAIGHT, SWAPPED = (
    f"v1:warpgroup:64,16,64,3,1,1,1,cooperative,{way}" for way in ("straight,3", "swapped,3")
)
PAIRS = "v1:warpgroup:128,32,64,3,1,2,1,cooperative,straight,2"
LAST: dict[str, Any] = {
    "filter_layout": "KYXC",
    "input_layout": "NHWC",
    "output_layout": "NHWK",
    "dtype": "f16",
}
AROUND: dict[str, Any] = {"pad_h": (1, 0), "pad_w": 1}
KEPT = "relu(pre_activation(x + bias)) + residual"
CASES: dict[str, tuple[Problem, dict[str, Any], tuple[int, ...]]] = {
    "buckets": (Gemm("?1..130", 72, 64, dtype="f16"), {}, (1, 130)),
    "rows of tiles in groups, several a workgroup": (
        Gemm("?1..700", 328, 64, dtype="f16"),
        {"tuning": STRAIGHT},
        (513,),
    ),
    "columns of tiles": (Gemm("?1..700", 328, 64, dtype="bf16"), {"tuning": SWAPPED}, (513,)),
    "parts of K in a cluster of two": (
        Gemm("?1..300", 72, 512, dtype="bf16", transpose_b=True),
        {"tuning": PAIRS, "schedule": "cluster_k:2"},
        (257,),
    ),
    "loads of lanes, an epilogue": (
        Gemm("?2..70", 33, 50, dtype="f16", epilogue="relu(x * row_scale + bias) + residual"),
        {"tuning": STRAIGHT},
        (65,),
    ),
    "added to c": (Gemm("?1..70", 24, 64, dtype="f16", alpha=2.0, beta=0.5), {"tuning": SWAPPED}, (65,)),
    "walks over images, a bucket of one": (
        Conv2d("forward", "?1..5", 64, 9, 7, 72, 3, 3, **AROUND, **LAST),
        {},
        (1, 5),
    ),
    "pixels of all images as rows of a matrix, groups": (
        Conv2d("forward", "?1..8", 128, 9, 7, 272, 1, 1, groups=2, **LAST),
        {"tuning": SWAPPED},
        (7,),
    ),
    "pixels as columns, parts of K in a cluster of two": (
        Conv2d("forward", "?1..9", 64, 9, 7, 136, 3, 3, stride=2, **AROUND, **LAST),
        {"tuning": PAIRS, "schedule": "cluster_k:2"},
        (8,),
    ),
    "gradient of a stride, four products in each of two buckets": (
        Conv2d("backward_data", "?1..3", 64, 4, 4, 72, 3, 3, stride=2, pad_h=1, pad_w=1, **LAST),
        {},
        (1, 3),
    ),
    "gradient with gaps, which are zeros": (
        Conv2d("backward_data", "?1..5", 64, 8, 7, 64, 1, 2, stride=(2, 3), **LAST),
        {},
        (2,),
    ),
    "images by loads of lanes, a pre-activation": (
        Conv2d("forward", "?2..9", 16, 9, 7, 24, 3, 3, **AROUND, dtype="bf16", epilogue=KEPT),
        {},
        (2, 9),
    ),
    "sums over images, three buckets": (
        Conv2d("backward_weight", "?1..9", 64, 9, 7, 72, 3, 3, **AROUND, **LAST),
        {},
        (1, 3, 9),
    ),
    "sums by more workgroups than one image has steps": (
        Conv2d("backward_weight", "?1..9", 64, 9, 7, 72, 3, 3, stride=2, **AROUND, **LAST),
        {"tuning": SWAPPED, "schedule": "split_k:90"},
        (1, 4, 9),
    ),
    "sums over pixels as rows, of clusters that load for each other": (
        Conv2d("backward_weight", "?1..9", 128, 9, 7, 128, 1, 1, **LAST),
        {"tuning": PAIRS, "schedule": "split_k:16"},
        (2, 9),
    ),
    "sums in two parts of a cluster": (
        Conv2d("backward_weight", "?1..9", 64, 9, 7, 72, 3, 3, **AROUND, **LAST),
        {"tuning": STRAIGHT, "schedule": "cluster_k:2"},
        (2, 9),
    ),
    "sums by loads of lanes, workspaces of two buckets": (
        Conv2d("backward_weight", "?2..9", 16, 9, 7, 24, 3, 3, **AROUND, dtype="bf16"),
        {},
        (4, 9),
    ),
    "sums over rows, an epilogue": (
        Gemm(33, 50, "?5..700", dtype="bf16", transpose_a=True, epilogue="relu(x + bias)"),
        {},
        (5, 300, 700),
    ),
}


@pytest.mark.parametrize(("turn", "case"), one_in(2, list(enumerate(CASES))))
def test_sizes_are_right_and_have_the_fixed_kernels_bits(turn: int, case: str) -> None:
    problem, words, sizes = CASES[case]
    kernel = compile(problem, "sm_90a", emulate=True, **words)
    for size in sizes:
        verdict = kernel.at(size).check(values="integer")
        assert verdict.is_right, (size, verdict)
    for size in one_of(sizes, turn):
        fixed = compile(problem.at(size), "sm_90a", emulate=True, config=kernel.at(size).configuration)
        operands = random_operands(fixed.problem, 3, "float").arrays
        arrays = [operands[o.role] for o in fixed.problem.operands]
        got, want = (one(*(array.copy() for array in arrays)) for one in (kernel, fixed))
        pairs = zip(got, want, strict=True) if isinstance(got, tuple) else [(got, want)]
        assert all(one.tobytes() == other.tobytes() for one, other in pairs), size


def test_a_size_outside_of_the_range() -> None:
    problem, words, _ = CASES["added to c"]
    kernel = compile(problem, "sm_90a", emulate=True, **words)
    a, b, c = (np.zeros(o.shape, np.float16) for o in problem.operands)
    with pytest.raises(ValueError, match="'a' should have an outermost size from 1 to 70, got 71"):
        kernel(np.concatenate([a, a[:1]]), b, c)
    with pytest.raises(Diagnostic, match="m is from 1 to 70, got 0"):
        kernel.at(0)


def test_launches_say_whose_they_are_and_how_many_workgroups_there_are() -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed")
    kernel = compile(Gemm("?1..700", 512, 512, dtype="f16"), "sm_90a", untuned=True)
    assert kernel.origin is not None
    steps = [step for step in kernel.origin.recipe.steps if isinstance(step, Launch)]
    assert len(steps) > 1 and all(step.run_time is not None for step in steps)
    ends = [(step.run_time.least, step.run_time.greatest) for step in steps if step.run_time]
    assert ends[0][0] == 1 and ends[-1][1] == 700
    assert all(one[1] + 1 == next_[0] for one, next_ in pairwise(ends))
    for size in (1, 64, 65, 699):
        (launch,) = [found for step in steps if (found := step.at(size)) is not None]
        assert kernel.at(size).grid_sizes == (launch.grid_size,) and launch.count == size
        told = [tensor.form.sizes[-1] for tensor in launch.tensors]
        assert sorted(told) == sorted([size, 512, size]), "A and C have as many rows, B does not"
        solver = kernel.files["gemm_solver.cpp"]
        assert "int64_t imbrex_gemm_workgroups(int launch, int64_t count) {" in solver


def test_maps_and_workgroups_of_images() -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed")
    kernel = compile(
        Conv2d("forward", "?1..5", 64, 9, 7, 72, 3, 3, **AROUND, **LAST), "sm_90a", tuning=SWAPPED
    )
    assert kernel.origin is not None
    (step,) = kernel.origin.recipe.steps
    assert isinstance(step, Launch)
    for size in (1, 4, 5):
        launch = step.at(size)
        assert launch is not None
        forms = {type(tensor.form).__name__: tensor.form for tensor in launch.tensors if tensor.argument}
        assert forms["Walk"].sizes == (64, 7, 9, size), "images of the input"
        assert forms["Box"].sizes == (72, 8 * 7 * size), "pixels of the output"
        assert launch.grid_size == kernel.at(size).grid_sizes[0] == -(-8 * 7 * size // 64) * 5


def test_a_grid_has_no_more_workgroups_than_run_at_a_time() -> None:
    grid = RunTimeGrid(1, 10_000, 128, 8, 132)
    assert [grid.at(size) for size in (1, 128, 129, 2048, 10_000)] == [8, 8, 16, 128, 132]
    pixels = RunTimeGrid(1, 64, 128, 2, 132, 49)
    assert [pixels.at(size) for size in (1, 2, 3, 64)] == [2, 2, 4, 50]


REFUSED = [
    ({"tuning": "v1:general:64,32,32,4,2,2"}, "a run-time m is for tiles of warpgroups"),
    ({"schedule": "stream_k:132"}, "the schedule 'stream_k:132' counts tiles"),
    ({"algorithm": "aligned"}, "algorithm 'aligned' is not made for a run-time m"),
]
SUMS = "gemm -t f16 -m 72 -n 64 -k ?1..700 -transA 1"


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_what_it_is_not_made_for(words: dict[str, Any], message: str) -> None:
    with pytest.raises(Diagnostic, match=message) as error:
        compile(Gemm("?", 72, 50, dtype="f16"), "sm_90a", emulate=True, **words)
    assert error.value.hint is not None


def test_sums_whose_parts_are_unequal() -> None:
    with pytest.raises(Diagnostic, match="'stream_k:132' counts steps, and a run-time k has any number"):
        compile(SUMS, "sm_90a", emulate=True, schedule="stream_k:132")


def test_sums_launch_all_workgroups_and_buckets_share_a_workspace() -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed")
    config = "+".join(
        f"product={STRAIGHT}@split_k:{workgroups}{upto}"
        for workgroups, upto in ((16, ",upto=100"), (80, ",upto=500"), (48, ""))
    )
    kernel = compile(SUMS, "sm_90a", config=f"v2:direct+{config}")
    assert kernel.origin is not None
    recipe = kernel.origin.recipe
    assert [(array.name, array.elements) for array in recipe.workspace if array.is_zeroed] == [("flags", 80)]
    found = [kernel.at(size).grid_sizes for size in (1, 100, 101, 500, 501, 700)]
    assert found == [(16,), (16,), (80,), (80,), (48,), (48,)], "some of them have nothing but zeros to add"
