"""Each slip of the notes, put back alone into the repaired text: its message, and what its carets mark."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.ir.dialect import load
from imbrex.ir.opt import main

LIT = Path(__file__).parents[2] / "lit"


class Slip(NamedTuple):
    file: str
    repaired: str
    slip: str
    carets: str
    line: str
    message: str
    everywhere: bool = False


RANK_7 = "memref<?x?x?x?x?x?x?xf32>"
RANK_6 = "memref<?x?x?x?x?x?xf32>"

SLIPS = {
    "misspelt kind": Slip(
        "seed_forward",
        'transformation = "pad"',
        'transformation = "paad"',
        '"paad"',
        '        transformation = "paad",',
        "unknown transformation 'paad'; did you mean 'pad'?",
    ),
    "misspelt kind, compact": Slip(
        "draft_forward",
        "1: passthrough(0: k), gemmM",
        "1: passthorugh(0: k), gemmM",
        "passthorugh",
        "      1: passthorugh(0: k), gemmM",
        "unknown transformation 'passthorugh'; did you mean 'passthrough'?",
    ),
    "wrong name": Slip(
        "seed_forward",
        'source_names = ["k"]',
        'source_names = ["n"]',
        '"n"',
        '        source_names = ["n"]',
        "source dimension 0 is 'k', not 'n'; write 'k'",
    ),
    "short name in the list": Slip(
        "seed_forward",
        'source_layout = ["n", "c", "hi", "wi"]',
        'source_layout = ["n", "c", "h", "w"]',
        '"h"',
        '    source_layout = ["n", "c", "h", "w"]',
        "'source_layout' calls source dimension 2 'h'; write 'hi'",
    ),
    "long name in the list": Slip(
        "seed_forward",
        'source_layout = ["n", "k", "ho", "wo"]',
        'source_layout = ["n", "ko", "ho", "wo"]',
        '"ko"',
        '    source_layout = ["n", "ko", "ho", "wo"]',
        "'source_layout' calls source dimension 1 'ko'; write 'k'",
    ),
    "wrong dimension": Slip(
        "seed_forward",
        'source_dimensions = [3],\n          source_names = ["wipad"]',
        'source_dimensions = [2],\n          source_names = ["wipad"]',
        "2",
        "          source_dimensions = [2],",
        "'wipad' is source dimension 3, not 2; write 3",
    ),
    "wrong dimension, compact": Slip(
        "draft_forward",
        "embed(3: wipad",
        "embed(2: wipad",
        "2",
        "      [4, 5]: embed(2: wipad, 2, [1, 1, 0]), [x, wo]",
        "'wipad' is source dimension 3, not 2; write 3",
    ),
    "rank 7": Slip(
        "draft_forward",
        RANK_6,
        RANK_7,
        RANK_7,
        f"  }} : memref<?x?x?x?xf32> to {RANK_7}",
        f"the result type has rank 7 but 6 dimensions are named: n, c, y, ho, x, wo; write {RANK_6}",
        everywhere=True,
    ),
    "comma after a number": Slip(
        "seed_backward_data",
        "gridwise_gemm_argument_position = 0,",
        "gridwise_gemm_argument_position = 0",
        "",
        "    gridwise_gemm_argument_position = 0",
        "missing ',' after 'gridwise_gemm_argument_position = 0'",
    ),
    "comma after a list": Slip(
        "seed_backward_data",
        'intermediate_layout = ["n", "c", "hipad", "wipad"],',
        'intermediate_layout = ["n", "c", "hipad", "wipad"]',
        "",
        '    intermediate_layout = ["n", "c", "hipad", "wipad"]',
        'missing \',\' after \'intermediate_layout = ["n", "c", "hipad", "wipad"]\'',
    ),
    "doubled list": Slip(
        "seed_forward",
        "  layout = [\n",
        "  layout = [\n      layout = [\n",
        "layout",
        "      layout = [",
        "'layout =' is opened a second time; remove this line",
    ),
    "no cross": Slip(
        "draft_forward",
        "memref<?x?x?x?xf32> to memref<?x?x?x?xf32>",
        "memref<?x?x?x?xf32> to memref<?x?x?x?f32>",
        "f32",
        "  } : memref<?x?x?x?xf32> to memref<?x?x?x?f32>",
        "missing 'x' between the last size and 'f32'; write 'xf32'",
    ),
    "hash comment": Slip(
        "seed_blockwise",
        "  %c0 = arith.constant 0 : index\n",
        "  # views of LDS\n  %c0 = arith.constant 0 : index\n",
        "#",
        "  # views of LDS",
        "a comment starts with '//', not with '#'; write '//'",
    ),
    "misspelt value": Slip(
        "seed_gridwise_gemm_ex",
        "%matrix_b, %matrix_c) {",
        "%matrix_b, %matric_c) {",
        "%matric_c",
        "  miopen.gridwise_gemm_ex(%matrix_a, %matrix_b, %matric_c) {",
        "'%matric_c' is used but not defined; did you mean '%matrix_c'?",
    ),
    "letters for sizes": Slip(
        "seed_gridwise_gemm_ex",
        "} : memref<?x?xf32>,",
        "} : memref<kxmxf32>,",
        "kxmxf32",
        "  } : memref<kxmxf32>, memref<?x?xf32>, memref<?x?xf32>",
        "'kxmxf32' is not a shape; a size is a number or '?', as in 'memref<?x?xf32>'",
    ),
    "prose": Slip(
        "seed_forward",
        "  miopen.conv2d(",
        "  linalg.conv -> miopen.conv2d\n  miopen.conv2d(",
        "->",
        "  linalg.conv -> miopen.conv2d",
        "'linalg.conv -> miopen.conv2d' is prose; remove the line, and run linalg-to-miopen",
    ),
    "old loop": Slip(
        "seed_blockwise",
        "scf.for %iter",
        "loop.for %iter",
        "loop.for",
        "  loop.for %iter = %c0 to %total_iteration step %c1 {",
        "'loop.for' is written 'scf.for %i = %from to %to step %step { ... }'",
    ),
    "no step": Slip(
        "seed_blockwise",
        " step %c1 {",
        " {",
        "{",
        "  scf.for %iter = %c0 to %total_iteration {",
        "expected 'step'",
    ),
    "old condition": Slip(
        "seed_blockwise",
        "scf.if %has",
        "loop.if %has",
        "loop.if",
        "  loop.if %has_one_iteration_left {",
        "'loop.if' is written 'scf.if %condition { ... } else { ... }'",
    ),
    "unequal types": Slip(
        "seed_blockwise",
        "miopen.fill(%matrix_thread_c, %c0) : memref<?x?xf32, #5>",
        "miopen.fill(%thread_c, %c0) : memref<?xf32, #5>",
        "%thread_c",
        "  miopen.fill(%thread_c, %c0) : memref<?xf32, #5>",
        "'%thread_c' has type memref<?xi8, #5>; write that instead of memref<?xf32, #5>",
    ),
    "word for a number": Slip(
        "seed_blockwise",
        "move_source_offset = 16",
        "move_source_offset = k_per_block",
        "k_per_block",
        "    miopen.blockwise_copy(%matrix_a, %thread_a_even) { move_source_offset = k_per_block } :"
        " memref<?x?xf32>, memref<?xi8, #5>",
        "expected a value, got the word 'k_per_block'; write its number, or \"k_per_block\" for a name",
    ),
    "left open": Slip(
        "seed_threadwise",
        "offset_source = 0",
        "offset_source = TBD",
        "TBD",
        "  miopen.threadwise_copy(%block_a, %thread_a) { offset_source = TBD }",
        "'TBD' marks a value that the notes leave open; write a number",
    ),
    "arithmetic": Slip(
        "seed_threadwise",
        "arith.divui %K, %k_per_thread_loop : index",
        "%K / %k_per_thread_loop",
        "%K",
        "  %total_iteration = %K / %k_per_thread_loop",
        "expected an operation after '='; arithmetic on SSA values is written with operations such as"
        " arith.muli and arith.divui",
    ),
    "literal bounds": Slip(
        "seed_threadwise",
        "scf.for %iter_a = %c0 to",
        "scf.for %iter_a = 0 to",
        "0",
        "    scf.for %iter_a = 0 to %repeat_a step %c1 {",
        "operand expected",
    ),
}

BUFFERS = {
    "even stored for odd": Slip(
        "seed_blockwise",
        "miopen.blockwise_copy(%thread_a_odd, %block_a_even)",
        "miopen.blockwise_copy(%thread_a_even, %block_a_even)",
        "%thread_a_even",
        "    miopen.blockwise_copy(%thread_a_even, %block_a_even) : memref<?xi8, #5>, memref<?xi8, #3>",
        "is never read; write '%thread_a_odd' here",
    ),
    "offset twice": Slip(
        "seed_blockwise",
        "miopen.subview(%block_a_odd, %c0)",
        "miopen.subview(%block_a_odd, %block_a_half)",
        "%block_a_half",
        "  %matrix_block_a_odd = miopen.subview(%block_a_odd, %block_a_half) { dimension = [%k, %m] } :"
        " memref<?xi8, #3> to memref<?x?xf32, #3>",
        "'%block_a_half' is added twice: '%block_a_odd' already starts there; write 0",
    ),
    "b on a": Slip(
        "seed_blockwise",
        "miopen.subview(%block_shared, %block_a_size)",
        "miopen.subview(%block_shared, %c0)",
        "%c0",
        "  %block_b = miopen.subview(%block_shared, %c0) : memref<?xi8, #3> to memref<?xi8, #3>",
        "'%block_b' lies on '%block_a': both start at '%c0'; write the size of '%block_a'",
    ),
}


def with_slip(slip: Slip) -> tuple[str, str]:
    """The repaired text and the text with the slip; the text's own checks are left out."""
    text = (LIT / f"{slip.file}.mlir").read_text().split("\n// CHECK")[0]
    assert slip.repaired in text
    return text, text.replace(slip.repaired, slip.slip, -1 if slip.everywhere else 1)


