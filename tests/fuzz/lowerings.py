"""What is lowered: problems as users bring them, on every machine, by any of their configurations."""

from __future__ import annotations

import re

from hypothesis import strategies as st
from tests.fuzz.drawn import EPILOGUES, TYPES
from tests.fuzz.generator import Generator, expect_message

import imbrex
from imbrex.chip import CPU_ISAS, GPU_MACHINES
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.config.algorithm.table import ALGORITHMS
from imbrex.config.candidates import candidates
from imbrex.diagnostic import Diagnostic
from imbrex.pipeline import Request, lower, machine_for
from imbrex.problem import parse_problem
from imbrex.problem.miopen import MIOPEN_KINDS

MACHINES = (*sorted(CPU_ISAS), *sorted(GPU_MACHINES), "emulate")
SIZES = (1, 1, 2, 3, 5, 8, 16, 20)


def lowered(line: str, target: str, number: str) -> bool:
    """A configuration that is a candidate becomes source, of that configuration.

    number: the candidate's, or "" for what is chosen.
    """
    try:
        request = _request(line, target, number)
        if request.problem.run_time is not None or not number:
            lower(request)
            return True
        found = candidates(request).ranked
    except Diagnostic as error:
        return expect_message(error)
    chosen = found[int(number) % len(found)].configuration
    try:
        made = lower(request.by(chosen))
    except Diagnostic as error:
        raise AssertionError(f"{chosen} is a candidate, and then refused: {error}") from error
    assert made.configuration == chosen, f"{made.configuration} instead of {chosen}"
    return True


def _request(line: str, target: str, number: str) -> Request:
    """The problem, of algorithms that serve it the one that a large number points at."""
    where = machine_for("cpu", target, 2) if target in CPU_ISAS else machine_for(target, "", 1)
    request = Request(parse_problem(line)[0], where, "cpu" if target in CPU_ISAS else target)
    named = int(number or 0) // 1000
    if not named or request.problem.run_time is not None:
        return request
    served: list[str | None] = [None]
    for row in ALGORITHMS:
        for name in [f"{row.name}:{count}" for count in (1, 2, 4)] if row.is_counted else [row.name]:
            try:
                algorithm_of(Request(request.problem, where, request.target, algorithm=name))
            except Diagnostic:
                continue
            served.append(name)
    return Request(request.problem, where, request.target, algorithm=served[named % len(served)])


def emulated(line: str, target: str, number: str) -> bool:
    """A kernel of a GPU, by its instructions or lane by lane, is right on all values."""
    try:
        config = None
        if number:
            found = candidates(Request(parse_problem(line)[0], GPU_MACHINES[target], target)).ranked
            config = _walked(str(found[int(number) % len(found)].configuration), int(number) // 1000)
        how = True if target == "sm_90a" else "isa"
        done = imbrex.compile(line, target, emulate=how, config=config, untuned=config is None).check()
    except Diagnostic as error:
        assert "fail" not in error.message, error  # of the compiler
        return expect_message(error)
    assert done.is_right, str(done)
    return True


def _walked(config: str, number: int) -> str:
    """A configuration or, of one whose workgroups walk over tiles, the same of so few that each has several:
    problems are small, and what goes wrong between tiles is to show.
    """
    return re.sub(r"(@(?:stream_k|split_k|two_tile\w*)):\d+", rf"\1:{1 + number % 3}", config)


@st.composite
def convolutions(draw: st.DrawFn, most: int) -> str:
    """A MIOpenDriver line; sizes up to `most`, groups of few and of many channels."""
    groups, kind = draw(st.sampled_from([1, 1, 1, 2, 3, 8])), draw(st.sampled_from(sorted(MIOPEN_KINDS)))
    c, k = (groups * draw(st.sampled_from(SIZES)) for _ in "ck")
    y, x = draw(st.sampled_from([1, 1, 2, 3, 5])), draw(st.sampled_from([1, 1, 2, 3]))
    dilation = draw(st.sampled_from([1, 1, 2]))
    h, w = ((of - 1) * dilation + draw(st.integers(1, most)) for of in (y, x))
    strides = f"-u {draw(st.integers(1, 3))} -v {draw(st.sampled_from([1, 2, 4]))}"
    direction = draw(st.sampled_from([1, 2, 4]))
    line = f"{kind} -n {draw(st.sampled_from([1, 2, 5]))} -c {c} -H {h} -W {w} -k {k} -y {y} -x {x}"
    line += f" -p {draw(st.integers(0, 3))} -q {draw(st.sampled_from(['0', '1', '1,2']))} {strides}"
    line += f" -l {dilation} -j {dilation} -g {groups} -F {direction}"
    if draw(st.booleans()):
        line += " -f NHWC -I NHWC -O NHWC"
    return _finished(draw, line, direction == 1)


@st.composite
def products(draw: st.DrawFn, most: int) -> str:
    """A `gemm` line with gaps, batches, a run-time m."""
    sizes = st.integers(1, most) | st.sampled_from([1, 64, 128])
    m, n, k = draw(sizes), draw(sizes), draw(sizes)
    turned = draw(st.integers(0, 1)), draw(st.integers(0, 1))
    rows = m if draw(st.integers(0, 7)) else "?"
    line = f"gemm -t {draw(st.sampled_from(TYPES))} -m {rows} -n {n} -k {k}"
    line += f" -transA {turned[0]} -transB {turned[1]} -g {draw(st.sampled_from([1, 1, 3]))}"
    for flag, least in (("lda", (k, m)[turned[0]]), ("ldb", (n, k)[turned[1]]), ("ldc", n)):
        if draw(st.integers(0, 4)) == 0:
            line += f" -{flag} {least + draw(st.sampled_from([0, 1, 8]))}"
    return _finished(draw, line, True)


def _finished(draw: st.DrawFn, line: str, is_forward: bool) -> str:
    """The line, of those that may some with an epilogue."""
    if is_forward and draw(st.integers(0, 3)) == 0:
        line += f' --epilogue "{draw(st.sampled_from(EPILOGUES))}"'
    return line


NUMBERS = st.just("") | st.integers(0, 99_999).map(str)
LOWERED = Generator(
    "lowered",
    st.tuples(convolutions(20) | products(600), st.sampled_from(MACHINES), NUMBERS),
    lowered,
    10,
    is_quick=False,
    limit_s=240,
)
EMULATED = Generator(
    "emulated",
    st.tuples(convolutions(6) | products(24), st.sampled_from(["gfx942", "gfx950", "sm_90a"]), NUMBERS),
    emulated,
    5,
    is_quick=False,
    limit_s=240,
)
WALKED = Generator(
    "walked",
    st.tuples(products(400), st.just("sm_90a"), st.integers(0, 99_999).map(str)),
    emulated,
    5,
    is_quick=False,
    limit_s=240,
)
