"""Tunings other than the chosen one give the same numbers, and broken kernels do not pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.e2e.conftest import Built
from tests.e2e.many import Case, wrong
from tests.host_tuning import for_host

from imbrex.build.shared_library import build_shared
from imbrex.config import tuning
from imbrex.pipeline import Request, lower, machine_for
from imbrex.problem import Gemm, parse_problem
from imbrex.run.cpu import Parameter, load
from imbrex.symbol import symbol_of

GEMM = Gemm(m=75, n=140, k=70)
CPU = [
    for_host(f"v1:cpu:{rows},32,{rows * 2},64,32,16,{layout},{still},{order}")
    for rows, layout, still, order in (
        (5, "k_major", "a", "straight"),
        (6, "k_major", "b", "swapped"),
        (7, "k_blocked", "a", "swapped"),
        (14, "k_blocked", "b", "straight"),
    )
]
GENERAL = [
    "v1:general:64,32,32,4,2,2",
    "v1:general:64,64,64,8,4,4",
    "v1:general:256,128,128,8,4,4",
    "v1:general:256,64,64,16,2,2",
    "v1:general:64,32,64,4,2,4",
]


@pytest.mark.parametrize("text", GENERAL)
def test_general(text: str, build: Any) -> None:
    """256 work items, the 2 x 2 pipeline and the naive one, odd and even numbers of K steps."""
    result = build(GEMM, "emulate", tuning.parse(text)).run(3)
    assert result.is_right, str(result)


def test_general_convolutions() -> None:
    """Without matrix instructions, in every direction."""
    shape = "-n 2 -c 6 -H 11 -W 13 -k 8 -y 3 -x 5 -p 2,0 -q 1,3 -u 2 -v 3 -l 2 -j 1 -g 2"
    lines = [f"{op} {shape} -F {way}" for op, way in (("conv", 1), ("convfp16", 2), ("convfp64", 4))]
    cases = [Case.of(line, text) for line, text in zip(lines, GENERAL, strict=False)]
    atomic = Case.of(
        "conv -n 2 -c 7 -H 13 -W 11 -k 17 -y 3 -x 3 -p 1 -q 1 -F 2", GENERAL[0], algorithm="v1r1"
    )
    assert wrong([*cases, atomic]) == []


@pytest.mark.parametrize("text", CPU)
def test_cpu(text: str, build: Any) -> None:
    result = build(GEMM, "cpu", tuning.parse(text)).run(3)
    assert result.is_right, str(result)


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5])
def test_double_buffer_tails(steps: int, build: Any) -> None:
    gemm = Gemm(m=32, n=32, k=4 * steps - 1)
    result = build(gemm, "emulate", tuning.parse("v1:general:64,32,32,4,2,2")).run(steps)
    assert result.is_right, str(result)


@pytest.mark.parametrize(
    ("what", "old", "new"),
    [
        ("the place of B in LDS", "(block_shared + 1024)", "(block_shared + 0)"),
        ("a row of the register tile", "workitem * 16 + 4 * m_thread", "workitem * 16 + 3 * m_thread"),
    ],
)
def test_a_broken_kernel_is_caught(what: str, old: str, new: str) -> None:
    """The control: one change to the source, and the comparison fails."""
    gemm = Gemm(m=32, n=32, k=64)
    request = Request(gemm, machine_for("emulate", "generic", 1, None, None), "emulate",
                      tuning.parse("v1:general:64,32,32,4,2,2"))  # fmt: skip
    files = dict(lower(request).bundle.files)
    source = files["kernel.hpp"]
    assert old in source, f"{what}: nothing to break"
    files["kernel.hpp"] = source.replace(old, new)
    library = build_shared(files)
    parameters = tuple(Parameter(o.role, o.shape, o.dtype.numpy, o.is_written) for o in gemm.operands)
    broken = Built(gemm, load(library.path, symbol_of("kernel"), parameters), ())
    assert not broken.run(0).is_right


def test_offsets_beyond_32_bits(build: Any) -> None:
    """2.7e9 input elements: only the few that a wide stride reads are ever touched."""
    (problem,) = parse_problem(
        "convint8 -n 3 -c 1 -H 30000 -W 30000 -k 1 -y 1 -x 1 -p 0 -q 0 -u 1500 -v 1500 -F 1"
    )
    built = build(problem)
    filter = np.full((1, 1, 1, 1), 3, np.int8)
    image = np.zeros((3, 1, 30000, 30000), np.int8)
    image[:, :, ::1500, ::1500] = np.arange(3 * 20 * 20).reshape(3, 1, 20, 20) % 100
    output = np.full((3, 1, 20, 20), -1, np.int32)
    built.kernel(filter, image, output)
    np.testing.assert_array_equal(output, 3 * image[:, :, ::1500, ::1500].astype(np.int32))
