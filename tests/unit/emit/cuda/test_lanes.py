"""The text of depthwise kernels: a loop over turns that stays one, addresses whose constants stand apart."""

from __future__ import annotations

import re
from typing import Any

import pytest

from imbrex.chip import GPU_MACHINES
from imbrex.dtype import F32
from imbrex.emit.cuda.dialect import CudaDialect, apart
from imbrex.index.expr import lin, var
from imbrex.lower.stmt import Buffer, For, Kernel, Move, Ref
from imbrex.pipeline import Request, lower
from imbrex.problem import Conv2d
from imbrex.problem.conv import Direction

LAYOUTS: dict[str, Any] = {
    "filter_layout": ("k", "y", "x", "c"),
    "input_layout": ("n", "hi", "wi", "c"),
    "output_layout": ("n", "ho", "wo", "k"),
}


def text(direction: Direction, n: int = 64, dtype: str = "f16", nhwc: bool = True) -> str:
    layouts: dict[str, Any] = LAYOUTS if nhwc else {}
    problem = Conv2d(direction, n, 64, 28, 28, 64, 3, 3, pad_h=1, pad_w=1, groups=64, dtype=dtype, **layouts)
    request = Request(problem, GPU_MACHINES["sm_90a"], "sm_90a", algorithm="channel_vectors", name="k")
    return lower(request).bundle.files["k.hpp"]


def test_turns_are_a_loop_and_all_else_is_written_out() -> None:
    lines = text("backward_weight").splitlines()
    loops = [
        (lines[i - 1].strip(), line.strip())
        for i, line in enumerate(lines)
        if line.strip().startswith("for ")
    ]
    rolled = [loop for pragma, loop in loops if pragma == "#pragma unroll 1"]
    assert len(rolled) == 1 and rolled[0].startswith("for (int32_t turn = 0; turn < ")
    assert all(pragma == "#pragma unroll" for pragma, loop in loops if loop not in rolled)


@pytest.mark.parametrize("direction", ["forward", "backward_data", "backward_weight"])
@pytest.mark.parametrize("nhwc", [False, True])
def test_vectors_are_as_wide_as_memory_allows(direction: Direction, nhwc: bool) -> None:
    widths = {int(w) for w in re.findall(r"imbrex::load<(\d+)>\(thread_window", text(direction, nhwc=nhwc))}
    assert max(widths) == 4


def test_no_filter_is_packed_and_no_array_is_copied() -> None:
    assert "workspace" not in text("forward") and len(re.findall("IMBREX_INLINE void", text("forward"))) == 1


def test_constants_stand_apart_from_what_a_lane_knows() -> None:
    lane, row = var("i3", 9), var("row", 4)
    assert apart(128 * lane + 64 * row - 7, frozenset(("row",))) == "int64_t(128 * i3) + (64 * row - 7)"
    assert apart(128 * lane + 64 * row - 7, frozenset()) == ""
    assert apart(64 * row - 7, frozenset(("row",))) == "" == apart(128 * lane, frozenset(("row",)))


def test_only_loops_that_stay_have_constants_inside() -> None:
    far = Buffer("memory", F32, 100, "global")
    near = Buffer("registers", F32, 1, "private")
    move = Move(Ref(near, lin(0)), Ref(far, 8 * var("turn", 4) + var("row", 4) + 1))
    for rolled, wanted in (
        (True, "memory + (int64_t(8 * turn) + (row + 1)), true"),
        (False, "memory + (8 * turn + row + 1), true"),
    ):
        body = (For("turn", 4, (For("row", 4, (move,)),), rolled=rolled),)
        words = CudaDialect(Kernel("k", (far,), frozenset(), 1, 1, body))
        assert words.global_arguments(move.source) == wanted
