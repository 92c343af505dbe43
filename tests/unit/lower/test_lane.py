"""Copies of one work item: as wide in memory as its vector, wherever the elements belong in the registers."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.chip import GPU_MACHINES
from imbrex.config import tuning
from imbrex.ir.dialect import load
from imbrex.lower.build import program
from imbrex.lower.stmt import Kernel, MulAdd, walk
from imbrex.pipeline import Request, lower
from imbrex.problem import Gemm


def text(k_per_block: int, k: int = 64, chip: str = "sm_90a") -> str:
    """Of a product of which both operands lie along k."""
    chosen = tuning.parse(f"v1:general:256,128,128,{k_per_block},4,4")
    gemm = Gemm(128, 128, k, transpose_b=True)
    return lower(Request(gemm, GPU_MACHINES[chip], chip, chosen)).bundle.files["kernel.hpp"]


@pytest.mark.parametrize("chip", ["sm_90a", "gfx90a"])
@pytest.mark.parametrize("k_per_block", [8, 16])
def test_loads_are_vectors(k_per_block: int, chip: str) -> None:
    """Of 8 a work item takes 4 neighbours, which are its registers; of 16 it takes 4 x 2, along k."""
    found = text(k_per_block, chip=chip)
    assert "imbrex::load<4>(" in found and "imbrex::load<1>(" not in found
    assert ("imbrex::load<4>(thread_vector, a" in found) is (k_per_block == 16)


def test_what_is_no_vector_in_memory_is_loaded_one_by_one() -> None:
    assert "imbrex::load<4>(" not in text(16, k=65)


def test_a_product_of_several_steps_takes_a_row_of_each_in_turn() -> None:
    """Registers of 3 x 2 and 3 x 4, one by one."""
    sizes = {"%a": "3x2", "%b": "3x4", "%c": "2x4"}
    held = "".join(f"    {name} = miopen.alloc() : memref<{size}xf32, #5>\n" for name, size in sizes.items())
    text = (
        "func.func @product(%x: memref<3x2xf32>, %y: memref<2x4xf32>) {\n"
        "  miopen.launch(%wg, %item) { grid_size = 1, block_size = 64 } do {\n"
        f"{held}    miopen.threadwise_gemm(%a, %b, %c)\n  }}\n  func.return\n}}\n"
    )
    (kernel,) = program(load(text).module, frozenset({1})).launches
    assert isinstance(kernel, Kernel)
    (step,) = (s for s in walk(kernel.body) if isinstance(s, MulAdd))
    names = ("k_thread", "m_thread", "n_thread")
    for k, m, n in np.ndindex(3, 2, 4):
        at = dict(zip(names, (k, m, n), strict=True))
        taken = [ref.offset.eval(at) for ref in (step.a, step.b, step.c)]
        assert taken == [2 * k + m, 4 * k + n, 4 * m + n]
