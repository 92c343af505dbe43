"""What is printed of a kernel makes the same kernel again: problems of all benchmark sets, every target."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle, product
from pathlib import Path

import pytest
from tests.pairs import one_in

from imbrex.bench.gpu.sets import SETS, chosen
from imbrex.cli.source import read_problems
from imbrex.config import tuning as tunings
from imbrex.config.algorithm.matrices import direct_products
from imbrex.config.algorithm.task import gemm_task_of
from imbrex.config.configuration import parse, text
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.tiles import wanted
from imbrex.config.tuning import Tuning
from imbrex.diagnostic import Diagnostic
from imbrex.pipeline import Request, calibrated, configuration_of, lower, machine_for
from imbrex.problem import Gemm, Problem, parse_problem, problem_text

TARGETS = ("cpu", "emulate", "gfx908", "gfx90a", "gfx942", "gfx950", "sm_90a", "emulate_sm_90a")
CHIPS = {"emulate_sm_90a": "sm_90a"}
SAMPLED_ON = (
    *("cpu", "gfx942", "sm_90a", "gfx950", "emulate_sm_90a", "gfx90a"),
    *("cpu", "emulate", "sm_90a", "gfx908", "emulate_sm_90a", "gfx942"),
)
"""Targets of the least problem of each fourth set, in turn; with IMBREX_TESTS=all every problem is on every
target, and those of the benchmarks of CPUs, in several types, on the CPU."""
LAYERS = Path(__file__).parents[2] / "benchmarks" / "data" / "resnet50.txt"
SQUARES = (256, 512, 1024, 2048)
OF_HOSTS = (
    *(f"gemm -m {size} -n {size} -k {size} -g 2" for size in (36, 40, 44, 48)),
    "conv -n 4 -c 256 -H 14 -W 14 -k 256 -y 3 -x 3 -p 1 -q 1 -F 1",
    "gemm -t bf16 -m 1024 -n 1024 -k 1024 -transA 1",
    "gemm -m 4099 -n 9 -k 4104",
)
FURTHER = (
    ("gemm -t f16 -m ?1..300 -n 512 -k 512", "sm_90a"),
    ("gemm -t bf16 -m ? -n 96 -k 64 -transB 1", "cpu"),
    ("convfp16 -n ?1..16 -c 64 -H 14 -W 14 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1 --in_layout NHWC", "sm_90a"),
    ("conv -n ?1..16 -c 64 -H 14 -W 14 -k 64 -y 3 -x 3 -p 1 -q 1 -F 2", "cpu"),
    ("conv -n 8 -c 32 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -F 2", "gfx950"),
    ("convfp16 -n 8 -c 64 -H 28 -W 28 -k 64 -y 1 -x 1 -u 2 -v 2 -F 2 --in_layout NHWC", "sm_90a"),
    ("convbfp16 -n 8 -c 256 -H 14 -W 14 -k 256 -y 3 -x 3 -p 1 -q 1 -g 32 -F 4", "sm_90a"),
    ("convfp16 -n 8 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 2 -q 2 -l 2 -j 2 -F 2", "gfx942"),
    ("convfp16 -n 128 -c 512 -H 28 -W 28 -k 128 -y 1 -x 1 -F 1", "gfx950"),
    ("convfp16 -n 1 -c 64 -H 64 -W 64 -k 96 -y 3 -x 3 -p 1 -q 1 -F 2 --in_layout NHWC", "gfx950"),
    ("gemm -t f64 -m 300 -n 200 -k 100 -g 3", "gfx90a"),
    ("gemm -t mxf6e2m3fn -m 256 -n 256 -k 256 -transB 1", "gfx950"),
    ("gemm -t f16 -m 33 -n 17 -k 50000", "sm_90a"),
)
"""Of what the sets lack: run-time sizes, gradients of several products, dilations, types, long sums; and two
of theirs, whose tiles end inside an image, and whose taps go back in LDS."""
FINISHED = (("gelu(pre_activation(x + bias))", "sm_90a"), ("relu(x * 2 + bias)", "gfx908"))
PADDED = "convfp16 -n 16 -c {c} -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 --in_layout NHWC -F 4"
"""Whose channels a given tuning counted up: 67 to 128, 160 to 192."""


def request(problem: Problem, target: str, **asked: object) -> Request:
    machine = machine_for(CHIPS.get(target, target), "avx512", threads=4)
    return Request(problem, machine, target, **asked)  # pyright: ignore[reportArgumentType]


def problems() -> list[Problem]:
    return list({problem_text(entry.problem): entry.problem for entry in chosen()}.values())


def of_cpus() -> Iterator[Problem]:
    """What `benchmarks/gemm.py` and `benchmarks/resnet50.py` time."""
    for dtype, size, a, b in product(("f32", "f16", "bf16", "i8"), SQUARES, (False, True), (False, True)):
        if not (a and b):
            yield Gemm(size, size, size, transpose_a=a, transpose_b=b, dtype=dtype)
    lines = [line for line in LAYERS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    kinds = (("conv", (1, 2, 4)), ("convbfp16", (1, 2, 4)), ("convint8", (1,)))
    for (word, directions), layout in product(kinds, ("NCHW", "NHWC")):
        words = [word + line.removeprefix("conv") for line in lines]
        for line, direction in product(words, directions):
            (entry,) = read_problems([line.replace("-F 1", f"-F {direction}")], layout)
            yield entry.problem


def further() -> Iterator[tuple[Problem, str]]:
    yield from ((problem, target) for line, target in FURTHER for problem in parse_problem(line))
    for epilogue, target in FINISHED:
        yield Gemm(300, 200, 128, dtype="f16", epilogue=epilogue), target


def cases() -> Iterator[tuple[Problem, str]]:
    if os.environ.get("IMBREX_TESTS") == "all":
        every = [*problems(), *(problem for problem, _ in further())]
        yield from ((problem, target) for problem in every for target in TARGETS)
        yield from ((problem, "cpu") for problem in of_cpus())
    else:
        yield from zip(map(least_of, one_in(4, list(SETS))), cycle(SAMPLED_ON))
        yield from further()


def least_of(name: str) -> Problem:
    """The problem of a set with the fewest operations."""
    return min((entry.problem for entry in chosen([name])), key=lambda problem: problem.flops)


def named(value: Problem | str) -> str:
    return value if isinstance(value, str) else problem_text(value)


@pytest.mark.parametrize(("problem", "target"), list(cases()), ids=named)
def test_a_printed_configuration_makes_the_same_source(problem: Problem, target: str) -> None:
    try:
        first = lower(request(problem, target))
    except Diagnostic:
        pytest.skip(f"nothing serves it on {target}")
    again = lower(request(problem, target, config=parse(text(first.configuration))))
    assert again.bundle.files == first.bundle.files
    assert (again.steps, again.configuration) == (first.steps, first.configuration)
    assert str(first.configuration) in first.bundle.files[first.bundle.units[0]].replace("\n// ", "")


def test_a_host_runs_halves_whatever_its_model_is_calibrated_to() -> None:
    """Its kernels are compiled so, and the model must weigh what they do."""
    halves, whole = (machine_for("cpu", "avx512", 1, fma_per_cycle=rate) for rate in (1.0, 2.0))
    assert (halves.runs_halves, whole.runs_halves) == (True, False)  # type: ignore[union-attr]
    assert calibrated(halves, (("fma_per_cycle", 1.7),)).runs_halves  # type: ignore[union-attr]
    assert not calibrated(whole, (("fma_per_cycle", 1.2),)).runs_halves  # type: ignore[union-attr]
    assert not machine_for("cpu", "avx2", 1, fma_per_cycle=1.0).runs_halves  # type: ignore[union-attr]


@pytest.mark.parametrize("line", OF_HOSTS)
def test_a_configuration_of_one_host_makes_the_same_source_on_another_of_its_level(line: str) -> None:
    """The text holds no sizes of caches, so they decide neither the source nor what is legal."""
    (problem,) = parse_problem(line)
    small = machine_for("cpu", "avx512", 4, 256 << 10, 1 << 20, 1.0)
    large = machine_for("cpu", "avx512", 1, 2 << 20, 480 << 20, 2.0)
    for here, there in ((small, large), (large, small)):
        first = lower(Request(problem, here))
        given = parse(text(first.configuration))
        assert lower(Request(problem, there, config=given)).bundle.files == first.bundle.files


def test_a_host_of_large_caches_picks_what_one_of_small_caches_would_not() -> None:
    """So that the law above has something to hold for."""
    (problem,) = parse_problem(OF_HOSTS[-1])
    assert isinstance(problem, Gemm)
    (only,) = direct_products(gemm_task_of(problem)).products
    for l3_bytes in (1 << 20, 480 << 20):
        machine = machine_for("cpu", "avx512", 1, 1 << 20, l3_bytes)
        (chosen,) = configuration_of(Request(problem, machine)).products
        assert isinstance(chosen.tuning, CpuTuning)
        is_small = chosen.tuning.plan(only.context).workspace_bytes <= 2 << 20
        assert is_small == (l3_bytes == 1 << 20)


@pytest.mark.parametrize("channels", [67, 160])
def test_what_a_configuration_consists_of_makes_the_same_source_as_options(channels: int) -> None:
    (problem,) = parse_problem(PADDED.format(c=channels))
    first = lower(request(problem, "sm_90a"))
    (product,), algorithm = first.configuration.products, first.configuration.algorithm
    asked = {"tuning": product.tuning, "algorithm": algorithm, "schedule": product.schedule}
    assert lower(request(problem, "sm_90a", **asked)).bundle.files == first.bundle.files


def test_channels_of_a_sum_are_counted_up_to_a_given_step() -> None:
    """A step of K stays at one tap, of the model's channels where these are whole steps."""
    (problem,) = parse_problem(PADDED.format(c=160).replace("-F 4", "-F 1"))
    asked = {"algorithm": "v4r4", "schedule": wanted("data_parallel")}
    of = {
        k: lower(request(problem, "sm_90a", tuning=tuning(k), **asked)).configuration.channels
        for k in (32, 64, 128)
    }
    assert of == {32: 32, 64: 64, 128: 128}


