"""Studies of problems, for tests."""

from __future__ import annotations

from functools import cache

from imbrex.chip import target
from imbrex.config import tiles
from imbrex.config.request import Request
from imbrex.explore import Study, study
from imbrex.problem.text import parse_problems

FORWARD = "conv -n 2 -c 64 -H 14 -W 14 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"
BACKWARD = "conv -n 1 -c 32 -H 14 -W 14 -k 32 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -F 2"
WEIGHT = "conv -n 2 -c 16 -H 9 -W 9 -k 24 -y 3 -x 3 -p 1 -q 1 -F 4"
PRODUCT = "gemm -t f16 -m 128 -n 256 -k 64"
DEPTHWISE = "conv -n 1 -c 32 -H 14 -W 14 -k 32 -y 3 -x 3 -p 1 -q 1 -g 32 -F 1"


@cache
def studied(chip: str, line: str, schedule: str | None = None) -> Study:
    """The study of a line's problem on a chip; made once, since nobody can change it."""
    (found,) = parse_problems(line, None)
    (problem,) = found.problems
    wanted = None if schedule is None else tiles.wanted(schedule)
    form = "cpu" if chip.startswith("avx") else chip
    return study(Request(problem, target(chip), form, schedule=wanted))
