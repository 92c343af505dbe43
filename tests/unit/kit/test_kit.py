"""Kits: what the archive holds, and its program on a GPU that the emulator plays, through a real library."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.patience import HANG_S
from tests.unit.cli.conftest import Said

from imbrex.build.toolchain import compile_shared
from imbrex.chip import GPU_MACHINES
from imbrex.config.tuning import parse
from imbrex.dtype import DTYPES, PAIRS, widened
from imbrex.kernel import target_of
from imbrex.kit.cases import Case, cases_of
from imbrex.kit.expected import element_of
from imbrex.kit.make import archive
from imbrex.kit.runner.draw import codes_of, drawn, places, random_bits, values_of
from imbrex.pipeline import Request, configuration_of
from imbrex.problem import Conv2d, Gemm

HERE = Path(__file__).parent
CASES = (
    Case(Gemm(37, 41, 29, dtype="f16", lda=31, ldc=48), is_timed=True),
    Case(Gemm(33, 33, 33, dtype="bf16", alpha=0.1, beta=3.0), schedule="split_k:2"),
    Case(Gemm(35, 24, 40, dtype="f8e4m3fnuz", epilogue="gelu(pre_activation(x + bias))")),
    Case(Conv2d("backward_data", 1, 4, 7, 6, 5, 3, 3, pad_h=1, dtype="f32"), algorithm="v1r1"),
    Case(Gemm(20, 30, 52, dtype="i8")),
    Case(
        Conv2d("backward_data", 1, 16, 6, 5, 4, 1, 3, pad_h=1, stride=(2, 1), dtype="f16"),
        algorithm="all_last",
    ),
    Case(Gemm(18, 20, 24, batch=2, dtype="f16", lda=26, stride_b=0)),
)
ENVIRONMENT = {**os.environ, "CHIP": "gfx942:sramecc+:xnack-"}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hip")
    source = HERE / "libamdhip64.cpp"
    return compile_shared({source.name: source.read_text()}, folder, name="libamdhip64.so", flags=("-O0",))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "kit.tar").write_bytes(archive(CASES, target_of("gfx942")))
    with tarfile.open(folder / "kit.tar") as tar:
        tar.extractall(folder)  # of our own making; Python 3.11.2 knows no filter
    return folder / "kit"


@pytest.fixture
def kit(made: Path, tmp_path: Path) -> Path:
    """A copy, to spoil."""
    return shutil.copytree(made, tmp_path / "kit")


def run(kit: Path, library: Path, *words: str, is_played: bool = True, **told: str) -> tuple[Said, Any]:
    """What the program says, and its report."""
    program = (HERE / "emulated_gpu.py", "--kit", kit) if is_played else (kit / "verify.py",)
    report = kit.parent / "report.json"
    command = (sys.executable, *program, "--hip", library, "-o", report, *words)
    done = subprocess.run(
        [str(word) for word in command],
        env=ENVIRONMENT | told,
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    found = json.loads(report.read_text()) if report.exists() else None
    return Said(done.returncode, done.stdout, done.stderr), found


def test_every_kernel_is_right_and_the_report_is_read(
    kit: Path, library: Path, imbrex: Callable[..., Said]
) -> None:
    said, report = run(kit, library)
    assert said.code == 0, said
    assert said.out.count("right  ") == len(CASES) == len(report["cases"])
    assert ": " not in said.out, "what is said of a pass is said of wrong ones"
    kinds = [[one["values"] for one in case["passes"]] for case in report["cases"]]
    every = ["integer", "float", "probe"]
    assert kinds == [*[every] * 4, ["integer", "probe"], every, every]
    told = [one["told"] for case in report["cases"] for one in case["passes"]]
    assert any("all equal" in text for text in told) and any("of its bound" in text for text in told)
    assert report["device"]["chip"] == "gfx942" and report["device"]["name"] == "a stand-in"
    (timed,) = (case for case in report["cases"] if "time_s" in case)
    assert timed["is_timed"] and timed["predicted_s"] > 0
    shown = imbrex("verify", "--read", str(kit.parent / "report.json"))
    assert shown.code == 0 and "7 of 7 kernels" in shown.out and "TFLOP/s" in shown.out
    ratio = timed["time_s"]["median"] / timed["predicted_s"]
    assert f"{ratio:.2f} in the geometric mean" in shown.out
    as_json = json.loads(imbrex("verify", "--read", str(kit.parent / "report.json"), "--format", "json").out)
    assert as_json["right"] == 7 and as_json["cases"][0]["ratio"] == ratio


def spoil(kit: Path, change: Callable[[Any], None]) -> None:
    told = json.loads((kit / "kit.json").read_text())
    change(told["cases"])
    (kit / "kit.json").write_text(json.dumps(told))


def one_workgroup_less(cases: Any) -> None:
    cases[4]["steps"][0]["grid_size"] = 0


def other_operands(cases: Any) -> None:
    for one in cases[0]["passes"]:
        one["draws"]["a"]["seed"] += 1


def an_input_that_is_written(cases: Any) -> None:
    """B and C change places."""
    for step in cases[1]["steps"]:
        step["arguments"][1:3] = [2, 1]


WRONG: tuple[tuple[Callable[[Any], None], int, str], ...] = (
    (one_workgroup_less, 4, "nothing written"),
    (other_operands, 0, "elements differ, the first from m=0 n=0"),
    (an_input_that_is_written, 1, "it writes into its input 'b'"),
)


def test_wrong_kernels_are_seen(kit: Path, library: Path, imbrex: Callable[..., Said]) -> None:
    """Each by what it does, and the others are right."""
    for change, _, _ in WRONG:
        spoil(kit, change)
    said, report = run(kit, library, "--no-times")
    shown = imbrex("verify", "--read", str(kit.parent / "report.json"))
    assert said.code == shown.code == 1
    wrong = {number: message for _, number, message in WRONG}
    assert [case["is_right"] for case in report["cases"]] == [i not in wrong for i in range(len(CASES))], said
    for number, message in wrong.items():
        assert message in json.dumps(report["cases"][number]), said
        assert message in said.out and message in shown.out


@pytest.mark.parametrize(
    ("fault", "message"),
    [("abort:4", "the process ended by signal 6"), ("hang:4", "no answer after 3 seconds"),
     ("error:4", "hipModuleLaunchKernel failed: 719 (unspecified launch failure)")],
)  # fmt: skip
def test_a_kernel_that_ends_its_process_or_does_not_end(
    fault: str, message: str, kit: Path, library: Path
) -> None:
    """The fourth launch is the second kernel's first; a new process goes on behind it."""
    words = ("--limit", "3", "--no-times", "--only", "gemm")
    spoil(kit, lambda cases: cases.__delitem__(slice(2, -1)))
    said, report = run(kit, library, *words, FAULT=fault)
    assert said.code == 1 and "2 of 3 kernels are right" in said.out, said
    assert [case.get("error", "") for case in report["cases"]][1].startswith(message)
    assert [case["is_right"] for case in report["cases"]] == [True, False, True]