def tuning(depth: int) -> Tuning:
    return tunings.parse(f"v1:warpgroup:64,64,{depth},2,1,1,1,cooperative,straight,1")


GENERAL = "v1:general:64,32,32,16,2,2@data_parallel"
CPU = "v1:cpu:14,32,28,64,64,16,k_major,a,straight@data_parallel"
WAVES = "v1:xdlops:64,64,4,32,32,4@data_parallel"
WARPGROUPS = "v1:warpgroup:64,64,64,2,1,1,1,cooperative,straight,1"
HALF = "gemm -t f16 -m 256 -n 256 -k 256"
STRIDED = PADDED.format(c=64).replace("-F 4", "-F 2 -u 2 -v 2")
DEPTHWISE = "convfp16 -n 8 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -g 64 -F 1"
REFUSED = (
    ("cpu", HALF, f"v2:direct+product={WAVES}", "an xdlops tuning does not run on avx512"),
    ("gfx942", HALF, f"v2:direct+product={CPU}", "a cpu tuning does not run on gfx942"),
    ("gfx942", HALF, f"v2:v4r4+product={WAVES}", "algorithm"),
    ("gfx942", HALF, "v2:direct", "there are 1 products, and tunings for 0"),
    ("gfx942", HALF, f"v2:direct+product:2={WAVES}", "there are 1 products, and tunings for 2"),
    ("gfx942", HALF, f"v2:direct+flags=none+product={WAVES}", "have no flags of their own"),
    ("gfx942", HALF, f"v2:direct+product={WAVES},early", "'early' is of products of warpgroups, on sm_90a"),
    ("gfx942", HALF, f"v2:direct+taps_first+product={WAVES}", "'direct' has no order of taps and channels"),
    ("gfx942", PADDED.format(c=64), f"v2:v4r4+channels=64+product={WAVES}", "channels are counted up for"),
    ("gfx942", HALF, f"v2:direct+product={WAVES.replace('64,64,4', '63,64,4')}", "is illegal: "),
    ("gfx942", HALF, f"v2:aligned+product={WAVES}", "'aligned' is for warpgroups, and gfx942 has none"),
    ("gfx942", PADDED.format(c=64), f"v2:halo:2+product={WAVES}", "algorithm 'halo:2'"),
    ("sm_90a", HALF, f"v2:direct+product={WARPGROUPS}@data_parallel/wgm=2", "an order of tiles of its own"),
    ("sm_90a", HALF, f"v2:direct+product={WARPGROUPS}@split_k:4000", "run at a time"),
    ("sm_90a", HALF, f"v2:direct+in_place+product={GENERAL}", "'in_place' is of backward weight by halo"),
    ("gfx950", HALF, f"v2:direct+images_last+product={GENERAL}", "'images_last' is of backward weight by"),
    ("sm_90a", HALF, f"v2:direct+product={GENERAL},early", "'early' is of products of warpgroups"),
    ("sm_90a", HALF, f"v2:direct+strips=1,2,3,4,5+product={GENERAL}", "'direct' has no strips"),
    (
        "sm_90a",
        STRIDED,
        f"v2:v4r1+product={WARPGROUPS}@data_parallel",
        "there are 4 products, and tunings for 1",
    ),
    ("sm_90a", DEPTHWISE, "v2:channel_vectors", "'channel_vectors' has strips, and none are given"),
    ("sm_90a", DEPTHWISE, "v2:channel_vectors+strips=3,5,7,1,32", "strips 3/5/7/1/32 are none of "),
    ("sm_90a", DEPTHWISE, f"v2:channel_vectors+product={GENERAL}", "'channel_vectors' has no products"),
)


@pytest.mark.parametrize(("target", "line", "config", "reason"), REFUSED)
def test_a_configuration_that_does_not_fit_is_refused(
    target: str, line: str, config: str, reason: str
) -> None:
    (problem,) = parse_problem(line)
    with pytest.raises(Diagnostic) as error:
        lower(request(problem, target, config=parse(config)))
    assert reason in error.value.message


def test_flags_may_be_left_out() -> None:
    (problem,) = parse_problem("gemm -m 512 -n 512 -k 512")
    first = lower(request(problem, "sm_90a")).configuration
    plain = lower(request(problem, "sm_90a", config=replace(first, has_flags=False)))
    assert "compiler flags" not in plain.bundle.files[plain.bundle.units[1]]
    assert plain.configuration == replace(first, has_flags=False)
