"""Kernels whose pages are looked at: ten, over the targets."""

from __future__ import annotations

from functools import cache

from imbrex.chip import target
from imbrex.config.configuration import parse
from imbrex.config.request import Request
from imbrex.explore import Study, study
from imbrex.explore.page import page
from imbrex.problem.text import parse_problems

__all__ = ["CASES", "FEW", "USUAL", "studied", "text_of"]

FORWARD = "conv -n 2 -c 32 -H 14 -W 14 -k 32 -y 3 -x 3 -p 1 -q 1 -F 1"
BACKWARD = "conv -n 1 -c 16 -H 14 -W 14 -k 16 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -F 2"
WEIGHT = "conv -n 2 -c 16 -H 9 -W 9 -k 24 -y 3 -x 3 -p 1 -q 1 -F 4"
GROUPED = "convfp16 -n 2 -c 32 -H 10 -W 10 -k 64 -y 3 -x 3 -p 1 -q 1 -g 2 -F 1"
DEPTHWISE = "conv -n 1 -c 32 -H 14 -W 14 -k 32 -y 3 -x 3 -p 1 -q 1 -g 32 -F 1"
TUNING = "v1:xdlops:16,16,8,16,16,4,auto,xor,staged,swapped"
USUAL = ("gfx942", FORWARD, f"v2:v4r4+taps_first+product={TUNING}@data_parallel")
"""With its configuration: links and pictures are those of these tiles, whatever the model picks."""
CASES: dict[str, tuple[str, str] | tuple[str, str, str]] = {
    "cpu": ("avx512", FORWARD),
    "cpu product": ("avx2", "gemm -m 33 -n 65 -k 17"),
    "gfx908": ("gfx908", WEIGHT),
    "gfx90a": ("gfx90a", GROUPED),
    "gfx942": USUAL,
    "gfx942 backward": ("gfx942", BACKWARD),
    "gfx942 lanes": ("gfx942", DEPTHWISE),
    "gfx950": ("gfx950", "gemm -t i8 -m 100 -n 130 -k 70"),
    "sm_90a": ("sm_90a", FORWARD),
    "sm_90a product": ("sm_90a", "gemm -t f16 -m 256 -n 256 -k 64"),
}
FEW = ("cpu product", "gfx942", "sm_90a product")
"""What `make test` looks at; `make browser`, and IMBREX_TESTS=all, at all."""


@cache
def studied(chip: str, line: str, config: str | None = None) -> Study:
    (parsed,) = parse_problems(line, None)
    form = "cpu" if chip.startswith("avx") else chip
    return study(Request(parsed.problems[0], target(chip), form, config=config and parse(config)))


@cache
def text_of(chip: str, line: str, config: str | None = None) -> str:
    """The page of one kernel."""
    return page([studied(chip, line, config)])
