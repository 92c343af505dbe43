"""Bad input, each kind: one message on stderr, exit code 1, nothing half-written."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.host_tuning import for_host
from tests.patience import HANG_S

from imbrex.cli import main
from imbrex.cli.report_file import write_report
from imbrex.diagnostic import Diagnostic

Imbrex: TypeAlias = Callable[..., Any]

CONV = "conv -n 1 -c 3 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"
GEMM = "gemm -m 5 -n 7 -k 9"
MANY = "9" * 5000


BAD: dict[str, tuple[tuple[str, ...], str]] = {
    "a folder of no name": (("build", GEMM, "-o", ""), "error: a path is empty"),
    "a library's folder of no name": (("build", GEMM, "--library", "x", "-o", ""), "error: a path is empty"),
    "a text's file of no name": (("db", "export", "-o", ""), "error: a path is empty"),
    "a database of no name": (("db", "list", "--db", ""), "error: a path is empty"),
    "a page of no name": (("tune", GEMM, "--report", ""), "error: a path is empty"),
    "a drawing's file of no name": (("explore", GEMM, "-o", ""), "error: a path is empty"),
    "no such file": (("run", "nothing.txt"), "error: 'nothing.txt' is no file, and no problem"),
    "no such file, and a space": (("run", "my nets.txt"), "error: 'my nets.txt' is no file, and no problem"),
    "no such folder, and a space": (
        ("explain", "my nets/one"),
        "error: 'my nets/one' is no file, and no pro",
    ),
    "words that are no path": (("run", "gem 3 4 5"), "did you mean 'gemm'?"),
    "a directory": (("run", "."), "error: cannot read '.': it is a directory"),
    "an empty line": (("run", " "), "error: the problem is empty"),
    "a malformed line": (("run", "conv -n"), "<text>:1:6: error: '-n' needs a value"),
    "an unknown flag": (("run", f"{CONV} --strid 2"), "error: unknown flag '--strid'"),
    "an unknown form": (("run", "cnov -n 1"), "did you mean 'conv'?"),
    "malformed JSON": (("run", '{"problem": "gemm", }'), "error: malformed JSON"),
    "an unknown key": (
        ("run", '{"problem": "gemm", "m": 1, "n": 1, "k": 1, "bta": 1}'),
        "did you mean 'beta'?",
    ),
    "malformed IR": (("run", "func.func @f( {}"), "error: "),
    "a window too large": (
        ("run", CONV.replace("-y 3", "-y 9")),
        "window y = 9 is larger than the padded input",
    ),
    "channels and groups": (("run", f"{CONV} -g 2"), "c = 3 channels do not divide into 2 groups"),
    "a zero size": (("run", CONV.replace("-n 1", "-n 0")), "'-n' must be positive, got 0"),
    "a negative size": (("run", CONV.replace("-H 6", "-H -6")), "'-H' must be positive, got -6"),
    "a malformed tuning": (
        ("run", CONV, "--tuning", "v2:cpu:1"),
        "<tuning>:1:1: error: tuning starts with 'v2'",
    ),
    "an illegal tuning": (
        ("run", CONV, "--tuning", for_host("v1:cpu:99,16,99,16,32,16,k_major,a,straight")),
        "is illegal: registers",
    ),
    "a tuning of another target": (("run", CONV, "--tuning", "v1:general:64,32,32,4,2,2"), "does not run on"),
    "an unknown target": (("run", CONV, "--target", "gpu"), "error: unknown target 'gpu'"),
    "a target that nothing is written for": (
        ("build", CONV, "--target", "sm_80"),
        "error: sm_80 (Ampere: A100, A30) is not supported; of NVIDIA's GPUs there is sm_90a (H100,",
    ),
    "a CPU, lane by lane": (
        ("run", CONV, "--target", "cpu", "--emulate"),
        "target 'cpu' has no lane-level form",
    ),
    "two targets for one run": (
        ("run", CONV, "--target", "cpu,gfx942"),
        "--target takes one name here, got 'cpu,gfx942'",
    ),
    "a target that nothing is written for, explained": (
        ("explain", CONV, "--target", "sm_80"),
        "error: sm_80 (Ampere: A100, A30) is not supported",
    ),
    "no threads": (("run", CONV, "--threads", "0"), "'threads' should be an integer from 1"),
    "an unknown layout": (("run", CONV, "--layout", "NCXX"), "input layout 'NCXX' has no dimension 'X'"),
    "an unknown layout of a product": (("run", GEMM, "--layout", "XX"), "input layout 'XX' has no dimension"),
    "no layout's name": (("explain", CONV, "--layout", ""), "input layout '' needs each of"),
    "no algorithm's name": (("explain", CONV, "--algorithm", ""), "unknown algorithm ''"),
    "two targets of a library": (
        ("build", GEMM, "--library", "a", "--target", "cpu,gfx942"),
        "'build' takes several, but for --library",
    ),
    "an unknown algorithm": (
        ("run", CONV.replace("-F 1", "-F 2"), "--algorithm", "v2"),
        "unknown algorithm 'v2'",
    ),
    "a name for no function": (("build", CONV, "--name", "1x"), "'1x' cannot name a function of C"),
    "a report that cannot be": (("bench", GEMM, "--threads", "0"), "--threads takes numbers and 'all'"),
    "a name too long for a file": (("build", CONV, "--name", "a" * 200), "a name of 200 letters is too long"),
    "an unknown algorithm, explained": (
        ("explain", CONV, "--algorithm", "foo"),
        "unknown algorithm 'foo'",
    ),
    "an algorithm of convolutions": (
        ("explain", GEMM, "--target", "sm_90a", "--algorithm", "halo:1"),
        "algorithm 'halo:1' is one of a convolution, this is a product",
    ),
    "tiles that are packed for another GPU": (
        ("explain", f"{GEMM} -t f16", "--target", "sm_90a", "--algorithm", "data_tiled"),
        "algorithm 'data_tiled' packs tiles for AMD's matrix instructions, sm_90a has tensor maps",
    ),
    "no target's name": (("run", CONV, "--target", ""), "unknown target ''"),
    "an array larger than any memory": (
        ("explain", "gemm -m 4000000000 -n 4000000000 -k 1"),
        "'c' of shape (4000000000, 4000000000) reaches over more bytes than 2^63",
    ),
    "an order of tiles that warpgroups have of their own": (
        ("build", f"{GEMM} -t f16", "--target", "sm_90a", "--schedule", "data_parallel/wgm=4"),
        "a tuning of warpgroups has an order of tiles of its own",
    ),
    "digits without end": (("run", f"gemm -m {MANY} -n 1 -k 1"), "'-m' is at most 9223372036854775807"),
    "digits without end in a tuning": (
        ("run", GEMM, "--tuning", f"v1:general:{MANY},32,32,4,2,2"),
        "expected a whole number from 1 to 9223372036854775807",
    ),
    "digits without end in a grid": (("map", f"{MANY}x4"), "a grid of tiles looks like 6x8"),
    "digits without end in an algorithm": (
        ("run", CONV.replace("conv", "convfp16"), "--target", "gfx942", "--algorithm", f"halo:{MANY}"),
        "error: algorithm 'halo:9",
    ),
    "digits without end in a lane": (
        ("explain", "mma", "v_mfma_f32_32x32x8_f16", "--element-of", f"{MANY},0"),
        "--element-of takes LANE,REGISTER",
    ),
    "lists without end": (("run", "[" * 100_000), "more than 32 lists and objects inside each other"),
    "folders without end": (("build", GEMM, "-o", "a/" * 2000), "parts is deeper than 256"),
    "a report in folders without end": (
        ("bench", GEMM, "--threads", "1", "--peers", "", "--seconds", "0", "-o", "a/" * 2000),
        "parts is deeper than 256",
    ),
    "escape sequences": (("run", "gemm -m \x1b[31m4 -n 4"), "gemm -m \\x1b[31m4 -n 4"),
    "a file without end": (("run", "/dev/zero"), "'/dev/zero' is longer than 67108864 bytes"),
    "an unknown peer": (("bench", GEMM, "--peers", "jax"), "unknown peer 'jax'"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_message(what: str, imbrex: Imbrex) -> None:
    words, message = BAD[what]
    said = imbrex(*words)
    assert message in said.errors
    assert (said.code, said.out) == (1, "")
    assert "Traceback" not in said.errors and said.errors.count("error:") == 1
    assert len(said.errors) < 3000 and "a fault of Imbrex" not in said.errors


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run",), "hint: see imbrex run --help"),
        (("explain",), "hint: see imbrex explain --help"),
        (("run", "conv", "-n", "1"), 'hint: quote the problem: imbrex run "conv -n 1"'),
        (("rn", CONV), "error: no such command 'rn'\nhint: did you mean 'run'?"),
        ((GEMM,), f"hint: imbrex run '{GEMM}'"),
        (("run", CONV, "--format", "xml"), "error: invalid value for '--format'"),
        (("run", CONV, "--seconds", "nan"), "invalid value for '--seconds': nan is no number of seconds"),
        (("run", CONV, "--seconds", "-1"), "-1.0 is no number of seconds"),
        (("run", CONV, "--seed", "-1"), "invalid value for '--seed'"),
        (("run", CONV, "--seed", MANY), "invalid value for '--seed'"),
        (("run", CONV, "--threads", MANY), "invalid value for '--threads'"),
        (("map", "4x4", "--group", "9" * 4000), "invalid value for '--group'"),
        (("\x1b[31m",), "no such command '\\x1b[31m'"),
    ],
)
def test_a_wrong_command_line_says_so(words: tuple[str, ...], message: str, imbrex: Imbrex) -> None:
    said = imbrex(*words)
    assert message in said.errors
    assert (said.code, said.out) == (2, "")


AGAIN_S = 30
"""Seconds after which people press the keys again."""


def test_no_command_is_help_and_no_error(imbrex: Imbrex) -> None:
    said = imbrex()
    assert said.code in (0, 2) and "Usage: imbrex" in said.out + said.errors
    assert "error" not in said.errors and "hint" not in said.errors


def test_traceback_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Diagnostic):
        main(["run", "conv -n", "--traceback"])


def test_files_that_cannot_be_read_or_written(imbrex: Imbrex, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\xff\xfe conv")
    assert "is not UTF-8 text" in imbrex("run", str(tmp_path / "file")).errors
    said = imbrex("build", GEMM, "-o", str(tmp_path / "file"))
    assert said.code == 1
    assert f"cannot write to '{tmp_path / 'file'}'" in said.errors
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"], "nothing half-written"
    said = imbrex("map", "4x4", "-o", str(tmp_path / "file" / "r"))
    assert (said.code, f"cannot write '{tmp_path / 'file' / 'r'}'" in said.errors) == (1, True)


@pytest.mark.parametrize("name", ["IMBREX_THREADS"])
def test_numbers_of_the_environment(name: str, imbrex: Imbrex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, MANY)
    said = imbrex("run", GEMM)
    assert (said.code, said.out) == (1, "") and f"error: {name} should be a" in said.errors


def test_a_pipe_is_read_as_a_file_is(imbrex: Imbrex, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = subprocess.Popen(["sh", "-c", f"echo '{GEMM}' > '{tmp_path / 'pipe'}'"])
    said = imbrex("explain", str(tmp_path / "pipe"))
    assert (writer.wait(10), said.code, "5 x 7 x 9" in said.out) == (0, 0, True)


def test_a_report_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_report({"a": 1}, tmp_path / "pipe")
    assert b'"a": 1' in os.read(reader, 100) and (tmp_path / "pipe").is_fifo(), "it is not replaced"
    os.close(reader)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(Diagnostic, match="no space left on device"):
        write_report({}, tmp_path / "report.json")
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


def test_a_missing_compiler(imbrex: Imbrex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IMBREX_CXX", "no-such-compiler")
    said = imbrex("build", "gemm -m 2 -n 2 -k 2", "-o", str(tmp_path / "out"))
    assert said.code == 1
    assert "compiler 'no-such-compiler' (from IMBREX_CXX) is not on PATH" in said.errors
    assert not (tmp_path / "out").exists()


def test_a_cache_that_cannot_be_written_is_a_warning(process: Imbrex, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the directory should be")
    said = process("run", GEMM, "--seconds", "0", IMBREX_CACHE_DIR=str(tmp_path / "cache"))
    assert said.code == 0
    assert "right: 35 elements" in said.out
    assert said.errors.splitlines()[0].startswith("warning: the cache") and said.errors.count("\n") == 1
    assert "source        not kept, for no cache took it; 'imbrex build -o FOLDER' writes it" in said.out


def test_a_folder_never_holds_files_of_two_builds(imbrex: Imbrex, tmp_path: Path) -> None:
    """A directory in the place of one file: nothing of the other problem is written."""
    assert imbrex("build", GEMM, "-o", str(tmp_path)).code == 0
    (tmp_path / "gemm.so").unlink()
    (tmp_path / "gemm.so").mkdir()
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    said = imbrex("build", f"{GEMM} -beta 1", "-o", str(tmp_path))
    assert (said.code, said.out) == (1, "")
    assert f"cannot write to '{tmp_path}': 'gemm.so' there is a directory" in said.errors
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_a_closed_pipe_is_no_error(program: list[str]) -> None:
    line = f"{' '.join(map(repr, program))} explain '{CONV}' --levels | head -n 1"
    ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=HANG_S)
    assert (ended.stdout, ended.stderr) == ("// 0. problem\n", "")


def test_an_interrupt_is_one_word(program: list[str], tmp_path: Path) -> None:
    words = ["bench", "gemm -m 64 -n 64 -k 64", "--threads", "1", "--peers", "", "--seconds", "60"]
    running = subprocess.Popen(
        [*program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # `&` ignores it
        env={**os.environ, "IMBREX_CACHE_DIR": str(tmp_path / "cache")},
    )  # fmt: skip
    began = time.monotonic()
    while not (tmp_path / "cache").exists() and time.monotonic() < began + HANG_S:  # it looks for its kernel
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    try:
        out, errors = running.communicate(timeout=AGAIN_S)
    except subprocess.TimeoutExpired:  # it came where no Python code could take it: people press it again
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate(timeout=HANG_S)
    assert (running.returncode, out, errors.strip()) == (130, "", "interrupted")
