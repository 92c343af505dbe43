"""The same source for narrower instruction sets than the host's: AVX2, and vectors without any intrinsic."""

from __future__ import annotations

from typing import Any

import pytest

from imbrex.build.isa import host_isa
from imbrex.problem import parse_problem

LINES = (
    "conv -n 2 -c 7 -H 13 -W 11 -k 17 -y 3 -x 3 -p 1 -q 1 -F 1",
    "conv -n 2 -c 7 -H 13 -W 11 -k 17 -y 3 -x 3 -p 1 -q 1 -F 4 -I NHWC -f KYXC -O NHWC",
    "convfp16 -n 1 -c 5 -H 9 -W 9 -k 33 -y 3 -x 3 -p 0 -q 0 -u 2 -v 2 -F 2",
    "convint8 -n 1 -c 5 -H 9 -W 9 -k 33 -y 3 -x 3 -p 1 -q 1 -F 1 -I NHWC -f KYXC -O NHWC",
    "convfp64 -n 1 -c 5 -H 9 -W 9 -k 33 -y 1 -x 1 -p 0 -q 0 -F 1",
    "gemm -m 45 -n 77 -k 130 -t bf16",
)
WIDER = {"avx2": ("avx2", "avx512"), "generic": ("generic", "avx2", "avx512", "neon")}


@pytest.mark.parametrize("level", WIDER)
@pytest.mark.parametrize("line", LINES)
def test_level(line: str, level: str, build: Any) -> None:
    if host_isa().level not in WIDER[level]:
        pytest.skip(f"this host does not run {level}")
    (problem,) = parse_problem(line)
    built = build(problem, level=level)
    for kind in ("integer", "float"):
        result = built.run(5, kind)
        assert result.is_right, str(result)
