"""A kit's report, by hand: ratios, the order of kernels, what was wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.kit.report import FORMAT, Found, Report, read

RIGHT = Found("gemm", "c", True, "", 100, 2.0, 1.0)


def report(*cases: Found) -> Report:
    return Report("kit", "1", "gfx942", "now", "none", cases)


def times(*pairs: tuple[float | None, float | None]) -> Report:
    return report(*(replace(RIGHT, time_s=one, predicted_s=other) for one, other in pairs))


def test_ratios_are_of_what_was_timed_and_predicted() -> None:
    assert times((2.0, 1.0), (1.0, 2.0), (4.0, 1.0)).mean_ratio == pytest.approx(4 ** (1 / 3))
    assert times((8.0, 1.0), (None, 1.0), (1.0, None)).mean_ratio == pytest.approx(8)
    assert times((None, 1.0)).mean_ratio is None and report().mean_ratio is None


@pytest.mark.parametrize(
    ("pairs", "tau"),
    [
        (((1.0, 1.0), (2.0, 3.0), (3.0, 4.0)), 1.0),
        (((1.0, 3.0), (2.0, 2.0), (3.0, 1.0)), -1.0),
        (((1.0, 1.0), (2.0, 3.0), (3.0, 2.0)), 1 / 3),
        (((1.0, 1.0), (1.0, 2.0), (2.0, 3.0)), 2 / 3),
        (((1.0, 1.0), (2.0, 1.0)), 0.0),
        (((1.0, 1.0), (None, 2.0), (2.0, 2.0)), 1.0),
        (((1.0, 1.0),), None),
    ],
)
def test_the_order_is_kendalls_tau_of_speeds(pairs: Any, tau: float | None) -> None:
    """Equal ones tell nothing; what was not timed is in no pair."""
    assert times(*pairs).order == (tau if tau is None else pytest.approx(tau))


def test_a_kernel_of_more_operations_may_take_longer() -> None:
    slow = replace(RIGHT, flops=1000, time_s=4.0, predicted_s=2.0)
    assert report(RIGHT, slow).order == 1.0
    assert report(RIGHT, replace(slow, predicted_s=20.0)).order == -1.0


CASE: dict[str, Any] = {
    "problem": "gemm", "configuration": "c", "is_right": True, "flops": 100, "predicted_s": 1,
    "time_s": {"median": 2}, "passes": [{"values": "integer", "is_right": True, "told": "fine"}],
}  # fmt: skip
DOCUMENT: dict[str, Any] = {
    "format": FORMAT, "kit": "kit", "imbrex": "1", "target": "gfx942", "when": "now",
    "device": {"name": "MI300X", "chip": "gfx942", "runtime": 6}, "cases": [CASE],
}  # fmt: skip


def written(path: Path, **other: Any) -> Path:
    (path / "report.json").write_text(json.dumps(DOCUMENT | other))
    return path / "report.json"


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    found = read(written(tmp_path))
    assert found == Report("kit", "1", "gfx942", "now", "MI300X (gfx942), HIP 6", (RIGHT,))
    assert read(written(tmp_path, device=None)).device == "none"
    bad = CASE["passes"] + [{"values": "float", "is_right": False, "told": "off"}]
    wrong = {**CASE, "is_right": False, "passes": bad, "error": "crash", "predicted_s": None}
    del wrong["time_s"]
    (one,) = read(written(tmp_path, cases=[wrong])).wrong
    assert one == replace(RIGHT, is_right=False, said="float: off; crash", time_s=None, predicted_s=None)


@pytest.mark.parametrize(
    ("other", "message"),
    [({"format": 99}, "of format 99"), ({"cases": 1}, "is no report"), ({"cases": [{}]}, "it lacks")],
)
def test_what_is_no_report_says_so(other: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(Diagnostic, match=message):
        read(written(tmp_path, **other))
