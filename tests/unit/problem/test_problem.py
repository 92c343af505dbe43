"""Conv2d and Gemm: derived sizes, validation, keys."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.problem import Conv2d, Gemm, GemmRole, from_json

RESNET = Conv2d("forward", 1, 64, 56, 56, 64, 3, 3, pad_h=1, pad_w=1)


def test_the_seeds_example_has_its_gemm_sizes() -> None:
    conv = Conv2d("forward", 128, 8, 32, 32, 128, 3, 3)
    assert conv.gemm == (1, 128, 115200, 72)
    assert conv.flops == 2 * 128 * 115200 * 72


def test_directions_share_flops_and_differ_in_roles() -> None:
    backward_data = dataclasses.replace(RESNET, direction="backward_data")
    backward_weight = dataclasses.replace(RESNET, direction="backward_weight")
    assert RESNET.flops == backward_data.flops == backward_weight.flops == 2 * 64 * 64 * 9 * 56 * 56
    assert (RESNET.written, backward_data.written, backward_weight.written) == ("output", "input", "filter")
    assert backward_data.gemm == (1, 576, 3136, 64)
    assert backward_weight.gemm == (1, 64, 576, 3136)
    assert (RESNET.terms, backward_data.terms, backward_weight.terms) == (576, 576, 3136)
    assert RESNET.bytes == 4 * (64 * 64 * 9 + 2 * 64 * 56 * 56)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("pad", [(0, 0), (1, 0), (0, 2)])
def test_output_size_counts_the_windows_that_fit(stride: int, dilation: int, pad: tuple[int, int]) -> None:
    conv = Conv2d("forward", 1, 1, 9, 7, 1, 3, 2, pad_h=pad, stride=stride, dilation=dilation)
    rows = [o for o in range(0, 99, stride) if o + 2 * dilation < 9 + sum(pad)]
    columns = [o for o in range(0, 99, stride) if o + dilation < 7]
    assert (conv.ho, conv.wo) == (len(rows), len(columns))


def test_shapes_follow_layouts_and_dims_carry_the_group() -> None:
    conv = Conv2d(
        "forward", 2, 8, 5, 6, 12, 3, 1, groups=4,
        filter_layout="CYXK", input_layout=("n", "hi", "wi", "c"), output_layout="KNHW",
    )  # fmt: skip
    assert conv.shapes("filter") == (2, 3, 1, 12)
    assert conv.dims("filter") == (("c", 2), ("y", 3), ("x", 1), ("g", 4), ("k", 3))
    assert conv.shapes("input") == (2, 5, 6, 8)
    assert conv.dims("input") == (("n", 2), ("hi", 5), ("wi", 6), ("g", 4), ("c", 2))
    assert conv.shapes("output") == (12, 2, 3, 6)
    assert conv.dims("output") == (("g", 4), ("k", 3), ("n", 2), ("ho", 3), ("wo", 6))
    assert [operand.shape for operand in conv.operands] == [conv.shapes(role) for role in conv.roles]
    assert "g" not in dict(RESNET.dims("filter"))


def test_depthwise() -> None:
    conv = Conv2d("forward", 1, 32, 8, 8, 64, 3, 3, groups=32)
    assert conv.gemm == (32, 2, 36, 9)


def test_i8_results_are_i32() -> None:
    conv = Conv2d("forward", 1, 4, 8, 8, 4, 1, 1, dtype=np.int8)
    assert [str(operand.dtype) for operand in conv.operands] == ["i8", "i8", "i32"]
    assert str(Gemm(2, 2, 2, dtype="i8").element("c")) == "i32"
    assert Gemm(2, 3, 4, dtype="i8").bytes == 8 + 12 + 4 * 6


def test_gemm_shapes() -> None:
    gemm = Gemm(2, 3, 4, batch=5, transpose_a=True, beta=2.0)
    assert [operand.shape for operand in gemm.operands] == [(5, 4, 2), (5, 4, 3), (5, 2, 3)]
    assert gemm.bytes == 4 * 5 * (8 + 12 + 2 * 6)
    assert Gemm(2, 3, 4, transpose_b=True).shapes("b") == (3, 4)
    assert gemm.flops == 2 * 5 * 2 * 3 * 4


BAD: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: Conv2d("forward", 0, 1, 8, 8, 1, 3, 3), "n must be positive, got 0", "n"),
    (lambda: Conv2d("forward", 1, 1, 8, 8, -4, 3, 3), "k must be positive, got -4", "k"),
    (
        lambda: Conv2d("forward", 1, 1, 8, 8, 1, 3, 3, pad_h=-1),
        "pad_h must be zero or positive, got -1",
        "pad_h",
    ),
    (
        lambda: Conv2d("forward", 1, 1, 8, 8, 1, 3, 3, stride=(1, 0)),
        "stride must be positive, got 0",
        "stride",
    ),
    (lambda: Conv2d("forward", 1, 1, 8.5, 8, 1, 3, 3), "h must be an integer, got 8.5", "h"),  # pyright: ignore
    (lambda: Conv2d("forward", 1, 1, 8, True, 1, 3, 3), "w must be an integer, got True", "w"),
    (
        lambda: Conv2d("forward", 1, 1, 8, 8, 1, 3, 3, dilation=(1, 1, 1)),
        "dilation takes 2 entries, got 3",
        "dilation",
    ),  # pyright: ignore
    (
        lambda: Conv2d("forward", 1, 6, 8, 8, 8, 3, 3, groups=4),
        "c = 6 channels do not divide into 4 groups",
        "groups",
    ),
    (
        lambda: Conv2d("forward", 1, 8, 8, 8, 6, 3, 3, groups=4),
        "k = 6 channels do not divide into 4 groups",
        "groups",
    ),
    (
        lambda: Conv2d("forward", 1, 1, 4, 8, 1, 3, 3, pad_h=(0, 1), dilation=3),
        "window y = 3 (dilated by 3 to 7) is larger than the padded input: h = 4 + pads 0 + 1 = 5",
        "y",
    ),
    (
        lambda: Conv2d("forward", 1, 1, 8, 2, 1, 3, 3),
        "window x = 3 is larger than the padded input: w = 2",
        "x",
    ),
    (lambda: Conv2d("foward", 1, 1, 8, 8, 1, 3, 3), "unknown direction 'foward'", "direction"),  # pyright: ignore
    (
        lambda: Conv2d("backward_data", 1, 1, 8, 8, 1, 3, 3, dtype="i8"),
        "i8 convolutions exist in the forward direction only, got backward_data",
        "direction",
    ),
    (lambda: Conv2d("forward", 1, 1, 8, 8, 1, 3, 3, dtype="i32"), "i32 is the result type of i8", "dtype"),
    (lambda: Conv2d("forward", 1, 1, 8, 8, 1, 3, 3, input_layout=7), "has no dimension '7'", "input_layout"),  # pyright: ignore
    (lambda: Gemm(1, 0, 1), "n must be positive, got 0", "n"),
    (lambda: Gemm(1, 1, 1, alpha=float("nan")), "alpha must be a finite number, got nan", "alpha"),
    (
        lambda: Gemm(1, 1, 1, alpha=1e39),
        "alpha 1e+39 is infinity in f32",
        "alpha",
    ),
    (
        lambda: Gemm(1, 1, 1, dtype="f16", beta=1e-46),
        "beta 1e-46 is 0 in f32",
        "beta",
    ),
    (
        lambda: Gemm(1, 1, 1, beta=0.5, dtype="i8"),
        "beta must be a whole number of 32 bits for i8, got 0.5",
        "beta",
    ),
    (lambda: Gemm(1, 1, 1, transpose_a="no"), "transpose_a must be true or false, got 'no'", "transpose_a"),  # pyright: ignore
]


@pytest.mark.parametrize(("make", "message", "subject"), BAD, ids=[message for _, message, _ in BAD])
def test_bad_problems_say_why(make: Callable[[], Any], message: str, subject: str) -> None:
    with pytest.raises(Diagnostic) as caught:
        make()
    assert message in caught.value.message
    assert caught.value.subject == subject


def test_sizes_beyond_32_bits_are_fine() -> None:
    conv = Conv2d("forward", 2**20, 2**10, 56, 56, 64, 1, 1)
    assert conv.bytes > 2**40


def test_keys_are_one_to_one_and_file_names() -> None:
    problems: list[Conv2d | Gemm] = [
        RESNET,
        dataclasses.replace(RESNET, direction="backward_data"),
        dataclasses.replace(RESNET, direction="backward_weight"),
        dataclasses.replace(RESNET, pad_h=(1, 0)),
        dataclasses.replace(RESNET, pad_w=(1, 0)),
        dataclasses.replace(RESNET, stride=(2, 1)),
        dataclasses.replace(RESNET, dilation=(1, 2)),
        dataclasses.replace(RESNET, groups=2),
        dataclasses.replace(RESNET, filter_layout=("k", "y", "x", "c")),
        dataclasses.replace(RESNET, output_layout=("n", "ho", "wo", "k")),
        Gemm(1, 2, 3),
        Gemm(1, 2, 3, batch=2),
        Gemm(1, 2, 3, transpose_a=True),
        Gemm(1, 2, 3, transpose_b=True),
        Gemm(1, 2, 3, alpha=0.5),
        Gemm(1, 2, 3, beta=1.0),
        Gemm(1, 2, 3, dtype="f64"),
        Gemm(2, 2, 3, lda=4),
        Gemm(2, 2, 3, batch=2, stride_a=4),
    ]
    keys = {problem.key() for problem in problems}
    assert len(keys) == len(problems)
    assert all(
        set(key) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+") for key in keys
    )
    assert max(map(len, keys)) < 200


def test_equal_problems_are_equal_and_hash_alike() -> None:
    again = Conv2d(
        "forward", 1, 64, 56, 56, 64, 3, 3, pad_h=(1, 1), pad_w=1, filter_layout="kcyx", dtype="float32"
    )
    assert again == RESNET
    assert hash(again) == hash(RESNET)
    assert Gemm(1, 1, 1, beta=-0.0).key() == Gemm(1, 1, 1).key()


def test_problems_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        RESNET.n = 2  # pyright: ignore[reportAttributeAccessIssue]


def test_json_needs_only_what_has_no_default() -> None:
    assert from_json({"problem": "gemm", "m": 1, "n": 2, "k": 3}) == Gemm(1, 2, 3)
    assert from_json(json.loads(json.dumps(RESNET.to_json()))) == RESNET


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"problem": "gemm", "m": 1, "n": 2}, "missing key 'k'"),
        ({"problem": "gemm", "m": 1, "n": 2, "k": 3, "batchs": 2}, "unknown key 'batchs'"),
        ({"problem": "gem"}, "unknown problem 'gem'"),
        ({"m": 1}, "missing key 'problem'"),
        ({"version": 2, "problem": "gemm"}, "unknown problem version 2"),
        ([], "a problem is a JSON object, got list"),
        ({"problem": "gemm", "m": 1, "n": 2, "k": "3"}, "k must be an integer, got '3'"),
        ({"problem": "gemm", "m": 1, "n": 2, "k": 3, "alpha": "x"}, "alpha must be a finite number, got 'x'"),
        ({"problem": "gemm", "m": 1, "n": 2, "k": 3, "dtype": 5}, "unknown element type '5'"),
    ],
)
def test_bad_json_says_why(value: object, message: str) -> None:
    with pytest.raises(Diagnostic, match=message):
        from_json(value)


@pytest.mark.parametrize("role", ["a", "b", "c"])
def test_strides_are_those_of_the_stored_array(role: GemmRole) -> None:
    gemm = Gemm(4, 5, 6, batch=3, transpose_a=True, lda=10, ldb=11, ldc=12, stride_a=0, stride_b=7)
    want = {"a": (0, 10, 1), "b": (7, 11, 1), "c": (48, 12, 1)}[role]
    assert gemm.strides(role) == want
    (operand,) = (o for o in gemm.operands if o.role == role)
    assert operand.strides == want
    assert operand.reach == {"a": 54, "b": 2 * 7 + 5 * 11 + 5, "c": 2 * 48 + 3 * 12 + 5}[role]


def test_strides_that_say_nothing_are_left_out() -> None:
    dense = Gemm(4, 5, 6, batch=3)
    assert Gemm(4, 5, 6, batch=3, lda=6, ldb=5, ldc=5, stride_a=24, stride_b=30, stride_c=20) == dense
    assert Gemm(4, 5, 6, lda=6, stride_a=7) == Gemm(4, 5, 6)
    assert Gemm(1, 5, 6, lda=99, ldc=100) == Gemm(1, 5, 6)
    assert Gemm(1, 5, 6, batch=2, lda=99).stride_a == 99
    assert all(o.strides is None for o in dense.operands)
    assert "lda" not in dense.to_json()


def test_the_rows_of_all_results_may_lie_in_turn() -> None:
    in_turn = Gemm(4, 5, 6, batch=3, ldc=15, stride_c=5)
    assert in_turn.strides("c") == (5, 15, 1)
    for ldc, stride_c in ((15, 4), (14, 5), (5, 19)):
        with pytest.raises(Diagnostic, match="overlap") as caught:
            Gemm(4, 5, 6, batch=3, ldc=ldc, stride_c=stride_c)
        assert caught.value.subject == "stride_c"
