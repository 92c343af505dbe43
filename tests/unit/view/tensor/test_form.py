"""Forms as JSON, limits that no other test meets, and what a check sees."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from imbrex.dtype import F16
from imbrex.index.expr import lin, var
from imbrex.view.conv import implicit_gemm
from imbrex.view.gemm.product import plain
from imbrex.view.stage.shared_tile import SharedTile
from imbrex.view.tensor import Box, TensorMap, Walk, access
from imbrex.view.tensor.check import differs
from imbrex.view.tensor.limit import beyond_limits
from imbrex.view.tensor.tiling import Tiling

from .operands import convolution

TILE = SharedTile(64, 64, 2, "k", 128)
MAP = plain(128, 8, 128).a


def box() -> Box:
    found = access(MAP, TILE, F16)
    assert isinstance(found, Box)
    return found


def walk() -> Walk:
    shape = convolution("nhwc", 2, 64, 9, 9, 8, 3, 3, padding=((1, 1), (1, 1)))
    found = access(implicit_gemm.forward(shape).b, TILE, F16)
    assert isinstance(found, Walk)
    return found


@pytest.mark.parametrize("form", [box(), walk()], ids=["box", "walk"])
def test_json_there_and_back(form: Box | Walk) -> None:
    made = TensorMap.of(form, "f16", 1)
    assert made.form == replace(form, pieces=())
    assert TensorMap.from_json(json.loads(json.dumps(made.to_json()))) == made


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        (replace(box(), base=4), "the first element is 8 bytes into the array, not a multiple of 16"),
        (replace(box(), sizes=(128, 1 << 33)), "an axis of 8589934592 has more than 2^31 elements"),
        (replace(box(), sizes=(4000000000, 64)), "an axis of 4000000000 has more than 2^31 elements"),
        (replace(box(), strides=(1 << 40,)), "an axis of 128, 2199023255552 bytes apart, is too long"),
        (replace(box(), box=(4, 64)), "8 bytes are not a row of the swizzle, 128 bytes"),
        (replace(box(), steps=(1, 9)), "a stride of 9 elements is more than 8"),
        (replace(box(), sizes=(1,) * 6, strides=(8,) * 5), "a box of 6 dims has more than 5"),
        (
            replace(walk(), channels=64, pixels=2048),
            "64 channels of 2048 pixels are more than TMA walks over",
        ),
        (replace(walk(), upper=(-1, 128)), "a window that begins or ends 128 pixels from the image's edge"),
        (
            replace(walk(), pieces=(replace(walk().pieces[0], offsets=(lin(0), var("step", 257))),)),
            "a tap 256 pixels from the window's first one is not within 255",
        ),
        (
            replace(walk(), pieces=(replace(walk().pieces[0], offsets=(lin(0), var("step", 3) - 1)),)),
            "a tap 1 pixels from the window's first one is not within 255",
        ),
    ],
)
def test_limits(form: Box | Walk, reason: str) -> None:
    said = beyond_limits(form, 2)
    assert said is not None and said.startswith(reason), said


def test_what_is_within_the_limits() -> None:
    assert beyond_limits(box(), 2) is None and beyond_limits(walk(), 2) is None


@pytest.mark.parametrize("wrong", [{"strides": (64,)}, {"sizes": (96, 128)}, {"base": 8}])
def test_a_check_sees_another_element(wrong: dict[str, object]) -> None:
    tiling = Tiling(MAP, TILE, 1, "gemmK", "gemmM", 2, TILE.d)
    runs = tiling.runs
    assert isinstance(runs, tuple)
    assert differs(box(), MAP, runs, tiling.variables, None) is None
    said = differs(replace(box(), **wrong), MAP, runs, tiling.variables, None)  # type: ignore[arg-type]
    assert said is not None and said.endswith("is not the operand's element")