def test_what_cannot_run_is_one_message(kit: Path, library: Path, tmp_path: Path) -> None:
    for told, words, message in (
        ({"CHIP": "gfx90a"}, (), "error: the kit is for gfx942, and GPU 0 is a stand-in, gfx90a"),
        ({}, ("--device", "3"), "error: there is no GPU 3: the runtime finds 1, from 0 on"),
        ({}, ("--only", "conv9"), "error: no kernel of this kit has 'conv9' in its line"),
        ({}, ("--hip", str(tmp_path / "none.so")), "error: there is no HIP runtime: "),
    ):
        said, report = run(kit, library, *words, is_played=False, **told)
        assert (said.code, report) == (2, None) and said.errors.startswith(message), said
    empty = {name: value for name, value in ENVIRONMENT.items() if name != "CHIP"}
    command = [sys.executable, str(kit / "verify.py"), "--hip", str(library)]
    done = subprocess.run(command, env=empty, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 2 and "error: there is no AMD GPU" in done.stderr
    (kit / "kit.json").write_text("{")
    said, _ = run(kit, library, is_played=False)
    assert said.code == 2 and "there is no kit in" in said.errors and "unpack all" in said.errors


def test_the_program_needs_nothing_of_ours(made: Path) -> None:
    """With NumPy alone, in isolated mode, it gets as far as looking for a GPU."""
    words = [sys.executable, "-I", "-c", BARE, str(made)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr


BARE = """
import importlib.abc, sys
class No(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        assert name.partition(".")[0] not in ("imbrex", "ml_dtypes", "xdsl", "click", "rich", "hip"), name
sys.meta_path.insert(0, No())
sys.path.insert(0, sys.argv[1])
from runner.main import main
assert main(["--hip", "/none.so", "--child", "0"]) == 2
"""


def test_an_archive_is_the_same_every_time() -> None:
    first, second = (archive(CASES[4:5], target_of("gfx942")) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    "name", [n for n, t in DTYPES.items() if n not in ("tf32", "e8m0") and t == t.element and t.pack == 1]
)
def test_numbers_and_their_bits(name: str) -> None:
    """The program's types are those of ml_dtypes, and what is drawn is in them, of the law's numbers."""
    dtype, element = DTYPES[name], element_of(DTYPES[name])
    told = {"kind": "whole", "low": -8, "high": 8, "seed": 3}
    whole = drawn(told, element, (5, 700))
    assert set(values_of(whole, element).reshape(-1)) == set(range(-8, 9)) - {0}
    assert np.array_equal(whole.view(dtype.numpy).astype(float), values_of(whole, element).astype(float))
    if not dtype.is_float:
        return
    bits = dtype.significand_bits
    for kind, least, most in (("real", -1, 1), ("odd", -2, 2)):
        codes = drawn({"kind": kind, "bits": bits, "seed": 4}, element, (4000,))
        values = codes.view(dtype.numpy).astype(np.float64)
        assert np.array_equal(codes_of(values, element), codes) and np.array_equal(
            values_of(codes, element), values
        )
        assert least < values.min() < 0 < values.max() < most and abs(values.mean()) < 0.1
        odd = values * 2.0 ** (bits - (kind == "odd"))
        assert (odd % 2 == 1).all(), "every bit of the significand is read"


@pytest.mark.parametrize("name", ["f4e2m1fn", "f6e2m3fn", "f6e3m2fn"])
def test_packs_are_of_drawn_numbers(name: str) -> None:
    dtype, element = DTYPES[name], element_of(DTYPES[name])
    single = {key: value for key, value in element.items() if key != "pack"} | {"bytes": 1}
    told = {"kind": "whole", "low": -4, "high": 4, "seed": 3}
    found = drawn(told, element, (5, 320 // dtype.pack)).view(dtype.numpy)
    assert np.array_equal(widened(found, dtype), values_of(drawn(told, single, (5, 320)), single))
    assert set(widened(found, dtype).reshape(-1)) == set(range(-4, 5)) - {0}


def test_a_piece_of_an_array_is_drawn_as_in_the_whole() -> None:
    assert np.array_equal(random_bits(5, 0, 1000)[300:400], random_bits(5, 300, 100))
    assert len({int(random_bits(seed, 7, 1)[0]) for seed in range(1000)}) == 1000
    found = places(9, 10**7, 1000)
    assert found[0] == 0 and found[-1] == 10**7 - 1 and (np.diff(found) > 0).all() and found.size > 990
    assert np.array_equal(places(9, 12, 1000), np.arange(12))


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950"])
def test_the_usual_kernels_are_every_type_direction_and_algorithm(chip: str) -> None:
    found = cases_of(chip)
    types = {case.problem.dtype.name for case in found}
    eight = {
        "gfx942": {"f8e4m3fnuz", "f8e5m2fnuz"},
        "gfx950": {
            "f8e4m3fn",
            "f8e5m2",
            *(n for n, t in (*DTYPES.items(), *PAIRS.items()) if t.is_microscaled),
        },
    }.get(chip, set())
    assert types == {"f32", "f16", "bf16", "f64", "i8"} | eight
    for direction in ("forward", "backward_data", "backward_weight"):
        of = [case for case in found if getattr(case.problem, "direction", "") == direction]
        assert {case.algorithm for case in of} >= {
            "merged_groups:4",
            "channel_vectors",
            "channels_last",
            "all_last",
        }
        assert any(case.is_timed for case in of)
    assert len({str(case) for case in found}) == len(found)


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950"])
def test_the_usual_kernels_are_legal_where_a_tuning_is_named(chip: str) -> None:
    """One that is not would leave nobody a kit of that chip."""
    for case in cases_of(chip):
        if case.tuning is not None:
            given = parse(case.tuning)
            asked = Request(case.problem, GPU_MACHINES[chip], chip, given, case.algorithm, "kernel")
            assert configuration_of(asked)


def test_what_makes_no_kit_is_one_message(imbrex: Callable[..., Said], tmp_path: Path) -> None:
    gemm, tar = "gemm -t f16 -m 8 -n 8 -k 8", str(tmp_path / "kit.tar")
    for words, message in (
        ((gemm, "--target", "gfx942"), "where should the kit go?"),
        ((gemm, "--target", "gfx942", "-o", str(tmp_path / "kit.zip")), "is no name of an archive"),
        ((gemm, "-o", tar), "a kit is for an AMD GPU, and the target is 'cpu'"),
        ((gemm, "--target", "sm_90a", "-o", tar), "a kit is for an AMD GPU, and the target is 'sm_90a'"),
        (("gemm -m ? -n 8 -k 8", "--target", "gfx942", "-o", tar), "a kit has problems of fixed sizes"),
        ((gemm, "--read", tar), "--read shows a report; leave out problems"),
        (("--read", str(tmp_path / "none.json")), "cannot read"),
    ):
        said = imbrex("verify", *words)
        assert said.code == 1 and message in said.errors, said
    (tmp_path / "wrong.json").write_text('{"format": 1}')
    said = imbrex("verify", "--read", str(tmp_path / "wrong.json"))
    assert said.code == 1 and "is no report of a kit's program: it lacks 'device'" in said.errors


def test_a_kit_of_no_kernel_is_not_written(imbrex: Callable[..., Said], tmp_path: Path) -> None:
    tar, log = tmp_path / "none.tar", tmp_path / "log.txt"
    log.write_text("no problem\ngemm -m ? -n 8 -k 8\n")
    said = imbrex("verify", str(log), "--target", "gfx942", "--keep-going", "-o", str(tar))
    assert said.code == 1 and not tar.exists() and "making" not in said.errors, said


def test_a_kit_of_problems_that_are_named(imbrex: Callable[..., Said], tmp_path: Path) -> None:
    tar = tmp_path / "own.tar.gz"
    said = imbrex("verify", "gemm -t i8 -m 20 -n 30 -k 52", "--target", "gfx942", "-o", str(tar))
    assert said.code == 0 and "1 kernel for gfx942, 1 of them timed" in said.out, said
    with tarfile.open(tar) as archived:
        names = archived.getnames()
    assert {
        "kit/verify.py",
        "kit/kit.json",
        "kit/README.txt",
        "kit/code/000.hsaco",
        "kit/runner/main.py",
    } <= set(names)
