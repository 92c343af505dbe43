"""Commands on AMD targets: files and reports, several targets at once, and one word where no GPU is."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest

Imbrex: TypeAlias = Callable[..., Any]

GEMM = "gemm -t f16 -m 128 -n 128 -k 256"
TUNING = "v1:xdlops:64,64,4,32,32,8"


def test_build_writes_all_files(imbrex: Imbrex, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = imbrex("build", GEMM, "--target", "gfx942", "--tuning", TUNING, "-o", str(out), "--format", "json")
    (report,) = json.loads(said.out)
    assert sorted(p.name for p in out.iterdir()) == [
        "device",
        "gemm.cpp",
        "gemm.hpp",
        "gemm.hsaco",
        "gemm.json",
        "gemm.s",
        "gemm_solver.cpp",
    ]
    assert {**json.loads((out / "gemm.json").read_text()), "folder": str(out), "times": 1} == report
    assert (out / "gemm.hsaco").read_bytes()[:4] == b"\x7fELF"
    assert ".amdhsa_kernel imbrex_gemm_0" in (out / "gemm.s").read_text()
    (kernel,) = report["kernels"]
    assert (report["target"], kernel["kernel"], kernel["spilled_vgprs"]) == ("gfx942", "imbrex_gemm_0", 0)
    assert kernel["hot_loop"]["counts"]["matrix"]


def test_the_table_shows_the_report(imbrex: Imbrex, tmp_path: Path) -> None:
    said = imbrex("build", GEMM, "--target", "gfx942", "--tuning", TUNING, "-o", str(tmp_path / "out"))
    assert (said.code, said.errors) == (0, "")
    for word in (
        str(tmp_path / "out" / "gemm.hsaco"),
        "imbrex_gemm_0, 4 workgroups",
        "VGPRs",
        "none spilled",
        "bytes a workgroup of 256 work items",
        "a SIMD",
        "v_mfma_f32",
        "matrix unit",
    ):
        assert word in said.out


def test_several_targets_go_into_a_folder_each(imbrex: Imbrex, tmp_path: Path) -> None:
    said = imbrex("build", GEMM, "--target", "gfx90a,gfx950,cpu", "-o", str(tmp_path))
    assert said.code == 0
    assert {p.name for p in tmp_path.iterdir()} == {"gfx90a", "gfx950", "cpu"}
    assert (tmp_path / "gfx90a" / "gemm.hsaco").read_bytes() != (
        tmp_path / "gfx950" / "gemm.hsaco"
    ).read_bytes()
    assert (tmp_path / "cpu" / "gemm.so").exists()


def test_run_says_that_no_gpu_is_here(imbrex: Imbrex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hip", None)
    said = imbrex("run", GEMM, "--target", "gfx942")
    assert (said.code, said.out) == (1, "")
    assert said.errors.startswith("error: a kernel for gfx942 cannot run here: hip-python is not installed\n")
    assert "hint: --emulate" in said.errors


def test_run_emulated_is_of_the_chip_that_is_named(imbrex: Imbrex) -> None:
    said = imbrex("run", GEMM, "--target", "gfx90a", "--emulate", "--seconds", "0")
    assert said.code == 0 and "target emulate (gfx90a)" in said.out and "right: 16384" in said.out


def test_explain_takes_the_chips(imbrex: Imbrex) -> None:
    said = imbrex("explain", GEMM, "--target", "gfx950", "--meaning")
    assert said.code == 0 and "compiled" not in said.out, "no code of gfx950 runs here"
    assert "compiled" in imbrex("explain", GEMM, "--target", "gfx950", "--emulate", "--meaning").out


def test_bench_takes_the_lane_level_build(imbrex: Imbrex) -> None:
    words = ("--emulate", "--threads", "1", "--peers", "", "--seconds", "0.01", "--format", "json")
    (row,) = json.loads(imbrex("bench", "gemm -m 5 -n 7 -k 9", *words).out)["rows"]
    assert (row["target"], row["right"], row["ceiling_gigaflops"]) == ("emulate (gfx942)", True, None)


def test_doctor_tells_what_builds_and_what_runs(imbrex: Imbrex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hip", None)
    found = {f["what"]: f for f in json.loads(imbrex("doctor", "--format", "json").out)}
    assert all(found[f"target {chip}"]["state"] == "ok" for chip in ("gfx908", "gfx90a", "gfx942", "gfx950"))
    assert (found["amd gpu"]["state"], found["amd gpu"]["told"]) == ("missing", "hip-python is not installed")
    assert "llvm-mca" in found and "executed: right" in found["cdna emulator"]["told"]
    properties = SimpleNamespace(gcnArchName="gfx942:sramecc+")
    hip = SimpleNamespace(
        hipGetDeviceCount=lambda: (0, 1),
        hipGetDevice=lambda: (0, 0),
        hipGetDeviceProperties=lambda device: (0, properties),
    )
    monkeypatch.setitem(sys.modules, "hip", SimpleNamespace(hip=hip))  # type: ignore[arg-type]
    again = {f["what"]: f for f in json.loads(imbrex("doctor", "--format", "json").out)}
    assert again["cdna emulator"]["state"] == again["amd gpu"]["state"] == "ok"
    assert again["amd gpu"]["told"].startswith("gfx942")
