"""What text by hand may say and nothing would follow is refused at its place, with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.ir.dialect import context, load
from imbrex.ir.passes.conv_to_gemm import ConvToGemm
from imbrex.ir.passes.gridwise_to_blockwise import GridwiseToBlockwise

LIT = Path(__file__).parents[2] / "lit"
EX = """func.func @product(%a: memref<16x32xf32>, %b: memref<16x32xf32>, %c: memref<32x32xf32>) {
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 4,
    m_per_thread = 2, n_per_thread = 2, k_per_thread = 1,
    m_level0_cluster = 4, n_level0_cluster = 4, m_level1_cluster = 2, n_level1_cluster = 2,
    matrix_a_source_vector_read_dim = 1, matrix_a_source_data_per_read = 2,
    matrix_a_dest_data_per_write_dim_m = 2, matrix_b_source_vector_read_dim = 1,
    matrix_b_source_data_per_read = 2, matrix_b_dest_data_per_write_dim_n = 2,
    matrix_c_source_dest_vector_read_write_dim = 3, matrix_c_dest_data_per_write = 2,
    matrix_a_copy_cluster_lengths = [4, 16], matrix_b_copy_cluster_lengths = [4, 16], pipeline = "2x2"
  } : memref<16x32xf32>, memref<16x32xf32>, memref<32x32xf32>
  func.return
}
"""


def lowered(text: str) -> None:
    source = load(text)
    with source.sources.diagnosing():
        GridwiseToBlockwise().apply(context(), source.module)


def test_the_text_that_nothing_is_wrong_with() -> None:
    lowered(EX)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("k_per_thread = 1", "k_per_thread = 2", "work items take one k at a time: write 1"),
        (
            "a_source_vector_read_dim = 1",
            "a_source_vector_read_dim = 0",
            "along gemmK, of which 1",
        ),
        ("a_source_data_per_read = 2", "a_source_data_per_read = 3", "is a power of two, got 3"),
        ("c_dest_data_per_write = 2", "c_dest_data_per_write = 5", "is a power of two, got 5"),
        (
            "vector_read_write_dim = 3",
            "vector_read_write_dim = 1",
            "along gemmM, of which 1",
        ),
        (
            "vector_read_write_dim = 3",
            "vector_read_write_dim = 0",
            "C lie along 1 (m) or 3 (n) here, not 0",
        ),
        (
            'pipeline = "2x2"',
            'pipeline = "2x2", clusters = 3',
            "'clusters' is for 'warpgroup'",
        ),
        (
            'pipeline = "2x2"',
            'pipeline = "2x2", schedule = { mode = "split_k" }',
            "'workgroups' is needed where workgroups share tiles",
        ),
        (
            'pipeline = "2x2"',
            'pipeline = "2x2", schedule = { mode = "cluster_k", workgroups = 2 }',
            "cluster_k is for the pipeline 'warpgroup'",
        ),
        (
            'pipeline = "2x2"',
            'pipeline = "2x2", phases = { of = [0], rows = 1, run = 1, residues = 1, lengths = [1] }',
            "'phases' is for 'warpgroup'",
        ),
    ],
)
def test_numbers_that_nothing_would_follow(right: str, wrong: str, message: str) -> None:
    assert right in EX
    with pytest.raises(Diagnostic) as caught:
        lowered(EX.replace(right, wrong, 1))
    assert message in caught.value.message and caught.value.line is not None


def test_the_first_drafts_parameters_are_empty() -> None:
    text = """func.func @f(%a: memref<16x32xf32>, %b: memref<16x32xf32>, %c: memref<32x32xf32>) {
  miopen.gridwise_gemm(%a, %b, %c) { parameters = [NUMBERS] }
  func.return
}
"""
    load(text.replace("NUMBERS", ""))
    with pytest.raises(Diagnostic, match="the draft does not say what these are"):
        load(text.replace("NUMBERS", "128, 128, 16"))


@pytest.mark.parametrize(("entry", "is_right"), [("1: c, 2: y, 3: x", True), ("1: c, 3: x, 2: y", False)])
def test_an_unfold_is_of_neighbours(entry: str, is_right: bool) -> None:
    text = f"""func.func @f(%filter: memref<8x2x3x3xf32>) {{
  %m = miopen.transform(%filter) {{
    layout = [
      0: unfold({entry}), gemmK
      1: passthrough(0: k), gemmM
    ]
  }} : memref<8x2x3x3xf32> to memref<18x8xf32>
  func.return
}}
"""
    if is_right:
        load(text)
        return
    with pytest.raises(Diagnostic, match="c, x, y are not next to one another in memory") as caught:
        load(text)
    assert (caught.value.line, caught.value.col) == (4, 10)


def test_a_view_of_b_is_k_by_n() -> None:
    text = (LIT / "seed_blockwise.mlir").read_text()
    slip = text.replace(
        "%matrix_block_b_even = miopen.subview(%block_b_even, %c0) { dimension = [%k, %n] }",
        "%matrix_block_b_even = miopen.subview(%block_b_even, %c0) { dimension = [%k, %m] }",
    )
    assert slip != text
    with pytest.raises(Diagnostic, match=r"'b' is seen as \[k, %m\], but is \[k, %n\]"):
        load(slip)


def test_prose_is_quoted_as_it_stands() -> None:
    with pytest.raises(Diagnostic, match=r"'linalg\.conv -> miopen\.conv' is prose"):
        load("func.func @f() {\n  linalg.conv -> miopen.conv\n  func.return\n}\n")


def test_a_pass_that_is_asked_for_runs_before() -> None:
    text = """func.func @f(%a: memref<8x7xf16>, %b: memref<7x8xf16>, %c: memref<8x8xf16>) {
  miopen.gemm(%a, %b, %c) { aligned = true }
  func.return
}
"""
    source = load(text)
    with pytest.raises(Diagnostic, match="this asks for the pass 'aligned-rows'; run it before"):
        with source.sources.diagnosing():
            ConvToGemm().apply(context(), source.module)
