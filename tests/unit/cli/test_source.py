"""What a benchmark's line means on the chips that it is for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from imbrex.cli.skipped import Skipped
from imbrex.cli.source import meant_on, problems_of, read_problems
from imbrex.diagnostic import Diagnostic

Imbrex: TypeAlias = Callable[..., Any]

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
    skipped = Skipped(keep_going)
    (found,) = problems_of([HIPBLASLT], None, {"gfx942"}, skipped)
    assert (found.problem.dtype.name, skipped.lines) == ("f8e4m3fnuz", [])
    assert capsys.readouterr().err == "note: f8e4m3fn of a benchmark is f8e4m3fnuz on gfx942\n"


LOG = """\
MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 1 -c 2 -H 5 -W 5 -k 2 -F 1 -G 1
[rank0] ./bin/MIOpenDriver conv -n 1 -c 2 -H 5 -W 5 -k 2 -F 1 -G 1
./bin/MIOpenDriver conv -n 1 -c 2 -H 5 -W 5 -k 2 -F 1 --spatial_dim 3
./bin/MIOpenDriver bnorm -n 1
./bin/MIOpenDriver bnorm -n 1
     12 gemm -m 4 -n 4 -k 4
{"problem": "gemm", "m": 4, "n": 4, "k": 4}
{"problem": "gemm",
 "m": 0, "n": 4, "k": 4}
[2026-11-22 10:00] a line of something else
gemm -t tf32 -m 4 -n 4 -k 4
"""


def test_a_log_is_read_past_what_cannot_be_read(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(LOG)
    skipped = Skipped(True)
    found = problems_of([str(log)], None, {None}, skipped)
    assert [(entry.count, entry.location) for entry in found] == [
        (2, f"{log}:1"), (13, f"{log}:6"), (1, f"{log}:11"),
    ]  # fmt: skip
    deep, norm, none, other = skipped.lines
    assert f"({log}:3:" in deep and "only" not in deep and "'--spatial_dim 3' is not supported" in deep
    assert f"bnorm -n 1 ({log}:4:20), 2 times: unknown" in norm
    assert f"({log}:9:2): m" in none and "(log" not in other and f"({log}:10:" in other


def test_the_first_that_cannot_be_read_ends_it_where_nobody_says_otherwise(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(LOG)
    with pytest.raises(Diagnostic, match="spatial_dim"):
        problems_of([str(log)], None, {None}, Skipped())


COMMANDS = (
    ("run", "--seconds", "0", "--threads", "1"),
    ("explain",),
    ("build",),
    ("bench", "--threads", "1"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_every_command_keeps_going(imbrex: Imbrex, tmp_path: Path, command: tuple[str, ...]) -> None:
    """Past lines that are no problem, and problems that no kernel serves; each problem once."""
    log, out = tmp_path / "log.txt", tmp_path / "out"
    log.write_text(LOG)
    files = {"build": ("-o", str(out)), "bench": ("--peers", "", "--seconds", "0.01")}
    words = (*command, *files.get(command[0], ()), str(log))
    said = imbrex(*words, "--keep-going")
    assert said.code == 0, said
    assert said.out.count("gemm -t f32 -m 4") + said.out.count("gemm -m 4") == 1
    skipped = [line for line in said.out.splitlines() if line.startswith("skipped ")]
    assert len(skipped) == 5 and f"({log}:4:20), 2 times" in "".join(skipped)
    assert "times" in said.out.partition("skipped ")[0]
    if command[0] == "build":
        assert len(list(out.iterdir())) == 2
    refused = imbrex(*words)
    assert refused.code == 1 and "spatial_dim" in refused.errors


def test_a_log_of_nothing_that_can_be_served(imbrex: Imbrex, tmp_path: Path) -> None:
    said = imbrex("run", "--keep-going", "gemm -t tf32 -m 4 -n 4 -k 4")
    assert said.code == 1 and said.out.startswith("skipped gemm -t tf32")
    as_json = imbrex("run", "--keep-going", "nothing at all", "--format", "json")
    assert as_json.code == 1 and len(json.loads(as_json.out)["skipped"]) == 1
