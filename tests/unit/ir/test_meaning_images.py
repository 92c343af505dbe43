"""Convolutions of images by copies of a part, and by whole images: every level means the same."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from tests.pairs import in_turn, one_in
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from imbrex.ir.ops.grid import LaunchOp
from imbrex.ir.ops.memory import AllocOp, LdsBarrierOp
from imbrex.ir.ops.schedule import WithinOp
from imbrex.ir.ops.workspace import WorkspaceOp
from imbrex.ir.passes.affix_tuning import AffixTuning
from imbrex.ir.passes.arranged import ChannelsLast
from imbrex.ir.passes.conv_products import WholeImages
from imbrex.ir.passes.conv_to_gemm import ConvToGemm
from imbrex.ir.shape import LDS, shape_of, space_of
from imbrex.problem import Conv2d
from imbrex.problem.conv import Direction

from .levels import Case, assert_every_level_is_right

TUNING = "v1:warpgroup:64,32,32,2,1,1,1,cooperative,straight,1"


@dataclass(frozen=True)
class Copied(Case):
    """A case for sm_90a; its algorithm is a key of the channels-last pass, or one without copies."""

    @property
    def target(self) -> str:
        return "sm_90a"

    def passes(self) -> list[ModulePass]:
        affix = AffixTuning(config=self.tuning, target=self.target)
        first = [WholeImages(), ChannelsLast()]
        to_gemm = ConvToGemm(phases_apart=self.algorithm in ("interleaved", "channels_last"))
        changed: dict[type[ModulePass], ModulePass] = {AffixTuning: affix, ConvToGemm: to_gemm}
        return [*first, *(changed.get(type(p), p) for p in super().passes())]


def layer(direction: Direction, **changed: Any) -> Conv2d:
    sizes = {"n": 2, "c": 16, "h": 7, "w": 7, "k": 24, "y": 1, "x": 1, "dtype": "f16", **changed}
    return Conv2d(direction, **sizes)


CASES = [
    *(
        Copied(layer(direction, h=4, w=10), TUNING, f"whole_images:{count}")
        for direction, count in in_turn(("forward", "backward_data", "backward_weight"), (16, 32, 64))
    ),
    Copied(layer("backward_weight", c=32, k=48, h=2, w=12), TUNING, "whole_images:16"),
    Copied(layer("backward_weight", dtype="bf16", h=4, w=6), TUNING, "whole_images:32"),
    *(
        Copied(layer("backward_weight", y=3, x=3, pad_h=1, pad_w=1, stride=stride), TUNING, algorithm)
        for stride in (1, 2)
        for algorithm in ("input_last", "output_last")
    ),
    *(
        Copied(layer("backward_data", **{"k": 16, "y": 3, "x": 3, **sizes}), TUNING, algorithm)
        for algorithm, sizes in in_turn(
            ("interleaved", "channels_last"),
            (
                {"stride": 2, "pad_h": 1, "pad_w": 1, "h": 8, "w": 8},
                {"stride": 2, "pad_h": 1, "pad_w": 0},
                {"stride": (1, 2), "y": 1, "pad_w": (0, 1), "w": 6},
                {"stride": (3, 2), "y": 1, "x": 1, "h": 8, "w": 12},
                {"stride": 2, "y": 1, "x": 1},
                {"stride": (2, 4), "dilation": (2, 2), "x": 2, "h": 9, "w": 12},
            ),
        )
    ),
    *(
        Copied(layer(direction, stride=(2, 3), **pads), TUNING, algorithm)
        for pads, (direction, algorithm) in in_turn(
            ({}, {"pad_h": 1, "pad_w": (1, 2)}, {"x": 3}),
            (
                ("forward", "channels_last"),
                ("backward_weight", "channels_last"),
                ("backward_weight", "input_last"),
            ),
        )
    ),
    *(
        Copied(layer(direction, y=3, x=3, pad_h=1, pad_w=1, **sizes), TUNING, algorithm)
        for direction, (sizes, algorithm) in in_turn(
            ("forward", "backward_data", "backward_weight"),
            list(
                product(
                    ({}, {"c": 32, "k": 64, "h": 5, "w": 14}, {"groups": 2, "c": 32, "k": 32}),
                    ("channels_last", "all_last"),
                )
            ),
        )
    ),
]


@pytest.mark.parametrize("case", one_in(2, CASES), ids=str)
def test_every_level_computes_the_same(case: Copied) -> None:
    assert_every_level_is_right(case, left_out=("problem", "whole-images", "channels-last", "conv-to-gemm"))


def workspaces(module: ModuleOp) -> dict[str, tuple[int | None, ...]]:
    return {
        str(op.result.name_hint): tuple(shape_of(op.result))
        for op in module.walk()
        if isinstance(op, WorkspaceOp)
    }


def test_of_a_strided_input_only_what_is_read_is_copied() -> None:
    forward = Copied(layer("forward", stride=(2, 3)), TUNING, "channels_last").lowered("channels-last")
    assert workspaces(forward) == {"packed_input": (2, 4, 3, 16)}
    weight = Copied(layer("backward_weight", stride=(2, 3)), TUNING, "input_last").lowered("channels-last")
    assert workspaces(weight) == {"packed_input": (2, 4, 3, 16)}


def test_planes_that_begin_anywhere_go_through_shared_memory() -> None:
    """One launch: of two arrays each workgroup copies one, after a barrier of its own."""
    weight = layer("backward_weight", y=3, x=3, pad_h=1, pad_w=1)
    module = Copied(weight, TUNING, "channels_last").lowered("channels-last")
    (launch,) = (op for op in module.walk() if isinstance(op, LaunchOp))
    assert sum(isinstance(op, AllocOp) and space_of(op.result) == LDS for op in launch.walk()) == 1
    parts = [(op.first.data, op.count.data) for op in launch.walk() if isinstance(op, WithinOp)]
    assert len(parts) == 2 and parts[1] == (parts[0][1], launch.grid_size.data - parts[0][1])
    assert sum(isinstance(op, LdsBarrierOp) for op in launch.walk()) == 3


def test_results_are_turned_back_where_their_planes_begin_anywhere() -> None:
    narrow = Copied(layer("forward", y=3, x=3, pad_h=1, pad_w=1), TUNING, "all_last")
    assert workspaces(narrow.lowered("channels-last")) == {
        "packed_filter": (24, 3, 3, 16),
        "packed_input": (2, 7, 7, 16),
        "packed_output": (2, 7, 7, 24),
    }
    weight = Copied(layer("backward_weight", y=3, x=3, pad_h=1, pad_w=1), TUNING, "all_last")
    assert workspaces(weight.lowered("channels-last"))["packed_filter"] == (24, 3, 3, 16)


def test_control_few_channels_of_planes_of_whole_16_bytes_stay_in_registers() -> None:
    weight = layer("backward_weight", h=8, w=8, y=3, x=3, pad_h=1, pad_w=1)
    module = Copied(weight, TUNING, "channels_last").lowered("channels-last")
    assert not any(isinstance(op, LdsBarrierOp | WithinOp) for op in module.walk())


def test_control_windows_that_overlap_read_all() -> None:
    wide = layer("forward", y=3, x=3, stride=2)
    found = workspaces(Copied(wide, TUNING, "channels_last").lowered("channels-last"))
    assert found["packed_input"] == (2, 7, 7, 16)
