"""imbrex-opt --execute and --compare: what a module does to operands, faults at their lines, differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from imbrex.ir.opt import main

CONV = str(Path(__file__).parents[3] / "examples" / "conv.mlir")
TO_GEMM = "conv-to-gemm,unfold"
TO_BLOCKS = f'{TO_GEMM},affix-tuning{{config="v1:general:64,32,32,4,2,2"}},gridwise-to-blockwise'


def says(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    main(args)
    return capsys.readouterr().out


def fails(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(args)
    assert ended.value.code == 1
    return capsys.readouterr().err


@pytest.mark.parametrize("passes", ["", TO_GEMM, TO_BLOCKS, f"{TO_BLOCKS},blockwise-to-threadwise"])
def test_every_level_gives_what_the_text_gives(passes: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = says(capsys, CONV, "-p", passes, "--compare", CONV)
    assert "output: 1x8x4x4xf32, written, -42 to 50, sum 108\n" in said
    assert said.endswith(f"'{CONV}' gives the same\n")


def test_operands_come_from_files_and_go_to_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given, kept = tmp_path / "x.npy", tmp_path / "y.npy"
    np.save(given, np.ones((1, 2, 6, 6), np.float32))
    np.save(tmp_path / "w.npy", np.ones((8, 2, 3, 3), np.float32))
    files = ["--operand", f"input={given}", "--operand", f"%filter={tmp_path / 'w.npy'}"]
    said = says(capsys, CONV, "--execute", *files, "--save", f"output={kept}")
    assert f"input: 1x2x6x6xf32, from {given}, as it was" in said
    assert (np.load(kept) == 18).all()


def test_a_seed_draws_other_operands(capsys: pytest.CaptureFixture[str]) -> None:
    assert says(capsys, CONV, "--execute", "--seed", "1") != says(capsys, CONV, "--execute")


def test_where_two_modules_differ_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Views of the same convolution, with the filter's window read along x first."""
    path = tmp_path / "turned.mlir"
    main([CONV, "-p", TO_GEMM, "--compact", "-o", str(path)])
    path.write_text(path.read_text().replace("unfold(1: c, 2: y, 3: x)", "merge(1: c, 3: x, 2: y)"))
    said = fails(capsys, CONV, "--compare", str(path))
    assert said.startswith("error: 'output' differs first at [0, 0, 0, 0]: ")
    assert "of 128 elements differ" in said


TEXT = """func.func @copy(%x: memref<4xf32>, %y: memref<4xf32>) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 4 } do {
    %block = miopen.alloc() : memref<4xf32, #3>
    %own = miopen.alloc() : memref<1xf32, #5>
    %whose = miopen.transform(%block) {
      layout = [
        0: passthrough(0: e), item
        1: broadcast(), n
      ]
    } : memref<4xf32, #3> to memref<4x1xf32, #3>
    %from = miopen.transform(%x) {
      layout = [
        0: passthrough(0: e), item
        1: broadcast(), n
      ]
    } : memref<4xf32> to memref<4x1xf32>
    %to = miopen.transform(%y) {
      layout = [
        0: passthrough(0: e), item
        1: broadcast(), n
      ]
    } : memref<4xf32> to memref<4x1xf32>
    BODY
  }
  func.return
}
"""
GOOD = """miopen.threadwise_copy(%from[%item], %own)
    miopen.threadwise_copy(%own, %whose[%item])
    miopen.lds_barrier()
    miopen.threadwise_copy(%whose[%item], %own)
    miopen.threadwise_copy(%own, %to[%item])"""
BAD = {
    "a race": (
        "\n".join(GOOD.splitlines()[:2])
        + "\n    %all = miopen.alloc() : memref<4xf32, #5>\n    miopen.threadwise_copy(%block, %all)",
        "26:5: error: miopen.threadwise_copy: reads byte 0 of LDS that another work item wrote",
    ),
    "what nobody wrote, stored": (
        GOOD.splitlines()[-1].strip(),
        "23:5: error: miopen.threadwise_copy: stores what nobody has written to element 0",
    ),
    "what nobody wrote, summed": (
        "miopen.threadwise_gemm(%tile, %tile, %sums)\n    miopen.threadwise_copy(%sums, %to[%item])",
        "28:5: error: miopen.threadwise_copy: stores what nobody has written",
    ),
    "an index outside": (
        f"%c7 = arith.constant 7 : index\n    {GOOD}".replace("%from[%item]", "%from[%c7]"),
        "24:5: error: miopen.threadwise_copy: index 7 of dimension 0 lies outside of its size 4",
    ),
    "a flag that nobody raises": (
        "%c0 = arith.constant 0 : index\n    miopen.await(%flags[%c0])",
        "a workgroup waits for flag [0], which nobody has raised",
    ),
    "no meaning": (
        "%v = memref.load %x[%item] : memref<4xf32>",
        "23:5: error: memref.load: cannot be executed",
    ),
}


def written(tmp_path: Path, body: str) -> str:
    path = tmp_path / "text.mlir"
    text = TEXT.replace("BODY", body)
    if "%tile" in body:
        text = text.replace(
            "    %from =",
            "    %tile = miopen.alloc() : memref<1x1xf32, #5>\n"
            "    %sums = miopen.alloc() : memref<1x1xf32, #5>\n"
            "    %zero = arith.constant 0.0 : f32\n    miopen.fill(%sums, %zero)\n    %from =",
        )
    if "%flags" in body:
        flags = "  %flags = miopen.workspace() { zeroed = true } : memref<1xi32>"
        text = text.replace("  miopen.launch", f"{flags}\n  miopen.launch")
    path.write_text(text)
    return str(path)


def test_the_text_without_faults_copies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = says(capsys, written(tmp_path, GOOD), "--execute", "--save", f"y={tmp_path / 'y.npy'}")
    assert "y: 4xf32, written" in said


@pytest.mark.parametrize("fault", BAD)
def test_a_fault_is_said_at_its_line(fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body, message = BAD[fault]
    path = written(tmp_path, body)
    said = fails(capsys, path, "--execute")
    assert message in said and said.startswith(f"{path}:") and "Traceback" not in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--execute", "--operand", "inputs=x.npy"], "there is no operand 'inputs'; did you mean 'input'?"),
        (["--execute", "--operand", "input"], "'--operand' takes NAME=FILE.npy, got 'input'"),
        (["--execute", "--operand", "input=none.npy"], "cannot read 'none.npy': No such file or directory"),
        (["--execute", "--operand", f"input={CONV}"], f"'{CONV}' is no .npy file"),
        (["--execute", "--save", "z=z.npy"], "there is no operand 'z'"),
        (["--execute", "--function", "other"], "there is no function 'other'"),
        (["--compare", "none.mlir"], "cannot read 'none.mlir'"),
        (["--execute", "--seed", "-1"], "'--seed' is a whole number from 0 on, got -1"),
    ],
)
def test_bad_options_are_one_message(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in fails(capsys, CONV, *options)


def test_an_array_of_another_shape_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", np.ones((2, 6, 6)))
    said = fails(capsys, CONV, "--execute", "--operand", f"input={tmp_path / 'x.npy'}")
    assert "holds 2x6x6 of float64, but 'input' is 1x2x6x6 of float32" in said
