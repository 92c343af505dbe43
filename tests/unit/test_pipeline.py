"""From a problem to statements for Hopper: what is chosen before a tuning is, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from imbrex.chip import CPU_ISAS, GPU_MACHINES, Machine
from imbrex.config import tuning as tunings
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.config.configured import schedule_of
from imbrex.config.tiles import AUTO, DATA_PARALLEL, TileSchedule
from imbrex.diagnostic import Diagnostic
from imbrex.lower.build import program
from imbrex.pipeline import Request, levels, lower
from imbrex.problem import Conv2d, Gemm, parse_problem
from imbrex.problem.conv import Direction
from imbrex.problem.epilogue import parse
from imbrex.view.tensor import Walk

HOPPER, MI300 = GPU_MACHINES["sm_90a"], GPU_MACHINES["gfx942"]
LAYOUTS = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
SIZES: dict[str, Any] = {"n": 2, "h": 8, "w": 9, "y": 3, "x": 3, "pad_h": (1, 1), "pad_w": (1, 1)}
TUNING = tunings.parse("v1:warpgroup:64,64,64,4,1,1,1,cooperative,swapped,1")


@pytest.mark.parametrize(
    "machine", [GPU_MACHINES["gfx950"], GPU_MACHINES["gfx90a"], CPU_ISAS["avx512"]], ids=str
)
def test_tf32_is_for_machines_that_have_it(machine: Machine) -> None:
    with pytest.raises(
        Diagnostic, match=f"{machine.name} has no matrix instruction that multiplies tf32"
    ) as e:
        algorithm_of(Request(Gemm(64, 64, 64, dtype="tf32"), machine, machine.name))
    assert e.value.hint is not None and "f32" in e.value.hint


@pytest.mark.parametrize("machine", [HOPPER, MI300], ids=lambda m: m.name)
def test_tf32_is_served(machine: Machine) -> None:
    *_, last = levels(Request(Gemm(64, 64, 64, dtype="tf32"), machine, machine.name))
    assert last.name == "blockwise-to-threadwise"


def test_the_model_chooses_schedules_on_gpus_that_it_knows() -> None:
    half, whole = Gemm(64, 64, 64, dtype="f16"), Gemm(64, 64, 64)
    assert schedule_of(Request(half, HOPPER, "sm_90a")) == AUTO
    assert schedule_of(Request(whole, HOPPER, "sm_90a")) == AUTO
    assert schedule_of(Request(half, HOPPER, "sm_90a", TUNING)) == DATA_PARALLEL
    assert schedule_of(Request(half, MI300, "gfx942")) == AUTO, "it has a model of waves, too"
    asked = TileSchedule("split_k", 3)
    assert schedule_of(Request(half, HOPPER, "sm_90a", schedule=asked)) == asked


@pytest.mark.parametrize(("channels", "steps"), [(64, 9), (96, 18), (40, 9)])
def test_channels_are_counted_up_so_that_a_step_stays_at_one_tap(channels: int, steps: int) -> None:
    problem = Conv2d("forward", c=channels, k=64, dtype="f16", **SIZES, **LAYOUTS)
    *_, last = levels(Request(problem, HOPPER, "sm_90a", TUNING))
    (kernel,) = program(last.module, frozenset({2}), HOPPER).kernels
    assert kernel.pipeline is not None and isinstance(kernel.pipeline.a.access, Walk)
    assert kernel.pipeline.tiles.steps == steps


@pytest.mark.parametrize(
    ("channels", "memory"), [(19, 32), (131, 160), (48, 48), (80, 96), (24, 24), (64, 64), (96, 96)]
)
@pytest.mark.parametrize("direction", ["forward", "backward_data"])
def test_pixels_of_copies_begin_whole_steps_apart(direction: Direction, channels: int, memory: int) -> None:
    """Where their channels are rounded up, or are whole sectors."""
    sizes = {"c": channels, "k": 64} if direction == "forward" else {"c": 64, "k": channels}
    problem = Conv2d(direction, dtype="f16", **SIZES, **sizes)
    *_, last = levels(Request(problem, HOPPER, "sm_90a", algorithm="channels_last"))
    (product,) = [k for k in program(last.module, frozenset({2}), HOPPER).kernels if k.pipeline is not None]
    assert product.pipeline is not None
    walks = [x.access for x in (product.pipeline.a, product.pipeline.b) if isinstance(x.access, Walk)]
    assert [walk.strides[0] for walk in walks] == [memory]
    assert [walk.sizes[0] for walk in walks] == [memory if channels % 8 else channels]


def test_channels_that_tensor_maps_do_not_serve_stay_as_they_are() -> None:
    problem = Conv2d("forward", c=3, k=64, dtype="f16", **SIZES, **LAYOUTS)
    *_, last = levels(Request(problem, HOPPER, "sm_90a"))
    (kernel,) = program(last.module, frozenset({2}), HOPPER).kernels
    assert kernel.pipeline is not None
    assert kernel.pipeline.tiles.steps * kernel.pipeline.multiply.depth < 2 * 27 + 64


@pytest.mark.parametrize(
    ("kernel", "channels", "layouts", "algorithm"),
    [
        (3, 128, {}, "channels_last"),
        (3, 128, LAYOUTS, "v4r4"),
        (1, 64, {}, "v4r4"),
        (7, 3, {}, "window_rows"),
        (7, 3, LAYOUTS, "window_rows"),
        (7, 8, {}, "window_rows"),
        (7, 8, LAYOUTS, "window_rows"),
        (3, 32, LAYOUTS, "v4r4"),
    ],
)
def test_copies_are_made_where_the_model_of_warpgroups_gains(
    kernel: int, channels: int, layouts: dict[str, str], algorithm: str
) -> None:
    pad = (kernel // 2, kernel // 2)
    sizes: dict[str, Any] = {"n": 64, "h": 56, "w": 56, "y": kernel, "x": kernel, "pad_h": pad, "pad_w": pad}
    problem = Conv2d("forward", c=channels, k=128, dtype="f16", **sizes, **layouts)
    assert algorithm_of(Request(problem, HOPPER, "sm_90a")) == algorithm


@pytest.mark.parametrize("layouts", [{}, LAYOUTS])
@pytest.mark.parametrize(
    ("direction", "groups", "algorithm"),
    [
        ("forward", 32, "halo:"),
        ("backward_data", 32, "halo:"),
        ("backward_weight", 32, "halo:"),
        ("forward", 256, "channel_vectors"),
        ("backward_data", 256, "channel_vectors"),
        ("backward_weight", 256, "channel_vectors"),
    ],
)
def test_groups_of_few_channels_are_computed_together(
    direction: Direction, groups: int, algorithm: str, layouts: dict[str, str]
) -> None:
    problem = Conv2d(
        direction, 64, 256, 28, 28, 256, 3, 3, pad_h=1, pad_w=1, groups=groups, dtype="f16", **layouts
    )
    chosen = algorithm_of(Request(problem, HOPPER, "sm_90a"))
    assert chosen is not None and chosen.startswith(algorithm)


def test_an_epilogue_reaches_the_store_of_warpgroups() -> None:
    *_, last = levels(Request(Gemm(64, 64, 64, dtype="f16", epilogue="relu(x)"), HOPPER, "sm_90a", TUNING))
    (kernel,) = program(last.module, frozenset({2}), HOPPER).kernels
    assert kernel.pipeline is not None and kernel.pipeline.c.finish is not None
    assert kernel.pipeline.c.finish.expression == parse("relu(x)").expression


@pytest.mark.parametrize(
    "line",
    [
        "convfp16 -n 1 -c 3 -H 8 -W 16 -k 24 -y 1 -x 1 -p 1 -q 0 -u 1 -v 2 -l 1 -j 1 -g 3 -F 2",
        "conv -n 5 -c 2 -H 14 -W 6 -k 16 -y 1 -x 1 -p 0 -q 2 -u 3 -v 1 -l 1 -j 1 -g 2 -F 2",
    ],
)
def test_filters_of_one_channel_a_group_are_copied_directly(line: str) -> None:
    (problem,) = parse_problem(f"{line} -f NHWC -I NHWC -O NHWC")
    assert "direct" in str(lower(Request(problem, GPU_MACHINES["gfx950"], "gfx950")).configuration)
