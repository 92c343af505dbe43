"""What the passes build: the launch that the plan foresees, places in the text; what text by hand may do."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

from imbrex.config import tuning
from imbrex.config.cpu.plan import CpuPlan
from imbrex.config.general.plan import GeneralPlan
from imbrex.dtype import dtype
from imbrex.ir.dialect import context, load
from imbrex.ir.meaning import execute
from imbrex.ir.ops import AllocOp, GridwiseGemmOp, LaunchOp, TransformOp
from imbrex.ir.passes.affix_tuning import gemm_context
from imbrex.ir.passes.blockwise_to_threadwise import BlockwiseToThreadwise
from imbrex.ir.printed import print_module
from imbrex.ir.shape import LDS, element_of, shape_of, space_of, times
from imbrex.problem import Conv2d, Gemm

from .levels import Case

TUNINGS = [
    "v1:general:64,32,32,4,2,2",
    "v1:general:256,128,128,8,4,4",
    "v1:general:128,128,64,16,4,4",
    "v1:general:256,32,32,8,2,2",
    "v1:cpu:4,16,8,32,20,16,k_blocked,b,swapped",
    "v1:cpu:6,32,48,256,64,16,k_major,a,straight",
]
PROBLEMS = [Gemm(70, 300, 33, batch=3), Conv2d("forward", 2, 6, 9, 9, 8, 3, 3, groups=2, dtype="f16")]


@pytest.mark.parametrize("text", TUNINGS)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.key())
def test_the_launch_is_the_plan(problem: Conv2d | Gemm, text: str) -> None:
    case = Case(problem, text)
    (product,) = (op for op in case.lowered("unfold").walk() if isinstance(op, GridwiseGemmOp))
    plan = tuning.parse(text).plan(gemm_context(product))
    module = case.lowered("gridwise-to-blockwise")
    (launch,) = (op for op in module.walk() if isinstance(op, LaunchOp))
    assert launch.grid_size.data == plan.grid_size
    shared = [op.result for op in module.walk() if isinstance(op, AllocOp) and space_of(op.result) == LDS]
    lds_bytes = sum((times(shape_of(v)) or 0) * dtype(str(element_of(v))).bytes for v in shared)
    match plan:
        case GeneralPlan():
            assert launch.block_size.data == plan.tuning.block_size
            assert lds_bytes == plan.lds_bytes
        case CpuPlan():
            assert launch.block_size.data == 1
            assert lds_bytes <= plan.a_panel_bytes + plan.b_panel_bytes
        case _:
            pytest.fail("no such plan")


@pytest.mark.parametrize("text", [TUNINGS[0], TUNINGS[4]])
def test_every_operation_keeps_the_place_of_the_one_it_comes_from(text: str) -> None:
    case = Case(Gemm(8, 8, 12, alpha=2.0), text)
    source = print_module(case.lowered("problem"))
    module = load(source, "product.mlir").module
    line = 1 + next(i for i, words in enumerate(source.splitlines()) if "miopen.gemm" in words)
    for step in case.passes():
        step.apply(context(), module)
    made = [op for op in module.walk() if _is_ours(op)]
    assert len(made) > 20
    assert {_line(op) for op in made} == {line}


def _is_ours(op: Operation) -> bool:
    return op.name.split(".")[0] in ("miopen", "arith", "scf")


def _line(op: Operation) -> int | None:
    return op.location.line.data if isinstance(op.location, FileLineColLoc) else None


def test_unfold_changes_only_the_word() -> None:
    before, after = (Case(PROBLEMS[1]).lowered(name) for name in ("conv-to-gemm", "unfold"))
    assert print_module(after).count('"unfold"') == 1
    assert print_module(after).replace('"unfold"', '"merge"') == print_module(before)


BY_HAND = """
func.func @by_hand(%a: memref<2x4x16xf32>, %b: memref<2x4x16xf32>, %c: memref<64x2x2xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 64 } do {
    %lds_a = miopen.alloc() : memref<4x16xf32, #3>
    %lds_b = miopen.alloc() : memref<4x16xf32, #3>
    %thread_b = miopen.alloc() : memref<1x1xf32, #5>
    %thread_c = miopen.alloc() : memref<2x2xf32, #5>
    miopen.fill(%thread_c, %zero) : memref<2x2xf32, #5>
    miopen.blockwise_copy(%a[%c0], %lds_a) { move_source_offset = 4, cluster_lengths = [4, 16] }
    miopen.blockwise_copy(%b[%c0], %thread_b) { move_source_offset = 4, cluster_lengths = [4, 16] }
    miopen.blockwise_copy(%thread_b, %lds_b) { cluster_lengths = [4, 16] }
    miopen.lds_barrier()
    miopen.blockwise_gemm(%lds_a, %lds_b, %thread_c) {
      m_per_thread = 2, n_per_thread = 2, k_per_thread = 1,
      m_level0_cluster = 4, n_level0_cluster = 4, m_level1_cluster = 2, n_level1_cluster = 2,
      matrix_a_source_data_per_read = 1, matrix_b_source_data_per_read = 1
    }
    miopen.threadwise_copy(%thread_c, %c[%item])
  }
  func.return
}
"""


def test_a_workgroup_written_by_hand_lowers_too() -> None:
    """Plain buffers instead of views, no pipeline named; C as the work items hold it."""
    module = load(BY_HAND).module
    a, b = (np.arange(128, dtype=np.float32).reshape(2, 4, 16) % p for p in (7, 11))
    for step in (None, BlockwiseToThreadwise()):
        if step is not None:
            step.apply(context(), module)
            module.verify()
        c = np.full((64, 2, 2), np.nan, np.float32)
        execute(module, [a, b, c])
        # work items are numbered (m_level1, n_level1, m_level0, n_level0)
        tile = c.reshape(2, 2, 4, 4, 2, 2).transpose(0, 2, 4, 1, 3, 5).reshape(16, 16)
        assert np.array_equal(tile, a[1].T @ b[1])
    assert any(isinstance(op, TransformOp) for op in module.walk())