@pytest.mark.parametrize("slip", SLIPS.values(), ids=SLIPS)
def test_slip_is_shown_with_its_repair(slip: Slip) -> None:
    repaired, text = with_slip(slip)
    load(repaired, "notes.mlir")
    with pytest.raises(Diagnostic) as caught:
        load(text, "notes.mlir")
    shown = str(caught.value).splitlines()
    line, column = caught.value.line, caught.value.col
    assert shown[0] == f"notes.mlir:{line}:{column}: error: {slip.message}"
    assert shown[1] == slip.line
    assert text.splitlines()[line - 1] == slip.line
    carets = slip.line[column - 1 : column - 1 + shown[2].count("^")]
    assert carets == slip.carets
    assert shown[2] == " " * (column - 1) + "^" * max(1, len(slip.carets))


@pytest.mark.parametrize("slip", BUFFERS.values(), ids=BUFFERS)
def test_slip_in_the_use_of_buffers(slip: Slip, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repaired, text = with_slip(slip)
    path = tmp_path / "notes.mlir"
    path.write_text(repaired)
    main([str(path), "-p", "check-buffers"])
    capsys.readouterr()
    path.write_text(text)
    with pytest.raises(SystemExit) as ended:
        main([str(path), "-p", "check-buffers"])
    assert ended.value.code == 1
    head, line, carets = capsys.readouterr().err.splitlines()
    assert head.endswith(slip.message) and head.startswith(f"{path}:")
    assert line == slip.line
    start = carets.index("^")
    assert line[start : start + carets.count("^")] == slip.carets
