"""--config: what a command prints makes the same kernel again, alone or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.host_tuning import for_host
from tests.unit.cli.conftest import Said

from imbrex.config.configuration import parse

LINE = "conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -F 2"
CONFIG = for_host("v2:v4r1+product:4=v1:cpu:4,16,4,16,16,16,k_major,a,straight@data_parallel")
Command = Callable[..., Said]


def configuration(imbrex: Command, *words: str) -> str:
    said = imbrex("explain", LINE, "--format", "json", *words)
    assert said.code == 0, said
    return json.loads(said.out)[0]["configuration"]


@pytest.mark.parametrize("target", ["cpu", "gfx90a", "sm_90a", "avx2"])
def test_explain_prints_what_it_takes(imbrex: Command, target: str) -> None:
    found = configuration(imbrex, "--target", target)
    assert configuration(imbrex, "--target", target, "--config", found) == found
    assert found in imbrex("explain", LINE, "--target", target, "--config", found).out


def test_a_kernel_is_built_and_run_as_it_says(imbrex: Command, tmp_path: Path) -> None:
    said = imbrex("run", LINE, "--config", CONFIG, "--seconds", "0", "--format", "json")
    (result,) = json.loads(said.out)["results"]
    assert said.code == 0 and result["check"]["right"] and result["configuration"] == CONFIG
    assert f"config        {CONFIG}" in imbrex("run", LINE, "--config", CONFIG, "--seconds", "0").out
    assert imbrex("build", LINE, "--config", CONFIG, "-o", str(tmp_path), "--name", "one").code == 0
    assert json.loads((tmp_path / "one.json").read_text())["configuration"] == CONFIG
    assert f'one_configuration() {{ return "{CONFIG}"; }}' in (tmp_path / "one_solver.cpp").read_text()
    assert f"// configuration {CONFIG}\n" in (tmp_path / "one.hpp").read_text()


@pytest.mark.parametrize("command", ["run", "build", "explain", "bench"])
@pytest.mark.parametrize("option", ["--tuning", "--algorithm", "--schedule"])
def test_it_stands_alone(imbrex: Command, command: str, option: str) -> None:
    if command == "bench" and option != "--tuning":
        return  # it has no such option
    said = imbrex(command, LINE, "--config", CONFIG, option, "auto")
    assert said.code == 1
    assert f"--config says all that may be chosen, and cannot stand beside {option}" in said.errors


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("v2:v4r1+product=v1:cpu:4@x", "a cpu tuning takes 9 to 10 values, got 1"),
        ("v1:cpu:4", "configuration starts with 'v1', expected 'v2'"),
        ("v2:v5", "unknown algorithm 'v5'"),
        ("v2:v4r4", "algorithm 'v4r4' is one of forward and backward weight, this is backward data"),
        (CONFIG.replace(":4=", ":3="), "there are 4 products, and tunings for 3"),
    ],
)
@pytest.mark.parametrize("command", ["run", "bench"])
def test_a_bad_one_is_one_message(imbrex: Command, command: str, config: str, message: str) -> None:
    said = imbrex(command, LINE, "--config", config)
    assert said.code == 1 and message in said.errors and "Traceback" not in said.errors


def test_bench_takes_it(imbrex: Command) -> None:
    words = ("--peers", "numpy", "--seconds", "0.001", "--threads", "1", "--format", "json")
    (row,) = json.loads(imbrex("bench", LINE, "--config", CONFIG, *words).out)["rows"]
    assert row["configuration"] == CONFIG and parse(CONFIG).algorithm == "v4r1"
