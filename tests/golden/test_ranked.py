"""What the model says, number by number: candidates, what refuses others, cycles and what they are spent on.

    pytest tests/golden --update-golden     writes what it says now

Law: a term, a rule or a space that changes is seen here, and the difference is read before it is committed.
Machines are named, so that nothing depends on where the test runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.golden.kept import expect_kept, expect_only

from imbrex.config.candidates import candidates, spent
from imbrex.pipeline import Request, machine_for
from imbrex.problem import parse_problem

FOLDER = Path(__file__).parent / "ranked"
SHOWN = 6
"""Candidates of each request, from the pick to the one that costs most."""
LAYER = "-n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1"
NHWC = f"{LAYER} -f NHWC -I NHWC -O NHWC"
HALF = f"convfp16 {NHWC}"
CASES: dict[str, tuple[str, ...]] = {
    "avx512": (
        "gemm -m 120 -n 200 -k 100", f"conv {LAYER} -F 1", f"conv {NHWC} -F 2", "gemm -m 1 -n 999 -k 500",
    ),
    "avx2": ("gemm -t f64 -m 300 -n 70 -k 900 -transA 1", f"conv {LAYER} -g 64 -F 1", f"conv {LAYER} -F 4"),
    "avx512_vnni": ("gemm -t i8 -m 120 -n 200 -k 100 -transB 1",),
    "amx": ("gemm -t bf16 -m 500 -n 300 -k 200 -g 2",),
    "neon": ("gemm -m 120 -n 200 -k 100",),
    "gfx908": ("gemm -m 512 -n 500 -k 512 -transA 1", f"conv {LAYER} -F 4"),
    "gfx942": (
        "gemm -t f16 -m 512 -n 520 -k 4096", f"{HALF} -F 2 -u 2 -v 2", f"{HALF} -F 1 -g 16",
        "gemm -m 9 -n 7 -k 5",
    ),
    "gfx950": ("gemm -t mxf8e4m3fn -m 512 -n 256 -k 1024 -transB 1", f"convbfp16 {LAYER} -F 1"),
    "sm_90a": (
        "gemm -t f16 -m 512 -n 520 -k 512", "gemm -m 256 -n 256 -k 256 -alpha 2.0 -beta 1.0",
        "gemm -t i8 -m 137 -n 131 -k 139", f"{HALF} -F 1", f"{HALF} -F 4",
        f"convfp16 {LAYER} -F 1 -g 64", f"{HALF} -F 4 -g 8",
    ),
}  # fmt: skip


def said(target: str, line: str) -> Iterator[str]:
    (problem,) = parse_problem(line)
    is_gpu = target.startswith(("gfx", "sm"))
    machine = machine_for(target, "", 1) if is_gpu else machine_for("cpu", target, 4)
    request = Request(problem, machine, target if is_gpu else "cpu")
    found = candidates(request)
    refused = ", ".join(f"{rule} {count}" for rule, count in sorted(found.refused.items()))
    yield f"{line}: {len(found.ranked)} candidates; refused: {refused or 'none'}"
    yield from (f"  {name}: {why}" for name, why in found.unserved.items())
    last = len(found.ranked) - 1
    for place in sorted({last * i // (SHOWN - 1) for i in range(SHOWN)}):
        one = found.ranked[place]
        parts = spent(request, one)
        yield f"  {place} {one.configuration}: {one.cycles:.5g} cycles"
        for how, of in (("parallel", parts.parallel), ("after", parts.after)):
            named = (f"{name} {cycles:.4g}" for name, cycles in of.items() if cycles >= 0.01)
            yield f"    {how}: {', '.join(named)}"


@pytest.mark.parametrize("target", CASES)
def test_the_model_says_what_it_said(target: str, update_golden: bool) -> None:
    text = "".join(f"{line.rstrip()}\n" for problem in CASES[target] for line in said(target, problem))
    path = FOLDER / f"{target}.txt"
    expect_kept(text, path, update=update_golden)


def test_no_other_text_is_kept() -> None:
    expect_only(CASES, FOLDER)
