"""Launch hints: one for each kernel that the passes make, by the machine's row and the plan alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.chip import CPU_ISAS, GPU_MACHINES, Machine
from imbrex.config import launch_hints as hints
from imbrex.config.configured import configured
from imbrex.config.launch_hints import LaunchHints, launch_hints
from imbrex.config.tiles import DATA_PARALLEL
from imbrex.config.tiles import parse as parse_schedule
from imbrex.config.xdlops.plan import XdlopsPlan
from imbrex.pipeline import Request, lower
from imbrex.problem import parse_problem
from imbrex.run.launch import Launch

AVX512 = replace(CPU_ISAS["avx512"], threads=8)
NHWC = "-f NHWC -I NHWC -O NHWC"
DEPTHWISE = "conv -n 2 -c 16 -H 9 -W 9 -k 16 -y 3 -x 3 -p 1 -q 1 -g 16"
STRIDED = "convfp16 -n 2 -c 24 -H 9 -W 9 -k 24 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2"


def _request(text: str, machine: Machine, target: str, algorithm: str | None = None) -> Request:
    (problem,) = parse_problem(text)
    return Request(problem, machine, target, algorithm=algorithm, name="k")


@pytest.mark.parametrize("direction", [1, 2, 4])
@pytest.mark.parametrize(
    ("text", "target", "algorithm"),
    [
        (DEPTHWISE, "cpu", None),
        (STRIDED, "cpu", None),
        (f"{DEPTHWISE} {NHWC}", "gfx942", "channel_vectors"),
        (STRIDED, "gfx942", "channels_last"),
    ],
)
def test_one_for_each_kernel(text: str, algorithm: str | None, target: str, direction: int) -> None:
    machine = AVX512 if target == "cpu" else GPU_MACHINES[target]
    request = _request(f"{text} -F {direction}", machine, target, algorithm)
    request = replace(request, schedule=None if target == "cpu" else DATA_PARALLEL)
    made = lower(request)
    sizes = [1000] * sum(isinstance(step, Launch) for step in made.steps)
    found = launch_hints(request, made.configuration, sizes)
    assert len(found) == len(sizes)
    assert all((one.most_threads is None) == (target == "gfx942") for one in found)


def test_only_products_keep_waves(monkeypatch: pytest.MonkeyPatch) -> None:
    def seven(_: XdlopsPlan) -> int:
        return 7

    monkeypatch.setattr(hints, "kept_waves", seven)
    request = _request(f"{STRIDED} -F 1", GPU_MACHINES["gfx942"], "gfx942", "channels_last")
    request = replace(request, schedule=DATA_PARALLEL)
    made = lower(request)
    found = launch_hints(request, made.configuration, [1] * len(made.steps))
    assert {LaunchHints(), LaunchHints(kept_waves=7)} == set(found)
    assert sum(one == LaunchHints(kept_waves=7) for one in found) == len(made.configuration.products)


def test_no_hint_is_this_hosts() -> None:
    """Of a host with other caches, or more threads, the same source."""
    text = "gemm -t f32 -m 640 -n 640 -k 64"
    request = _request(text, AVX512, "cpu")
    config = configured(request)
    other = replace(AVX512, l2_bytes=1 << 18, l3_bytes=1 << 20, threads=2)
    assert launch_hints(request, config, [40]) == launch_hints(replace(request, machine=other), config, [40])


def test_launches_that_a_gpu_runs_as_one_have_hints_apart() -> None:
    """Those of the first are of both."""
    request = _request("gemm -t f16 -m 64 -n 64 -k 4096", GPU_MACHINES["gfx942"], "gfx942")
    request = replace(request, schedule=parse_schedule("scatter_k:16"))
    made = lower(request)
    assert len(made.steps) == 1 and len(launch_hints(request, made.configuration, [16, 16])) == 2
