"""Commands on a target of NVIDIA's: files and reports, a run on a driver that is played, what doctor says."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.unit.run.fake_cuda import ComputingCuda

from imbrex.cli import build as command
from imbrex.problem import Gemm

pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed")

Imbrex: TypeAlias = Callable[..., Any]

GEMM = "gemm -m 40 -n 70 -k 33"
HOPPER = ("--target", "sm_90a", "--tuning", "v1:general:64,32,32,4,2,2")


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> ComputingCuda:
    fake = ComputingCuda()
    fake.problems["imbrex_gemm_0"] = Gemm(40, 70, 33)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", fake)
    return fake


def test_build_writes_all_files(imbrex: Imbrex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "sass", lambda cubin: f"code of {cubin.name}\n")
    out = tmp_path / "out"
    said = imbrex("build", GEMM, *HOPPER, "-o", str(out), "--format", "json")
    (report,) = json.loads(said.out)
    names = {"cubin", "cu", "hpp", "json", "log", "sass"}
    assert {p.name for p in out.iterdir()} == {"device", "gemm_solver.cpp", *(f"gemm.{n}" for n in names)}
    assert {**json.loads((out / "gemm.json").read_text()), "folder": str(out), "times": 1} == report
    assert (out / "gemm.cubin").read_bytes()[:4] == b"\x7fELF"
    assert (out / "gemm.sass").read_text() == "code of gemm.cubin\n"
    assert "Compiling entry function 'imbrex_gemm_0'" in (out / "gemm.log").read_text()
    assert set(report["files"]) < {p.name for p in out.iterdir()}
    (kernel,) = report["kernels"]
    assert (report["target"], kernel["kernel"], kernel["errors"]) == ("sm_90a", "imbrex_gemm_0", [])


def test_the_table_shows_the_report(imbrex: Imbrex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "sass", lambda cubin: None)
    monkeypatch.setattr(command, "find_disassembler", lambda: None)
    (tmp_path / "log.txt").write_text(f"{GEMM}\n{GEMM}\n")
    said = imbrex("build", str(tmp_path / "log.txt"), *HOPPER, "-o", str(tmp_path / "out"))
    assert (said.code, said.errors) == (0, "")
    assert "asked for" in said.out and "2 times" in said.out
    for word in (
        str(tmp_path / "out" / "gemm.cubin"),
        "imbrex_gemm_0, 6 workgroups",
        "none spilled",
        "of 64 threads each",
        "bytes a workgroup",
        "a processor, clusters of 1",
        "neither nvdisasm nor cuobjdump is here",
    ):
        assert word in said.out


def test_run_checks_and_times_on_the_gpu(imbrex: Imbrex, cuda: ComputingCuda) -> None:
    said = imbrex("run", GEMM, *HOPPER, "--values", "integer", "--format", "json", "--seconds", "0.01")
    assert said.code == 0, said.errors
    (result,) = json.loads(said.out)["results"]
    assert result["check"]["right"] and result["check"]["exact"]
    assert result["time"]["median_ns"] == pytest.approx(12_500), "50 us a graph of four"
    assert result["time"]["calls_per_sample"] == 4
    assert "on a sm_90a" in imbrex("run", GEMM, *HOPPER, "--seconds", "0.01").out
    assert not cuda.memory


def test_a_wrong_result_is_exit_code_1(imbrex: Imbrex, cuda: ComputingCuda) -> None:
    cuda.problems["imbrex_gemm_0"] = Gemm(40, 70, 33, alpha=2.0)
    said = imbrex("run", GEMM, *HOPPER)
    assert said.code == 1 and "wrong: " in said.out


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"capability": (8, 9)}, "error: a kernel for sm_90a cannot run here: GPU 0 is NVIDIA H200 (sm_89)"),
        ({"failing": {"cuMemAlloc": 2}}, "error: not enough memory: memory for 'a': the GPU has no memory"),
        ({"failing": {"cuInit": 100}}, "there is no NVIDIA GPU: CUDA_ERROR_NO_DEVICE"),
    ],
)
def test_what_is_not_here_is_one_message(
    imbrex: Imbrex, cuda: ComputingCuda, changed: dict[str, Any], message: str
) -> None:
    vars(cuda).update(changed)
    said = imbrex("run", GEMM, *HOPPER)
    assert (said.code, said.out) == (1, "") and message in said.errors


def test_emulation_is_of_the_same_source(imbrex: Imbrex) -> None:
    said = imbrex(
        "run", "gemm -t f16 -m 200 -n 136 -k 96", "--target", "sm_90a", "--emulate", "--seconds", "0"
    )
    assert said.code == 0 and "right: 27200 elements" in said.out and "emulate (sm_90a)" in said.out


def test_doctor_tells_what_is_here(imbrex: Imbrex, cuda: ComputingCuda) -> None:
    found = {finding["what"]: finding for finding in json.loads(imbrex("doctor", "--format", "json").out)}
    assert found["nvrtc"]["told"].startswith("13.") and found["target sm_90a"]["state"] == "ok"
    assert found["cuda-bindings"]["state"] == found["cuda-core"]["state"] == "ok"
    assert found["nvidia gpu"]["told"] == "NVIDIA H200 (sm_90), driver of CUDA 13.0"


def test_doctor_tells_what_is_missing(imbrex: Imbrex, monkeypatch: pytest.MonkeyPatch) -> None:
    """The main job is done without a GPU of NVIDIA's."""
    for module in ("nvrtc", "driver"):
        monkeypatch.setitem(sys.modules, f"cuda.bindings.{module}", None)
    said = imbrex("doctor", "--format", "json")
    found = {finding["what"]: finding for finding in json.loads(said.out)}
    assert said.code == 0
    for what in ("nvrtc", "target sm_90a", "nvidia gpu"):
        assert found[what]["state"] == "missing"
    assert "pip install 'imbrex[cuda]'" in found["nvrtc"]["mend"]
