"""The commands: what they print and what they write."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from imbrex.cli import COMMANDS, doctor
from imbrex.ir.from_problem import problem_module
from imbrex.ir.printed import print_module
from imbrex.problem import Gemm
from imbrex.version import __version__

Imbrex: TypeAlias = Callable[..., Any]

CONV = "conv -n 1 -c 3 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"
GEMM = "gemm -t f32 -m 5 -n 7 -k 9"


def test_help_names_every_command(imbrex: Imbrex) -> None:
    said = imbrex("--help")
    assert said.code == 0
    assert [name for name in COMMANDS if name not in said.out] == []
    for name in COMMANDS:
        assert imbrex(name, "--help").code == 0


def test_version(imbrex: Imbrex) -> None:
    assert imbrex("--version").out == f"imbrex {__version__}\n"


def test_run_as_a_table(imbrex: Imbrex) -> None:
    said = imbrex("run", CONV, GEMM, "--seconds", "0.01")
    assert (said.code, said.errors) == (0, "")
    assert said.out.count("right: ") == 2
    for word in (
        "tuning",
        "v1:cpu:",
        "GFLOP/s",
        "% of this machine's FMA peak",
        "extra memory",
        "conv2d_forward.hpp",
        "gemm.hpp",
    ):
        assert word in said.out


def test_run_as_json(imbrex: Imbrex) -> None:
    said = imbrex(
        "run", GEMM, "--format", "json", "--seconds", "0.01", "--threads", "1", "--values", "integer"
    )
    document = json.loads(said.out)
    (result,) = document["results"]
    check = result["check"]
    assert (check["right"], check["elements"], check["wrong"], check["unwritten"]) == (True, 35, 0, 0)
    assert (check["exact"], check["max_error_ratio"], check["first"]) == (True, 0.0, None)
    assert (result["threads"], result["target"], result["flops"]) == (1, "cpu", 630)
    assert 0 < result["gigaflops"] < result["ceiling_gigaflops"]
    assert Path(result["sources"], "gemm.hpp").exists()
    assert document["machine"]["isa"]


def test_run_emulated_without_timing(imbrex: Imbrex) -> None:
    said = imbrex("run", GEMM, "--emulate", "--seconds", "0")
    assert said.code == 0
    assert "target emulate (gfx942)" in said.out and "GFLOP/s" not in said.out


@pytest.mark.parametrize("words", [("--emulate",), ("--target", "gfx90a", "--emulate=isa")])
def test_what_is_emulated_is_not_timed(imbrex: Imbrex, words: tuple[str, ...]) -> None:
    """The seconds of an emulation say nothing of the GPU's."""
    said = imbrex("run", GEMM, *words, "--seconds", "0.01")
    assert said.code == 0 and "emulated, not timed" in said.out and "median" not in said.out
    assert json.loads(imbrex("run", GEMM, *words, "--format", "json").out)["results"][0]["time"] is None


