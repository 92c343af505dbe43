"""imbrex-opt: input, output, passes, and one message with exit code 1 for every mistake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from imbrex.chip import target
from imbrex.ir.opt import main
from imbrex.ir.passes import PASSES, pass_factory
from imbrex.pipeline import Request, lower
from imbrex.problem import Gemm

GEMM = """func.func @product(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>) {
  miopen.gemm(%a, %b, %c) : memref<4x8xf32>, memref<8x6xf32>, memref<4x6xf32>
  func.return
}
"""


@pytest.fixture
def gemm(tmp_path: Path) -> str:
    path = tmp_path / "gemm.mlir"
    path.write_text(GEMM)
    return str(path)


def fails(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """What the command says on stderr; it must end with exit code 1."""
    with pytest.raises(SystemExit) as ended:
        main(args)
    assert ended.value.code == 1
    return capsys.readouterr().err


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_of_the_table_exists(name: str) -> None:
    assert pass_factory(name)().name == name


def test_passes_run_in_order_and_are_printed_between(gemm: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([gemm, "-p", "conv-to-gemm,canonicalize", "--print-between-passes"])
    between, last = capsys.readouterr().out.split("// IR after conv-to-gemm:")[1].split("\n\n", 1)
    assert "miopen.gridwise_gemm" in between and "miopen.gridwise_gemm" in last


def test_output_file(gemm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([gemm, "-o", str(tmp_path / "out.mlir")])
    main([gemm])
    assert (tmp_path / "out.mlir").read_text() == capsys.readouterr().out


def test_an_output_file_stays_where_an_input_is_wrong(
    gemm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, out = tmp_path / "bad.mlir", tmp_path / "out.mlir"
    bad.write_text(f"{GEMM}// -----\nfunc.func @f( {{}}\n")
    out.write_text("what was there")
    assert "error" in fails(capsys, str(bad), "--split-input-file", "-o", str(out))
    assert out.read_text() == "what was there"
    assert "unknown pass" in fails(capsys, gemm, "-p", "nothing", "-o", str(out))
    assert out.read_text() == "what was there"


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ("conv-to-gem", "error: unknown pass 'conv-to-gem'; did you mean 'conv-to-gemm'?"),
        ("specialise{filter=x}", "error: in the passes 'specialise{filter=x}': "),
        ("specialise{filtr=1}", "error: in the passes 'specialise{filtr=1}': "),
        ("specialise{filter=1", "error: cannot read the passes 'specialise{filter=1': "),
        ('specialise{problem="conv -n 0"}', "error: "),
        ("run-time-sizes{least=9 most=4}", "'most' should be an integer from 9, got 4"),
        ("run-time-sizes{least=70000}", "'least' is 70000, and 'most' 65536 where it is not said"),
        ("conv-to-gemm{channel_multiple=0}", "'channel_multiple' should be a positive integer, got 0"),
    ],
)
def test_bad_passes(gemm: str, passes: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in fails(capsys, gemm, "-p", passes)


def test_bad_files(gemm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "missing.mlir")
    assert fails(capsys, missing) == f"error: cannot read '{missing}': No such file or directory\n"
    assert fails(capsys, gemm, "-o", str(tmp_path)) == f"error: cannot write '{tmp_path}': is a directory\n"
    (tmp_path / "bytes.mlir").write_bytes(b"\xff\xfe")
    assert "is not UTF-8 text" in fails(capsys, str(tmp_path / "bytes.mlir"))


def test_every_piece_is_read_and_one_bad_piece_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pieces.mlir"
    path.write_text(f"{GEMM}// -----\n{GEMM.replace('8x6', '7x6')}// -----\n{GEMM}")
    with pytest.raises(SystemExit) as ended:
        main([str(path), "--split-input-file"])
    assert ended.value.code == 1
    said = capsys.readouterr()
    assert said.out.count("miopen.gemm") == 2
    assert f"{path}:7:46: error: k of a and b differ: 8 and 7" in said.err
    main([str(path), "--split-input-file", "--verify-diagnostics"])
    assert "error: k of a and b differ" in capsys.readouterr().out


def test_an_output_without_room_is_one_message(gemm: str, capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/full").is_char_device():
        pytest.skip("no device that is always full")
    said = fails(capsys, gemm, "-o", "/dev/full")
    assert said == "error: cannot write '/dev/full': no space left on device\n"


def test_an_output_file_is_all_of_it_or_what_was_there(gemm: str, tmp_path: Path) -> None:
    out, link = tmp_path / "out.mlir", tmp_path / "link.mlir"
    out.write_text("what was there")
    link.symlink_to(out)
    command = [sys.executable, "-B", "-m", "imbrex.ir.opt", gemm, "-o", str(link)]
    small = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))"
    limited = [sys.executable, "-B", "-c", f"{small}; import os, sys; os.execv(sys.argv[1], sys.argv[1:])"]
    done = subprocess.run([*limited, *command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"error: cannot write '{link}': file too large\n")
    assert out.read_text() == "what was there"
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    subprocess.run(command, check=True)
    assert link.is_symlink() and "miopen.gemm" in out.read_text()


def test_stdin_and_no_traceback() -> None:
    command = [sys.executable, "-m", "imbrex.ir.opt", "-"]
    good = subprocess.run(command, input=GEMM, capture_output=True, text=True, check=False)
    assert (good.returncode, good.stderr) == (0, "") and "miopen.gemm(%a, %b, %c)" in good.stdout
    bad = subprocess.run(
        command, input=GEMM.replace("%c)", "%d)", 1), capture_output=True, text=True, check=False
    )
    assert bad.returncode == 1 and bad.stdout == ""
    assert bad.stderr.startswith("<stdin>:2:") and "Traceback" not in bad.stderr


def broken(*_: object, **__: object) -> None:
    raise ValueError("sizes [3] of [4]")


def test_a_pass_that_breaks_says_at_which_operation(
    gemm: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What verifies may still meet code that was not written for it: never a bare traceback."""
    monkeypatch.setattr("imbrex.ir.passes.conv_to_gemm._product", broken)
    said = fails(capsys, gemm, "-p", "conv-to-gemm")
    assert said.splitlines()[0] == (
        f"{gemm}:2:3: error: miopen.gemm: no pass is ready for this, ValueError: sizes [3] of [4]"
    )
    assert said.endswith("hint: a fault of Imbrex: the text verifies\n")


def test_a_pass_that_breaks_outside_of_an_operation(
    gemm: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("imbrex.ir.passes.conv_to_gemm.ConvToGemm.apply", broken)
    assert "builtin.module: no pass is ready for this" in fails(capsys, gemm, "-p", "conv-to-gemm")


def test_a_compiler_keeps_the_fault_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem is not text that somebody wrote: there it is a broken promise of ours."""
    monkeypatch.setattr("imbrex.ir.passes.conv_to_gemm._product", broken)
    with pytest.raises(ValueError, match="sizes"):
        lower(Request(Gemm(8, 8, 8), target("gfx942")))
