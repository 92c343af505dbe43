"""What a benchmark's line means on the chips that it is for."""

from __future__ import annotations

import pytest

from imbrex.cli.source import meant_on, read_kept, read_problems
from imbrex.diagnostic import Diagnostic

HIPBLASLT = "hipblaslt-bench --a_type f8_r --b_type f8_r --d_type f8_r --compute_type f32_r"
MIOPEN = "MIOpenDriver convbfp8 -F 1"


@pytest.mark.parametrize(
    ("line", "chip", "name"),
    [
        (HIPBLASLT, "gfx942", "f8e4m3fnuz"),
        (HIPBLASLT, "gfx950", "f8e4m3fn"),
        (HIPBLASLT, "sm_90a", "f8e4m3fn"),
        (HIPBLASLT, None, "f8e4m3fn"),
        (MIOPEN, "gfx942", "f8e5m2fnuz"),
        ("convbfp8 -F 1", "gfx942", "f8e5m2"),
        ("gemm -t f8e4m3fn -m 1 -n 1 -k 1", "gfx942", "f8e4m3fn"),
        (HIPBLASLT.replace("f8_r", "f16_r"), "gfx942", "f16"),
    ],
)
def test_floats_of_8_bits_are_those_of_the_chip(line: str, chip: str | None, name: str) -> None:
    """Of a line that names its tool; other lines name the type."""
    (asked,) = read_problems([line])
    problem = meant_on(asked, {chip}).problem
    assert problem.dtype.name == name
    assert line != HIPBLASLT or str(problem.epilogue) == f"{name}(x)"


def test_chips_that_disagree() -> None:
    (asked,) = read_problems([HIPBLASLT])
    with pytest.raises(
        Diagnostic, match="the chips disagree on which 8-bit floats a line of hipblaslt-bench has"
    ):
        meant_on(asked, {"gfx942", "gfx950"})
    assert meant_on(asked, {"gfx950", "sm_90a"}).problem == asked.problem


@pytest.mark.parametrize("keep_going", [False, True])
def test_what_is_tuned_is_what_runs(keep_going: bool, capsys: pytest.CaptureFixture[str]) -> None:
    (found,), skipped = read_kept([HIPBLASLT], None, keep_going, "gfx942")
    assert (found.dtype.name, skipped) == ("f8e4m3fnuz", [])
    assert capsys.readouterr().err == "note: f8e4m3fn of a benchmark is f8e4m3fnuz on gfx942\n"