def test_run_says_when_a_result_is_wrong(imbrex: Imbrex, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of `check`: a reference that differs."""
    from imbrex.verify import reference as module

    truth = module.reference

    def other(*arguments: object, **options: object) -> module.Reference:
        found = truth(*arguments, **options)  # type: ignore[arg-type]
        found.want[2, 3] += 1
        return found

    monkeypatch.setattr("imbrex.kernel.checked.reference", other)
    said = imbrex("run", GEMM)
    assert said.code == 1
    assert "wrong: 1 of 35 elements; first at m=2 n=3: got" in said.out


def test_problems_come_from_a_file_a_line_or_standard_input(
    imbrex: Imbrex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "problems.txt").write_text(f"# two\n{GEMM}\n\n{CONV}\n")
    (tmp_path / "gemm.json").write_text(json.dumps({"problem": "gemm", "m": 5, "n": 7, "k": 9}))
    (tmp_path / "gemm.mlir").write_text(print_module(problem_module(Gemm(5, 7, 9), "layer")))
    said = imbrex("run", str(tmp_path / "problems.txt"), "--seconds", "0")
    assert said.out.count("right: ") == 2
    assert "right: 35 elements" in imbrex("run", str(tmp_path / "gemm.json"), "--seconds", "0").out
    assert (
        "kernel        layer, target cpu" in imbrex("run", str(tmp_path / "gemm.mlir"), "--seconds", "0").out
    )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(GEMM.encode())))
    assert "right: 35 elements" in imbrex("run", "-", "--seconds", "0").out


def test_layout_is_of_all_three_arrays(imbrex: Imbrex) -> None:
    said = imbrex("explain", CONV, "--layout", "NHWC")
    assert "filter     [k 4, y 3, x 3, c 3] f32" in said.out
    assert "output     [n 1, ho 6, wo 6, k 4] f32" in said.out


def test_build_writes_all_files(imbrex: Imbrex, tmp_path: Path) -> None:
    said = imbrex("build", CONV, "-o", str(tmp_path / "out"), "--format", "json")
    (report,) = json.loads(said.out)
    files = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert files == [
        "conv2d_forward.cpp",
        "conv2d_forward.hpp",
        "conv2d_forward.json",
        "conv2d_forward.so",
        "conv2d_forward_solver.cpp",
        "device",
    ]
    kept = json.loads((tmp_path / "out" / "conv2d_forward.json").read_text())
    assert {**kept, "times": 1, "folder": str(tmp_path / "out")} == report
    assert kept["workspace_bytes_per_thread"] > 0
    assert list(tmp_path.iterdir()) == [tmp_path / "out"], "nothing is left beside it"


def test_build_keeps_other_files_and_names(imbrex: Imbrex, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    said = imbrex("build", GEMM, "-o", str(tmp_path), "--name", "mine")
    assert said.code == 0
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert 'extern "C" int imbrex_mine(' in (tmp_path / "mine.cpp").read_text()
    assert str(tmp_path / "mine_solver.cpp") in said.out


def test_build_several(imbrex: Imbrex, tmp_path: Path) -> None:
    said = imbrex("build", GEMM, CONV, "-o", str(tmp_path / "out"))
    assert said.code == 0
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_explain_of_matrix_instructions_is_for_the_chip(imbrex: Imbrex) -> None:
    line = "gemm -m 512 -n 512 -k 512 --type f16"
    for chip, instruction in (("gfx942", "mfma_f32_16x16x16_f16"), ("gfx950", "mfma_f32_16x16x32_f16")):
        tuned = ("--target", chip, "--tuning", "v1:xdlops:64,64,8,16,16,8")
        said = imbrex("explain", line, *tuned)
        assert said.code == 0 and instruction in said.out
        assert "0 of them for bank conflicts" in said.out


def test_explain(imbrex: Imbrex) -> None:
    """The seed's example: 128 x 115200 x 72, tile 128 x 128 x 8, grid 900."""
    line = "conv -n 128 -c 8 -H 32 -W 32 -k 128 -y 3 -x 3 -p 0 -q 0 -F 1"
    said = imbrex("explain", line, "--target", "gfx942", "--tuning", "v1:general:256,128,128,8,4,4")
    assert said.code == 0
    for text in (
        "product: 128 x 115200 x 72",
        "A is filter",
        "gemmK -> unfold -> c, y, x",
        "address    72*gemmM + gemmK",
        "vectors    8 along gemmK, 1 along gemmM",
        "injective  no",
        "C is stored by set",
        "v1:general:256,128,128,8,4,4",
        "grid_size                                   900 (1 x 900 blocks)",
        "matrix_a_copy_cluster_lengths               [2, 128]",
        "lds_bytes",
    ):
        assert text in said.out


def test_explain_says_why_a_tuning_is_illegal(imbrex: Imbrex) -> None:
    said = imbrex("explain", GEMM, "--emulate", "--tuning", "v1:general:64,30,32,4,2,3")
    assert said.code == 1
    assert "no legal tuning" in said.out
    assert "because    n_per_thread 3 is not one of 2, 4" in said.out


def test_explain_as_json(imbrex: Imbrex) -> None:
    said = imbrex("explain", "conv -n 1 -c 3 -H 6 -W 6 -k 4 -y 3 -x 3 -u 2 -v 2 -F 2", "--format", "json")
    (document,) = json.loads(said.out)
    assert len(document["products"]) == 4
    first = document["products"][0]
    assert [view["operand"] for view in first["operands"]] == ["A", "B", "C"]
    assert first["operands"][0]["vector_widths"].keys() == {"gemmK", "gemmM"}
    assert first["tuning"].startswith("v1:cpu:")


def test_explain_levels(imbrex: Imbrex) -> None:
    said = imbrex("explain", CONV, "--levels")
    names = [line.split(". ")[1] for line in said.out.splitlines() if line.startswith("// ")]
    assert names[:4] == ["problem", "conv-to-gemm", "unfold", "affix-tuning"]
    assert names[4:] == ["gridwise-to-blockwise", "blockwise-to-threadwise"]
    assert "miopen.threadwise_gemm" in said.out
    assert "0: merge(1: c, 2: y, 3: x), gemmK" in imbrex("explain", CONV, "--levels", "--compact").out


@pytest.mark.parametrize("target", ["cpu", "emulate"])
def test_explain_meaning(imbrex: Imbrex, target: str) -> None:
    line = "conv -n 64 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -F 1"
    said = imbrex("explain", line, "--meaning", "--target", target)
    assert said.code == 0
    assert "made small from conv -n 64" in said.out
    assert said.out.count("all equal") == 7, "six levels, and the compiled kernel"


def test_bench(imbrex: Imbrex, tmp_path: Path) -> None:
    report = tmp_path / "results" / "report.json"
    finished = 'gemm -m 16 -n 16 -k 16 --epilogue "relu(x + bias)"'
    words = ("--threads", "1", "--peers", "numpy", "--seconds", "0.01", "-o", str(report))
    said = imbrex("bench", GEMM, finished, *words)
    assert said.code == 0
    assert "geometric means on 1 thread" in said.out and "x numpy" in said.out
    assert "--epilogue 'relu(x + bias)'" in said.out and "no way" in said.out
    document = json.loads(report.read_text())
    assert ([row["right"] for row in document["rows"]], document["peers"].keys()) == ([True] * 2, {"numpy"})


def test_doctor(imbrex: Imbrex) -> None:
    said = imbrex("doctor", "--format", "json")
    found = {finding["what"]: finding for finding in json.loads(said.out)}
    assert said.code == 0
    assert found["target cpu"]["state"] == found["target emulate"]["state"] == "ok"
    assert found["nvidia gpu"]["state"] in ("ok", "missing")
    assert "ok  compiler" in imbrex("doctor").out


def test_doctor_says_which_cache_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("IMBREX_CACHE_DIR", str(tmp_path / "file"))
    found = doctor._cache()
    assert (found.state, found.mend) == ("missing", "set IMBREX_CACHE_DIR to a directory of your own")
    assert "file' is no directory; every kernel is compiled anew" in found.detail
    monkeypatch.setenv("IMBREX_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("IMBREX_SHARED_CACHE", str(tmp_path / "none"))
    found = doctor._cache()
    assert found.state == "ok" and "the shared cache" in found.detail
    (tmp_path / "there" / "v1").mkdir(parents=True)
    monkeypatch.setenv("IMBREX_SHARED_CACHE", str(tmp_path / "there"))
    assert f"also reads {tmp_path / 'there'}" in doctor._cache().detail


def test_doctor_names_what_mends(imbrex: Imbrex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMBREX_CXX", "no-such-compiler")
    said = imbrex("doctor")
    assert said.code == 1
    assert "no  compiler" in said.out and "leave IMBREX_CXX unset" in said.out
