"""Launches that follow each other: who is launched early, who lets the next one begin, and who waits."""

from __future__ import annotations

import re
from dataclasses import replace

from imbrex.pipeline import Lowered, Request, lower
from imbrex.problem import parse_problem
from imbrex.problem.epilogue import parse
from imbrex.run.launch import Launch
from imbrex.schedule.target import GPU_TARGETS
from imbrex.schedule.tiles import parse as parse_schedule


def made(text: str, algorithm: str | None = None, epilogue: str | None = None) -> Lowered:
    (problem,) = parse_problem(text)
    if epilogue is not None:
        problem = replace(problem, epilogue=parse(epilogue))
    return lower(Request(problem, GPU_TARGETS["sm_90a"], "sm_90a", algorithm=algorithm))


def early(text: str, algorithm: str | None = None, epilogue: str | None = None) -> list[bool]:
    steps = made(text, algorithm, epilogue).steps
    return [step.is_early for step in steps if isinstance(step, Launch)]


def test_a_product_of_copies_begins_before_they_have_ended() -> None:
    """The copies come after whatever was there."""
    assert early("gemm -t f16 -m 519 -n 517 -k 515") == [False, True]
    assert early("gemm -t f16 -m 4099 -n 4097 -k 4095") == [False, True]


def test_a_short_product_begins_before_what_is_ahead_of_it_has_ended() -> None:
    assert early("gemm -t f16 -m 512 -n 512 -k 512") == [True]
    assert early("gemm -t f16 -m 512 -n 512 -k 512 -transB 1", epilogue="relu(x)") == [True]
    assert early("gemm -t f16 -m 8192 -n 8192 -k 8192") == [False], "multiplies for long"
    assert early("gemm -t f16 -m 16 -n 16384 -k 16384") == [False], "reads for long"


def test_workgroups_that_wait_for_each_other_come_after_what_is_ahead() -> None:
    (problem,) = parse_problem("gemm -t f16 -m 256 -n 256 -k 8192 -transB 1")
    for schedule, found in (("split_k", False), ("stream_k", False), ("cluster_k:4", True)):
        request = Request(problem, GPU_TARGETS["sm_90a"], "sm_90a", schedule=parse_schedule(schedule))
        (step,) = lower(request).steps
        assert isinstance(step, Launch) and step.is_early == found


def test_what_loads_by_itself_does_not() -> None:
    """Such loads are not coherent with what the kernel ahead still writes."""
    assert early("gemm -t f16 -m 519 -n 517 -k 515", "direct") == [False]
    assert early("gemm -t f32 -m 64 -n 64 -k 64") == [False]
    assert early("gemm -t f16 -m 512 -n 512 -k 512", epilogue="relu(x + bias)") == [False]


def bodies(lowered: Lowered) -> dict[str, str]:
    """The text of each kernel's function, by its name."""
    text = lowered.bundle.files[lowered.bundle.units[2]]
    parts = re.split(r"IMBREX_INLINE void (\w+_\d+)\(", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_copies_let_the_product_begin() -> None:
    found = made("gemm -t f16 -m 519 -n 517 -k 515")
    copy, product = (step.kernel for step in found.steps if isinstance(step, Launch))
    text = bodies(found)
    statements = [line.strip() for line in text[copy].splitlines()]
    assert "imbrex::let_next_start();" in statements and "imbrex::run(" in text[product]
    assert statements.index("imbrex::let_next_start();") < min(
        i for i, line in enumerate(statements) if "load<" in line
    )


def test_what_nobody_waits_for_says_nothing() -> None:
    assert "let_next_start" not in str(bodies(made("gemm -t f32 -m 519 -n 517 -k 515")))


def test_a_product_waits_before_it_reads() -> None:
    """What stands before the wait touches barriers and tensor maps only."""
    header = made("gemm -t f16 -m 512 -n 512 -k 512").bundle.files["device/cuda/warpgroup_gemm.h"]
    run = header[header.index("void run(const P &p)") :]
    before, after = run.split("wait_for_earlier();")
    assert not re.search(r"produce|consume|load|store|send|receive", before)
    assert "produce(" in after and "consume(" in after
