"""imbrex capture: what it writes, which every command reads, and wrong words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from imbrex.capture.tally import Tally
from imbrex.cli.source import read_problems
from imbrex.problem import parse_problem

Imbrex: TypeAlias = Callable[..., Any]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    tally = Tally()
    (small,) = parse_problem("gemm -m 4 -n 4 -k 4")
    (large,) = parse_problem("conv -n 1 -c 3 -H 9 -W 9 -k 4 -y 3 -x 3 -F 1 --epilogue 'x + bias'")
    for _ in range(12):
        tally.add("mm", lambda: [small])
    tally.add("conv", lambda: [large])
    tally.add("conv", lambda: parse_problem("conv -n 0"))
    tally.leave("lstm", "no problem\nstates it")
    tally.pass_by("relu")
    path = tmp_path / "problems.txt"
    path.write_text(tally.text("a model"))
    found = {entry.problem: entry.count for entry in read_problems([str(path)])}
    assert found == {large: 1, small: 12}
    told = path.read_text()
    assert told.startswith("# a model\n 1 conv") and "# left out: 1 conv: " in told
    assert "# left out: 1 lstm: no problem states it\n# other ops: 1 relu\n" in told


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("model.txt",), 1, "'model.txt' is no model"),
        (("model.py:1x",), 1, "is no model"),
        (("gemm -m 4",), 1, "missing '-n'"),
        (("gemm -m 4 -n 4 -k 4", "--training"), 1, "--training is of functions"),
        (("gemm -m 4 -n 4 -k 4", "--size", "n=2"), 1, "--size is of a graph of ONNX"),
        (("model.py:f", "--size", "n=2"), 1, "--size is of a graph of ONNX"),
        (("model.onnx", "--training"), 1, "a graph of ONNX has no way back"),
        (("model.onnx", "--size", "n"), 2, "'n' is no size, such as batch=8"),
        (("model.onnx", "--size", "n=?5..2"), 2, "n is a number, '?' or a range such as '?1..1024'"),
        (("model.onnx", "--size", "n=?", "--size", "m=?"), 2, "one size may be left open"),
    ],
)
def test_wrong_words(imbrex: Imbrex, words: tuple[str, ...], code: int, told: str) -> None:
    said = imbrex("capture", *words)
    assert said.code == code and told in said.errors


def test_a_log_is_a_list_of_its_problems(imbrex: Imbrex, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    lines = (
        "hipblaslt-bench -m 48 -n 176 -k 64 --transA T", "gemm -k 64 -m 4 -n 4", "2 gemm -m 4 -n 4 -k 64",
        "gemm -m ?1..9 -n 4 -k 4", "\x1bbnorm",
    )  # fmt: skip
    log.write_text("\n".join(lines))
    said = imbrex("capture", str(log))
    assert said.code == 0 and "left out: 1 \\x1bbnorm: unknown problem form" in said.errors
    assert [line for line in said.out.splitlines() if not line.startswith("#")] == [
        "1 gemm -t f16 -m 176 -n 48 -k 64 -transA 0 -transB 1 -g 1",
        "3 gemm -t f32 -m 4 -n 4 -k 64 -transA 0 -transB 0 -g 1",
        "1 gemm -t f32 -m ?1..9 -n 4 -k 4 -transA 0 -transB 0 -g 1",
    ]


def test_a_model_without_problems_is_told_of(imbrex: Imbrex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("imbrex.cli.capture._captured", lambda *words: Tally())
    said = imbrex("capture", "model.py:f")
    assert said.code == 1 and "model.py:f computes no convolution and no product" in said.errors


@pytest.mark.parametrize(("model", "package"), [("model.py:f", "PyTorch"), ("model.onnx", "onnx")])
def test_without_the_package(
    imbrex: Imbrex, model: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("aten", "graph"):
        monkeypatch.setattr(f"imbrex.capture.{module}.find_spec", lambda name: None)
    said = imbrex("capture", model)
    assert said.code == 1 and f"needs {package}" in said.errors.replace("the package ", "")
