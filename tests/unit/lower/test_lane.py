"""Copies of one work item: as wide in memory as its vector, wherever the elements belong in the registers."""

from __future__ import annotations

import pytest

from imbrex.chip import GPU_MACHINES
from imbrex.config import tuning
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
