"""Tiles of more sums than a consumer keeps beside anything else: where they are legal, and looked at."""

from __future__ import annotations

from itertools import product

import pytest
from tests.unit.config.warpgroup.test_measured import product_of

from imbrex.chip import WARPGROUPS as MACHINE
from imbrex.config.legal import check
from imbrex.config.tuning import parse
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.warpgroup.space import warpgroup_space

SIZE = "-m 1304 -n 1624 -k 4096"


@pytest.mark.parametrize(
    ("text", "most"),
    [
        (f"gemm -t f16 {SIZE} -transA 1 -transB 0", 192),
        (f'gemm -t f16 {SIZE} -transA 0 -transB 1 --epilogue "gelu(x + bias)"', 176),
        (f'gemm -t f16 {SIZE} -transA 0 -transB 1 --epilogue "relu(x + residual)"', 144),
        (f"gemm -t f16 {SIZE} -transA 0 -transB 1 -beta 1", 144),
        ("gemm -t f16 -m 1304 -n 1624 -k 4095 -transA 0 -transB 1", 128),
        (f"gemm -t i8 {SIZE} -transA 0 -transB 0", 128),
    ],
)
def test_a_consumer_has_as_many_sums_as_what_it_keeps_beside_them_leaves(text: str, most: int) -> None:
    """Compiled, more spill registers: for what an epilogue reads, C, and addresses of lanes that load."""
    for sums, side in product((128, 144, 176, 192), ("straight", "swapped")):
        tuning = parse(f"v1:warpgroup:128,{sums},64,4,2,1,1,pingpong,{side},4")
        assert isinstance(tuning, WarpgroupTuning)
        broken = {reason.rule for reason in check(tuning, product_of(text), MACHINE)}
        assert ("registers" in broken) == (sums > most)


@pytest.mark.parametrize(
    ("size", "is_timed"),
    [
        ("f16 -m 1304 -n 1624 -k 4096", True),
        ("f16 -m 16384 -n 16384 -k 16384", False),
        ("i8 -m 1304 -n 1624 -k 8192", False),
    ],
)
def test_large_tiles_are_looked_at_where_times_tell_of_them(size: str, is_timed: bool) -> None:
    """The model alone ranks them first at 16384 cubed, where they take 1.045 times as long."""
    product = product_of(f"gemm -t {size} -transA 0 -transB 1")
    found = warpgroup_space(product, MACHINE)
    rows = {tuning.m_per_block for tuning in found}
    most = max(tuning.plan(product).accumulators for tuning in found)
    assert ({256, 384} <= rows, most > 128) == (is_timed, is_timed)
