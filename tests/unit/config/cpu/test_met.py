"""The part of K that register tiles meet, and so are paid for."""

from __future__ import annotations

import pytest
from tests.unit.config.convs import convolution

from imbrex.config.access import context_of
from imbrex.config.cpu.met import MOST_MET, met, run_of_steps
from imbrex.config.cpu.plan import CpuPlan, CpuTuning
from imbrex.dtype import F32, I8, DType
from imbrex.view.conv.implicit_gemm import forward

LAST = ("k y x c", "n hi wi c", "n ho wo k")
FIRST = ("k c y x", "n c hi wi", "n k ho wo")


def plan(
    dilation: int, layouts: tuple[str, str, str], k_block: int = 640, dtype: DType = F32, **more: str
) -> CpuPlan:
    """Windows of 3x3 over 64 channels of 20x20, as large as their result."""
    conv = convolution(
        n=1, c=64, h=20, w=20, k=48, y=3, x=3, pad=dilation, dilation=dilation, layouts=layouts
    )
    swapped = layouts == LAST
    tuning = CpuTuning(4, 32, 400, 96, k_block, 16, "k_blocked", "b", swapped, **more)
    return tuning.plan(context_of(forward(conv), dtype))


def test_what_is_padding_in_all_of_a_panel_is_not_paid_for() -> None:
    """A row of 20 pixels is five panels of A; of B a panel has 32 columns."""
    rows, columns = (2 * 11 + 20) / 60, (2 * 12 + 20) / 60
    assert met(plan(9, LAST)) == pytest.approx(rows * columns)
    assert met(plan(1, LAST)) == pytest.approx(58 / 60)
    assert met(plan(9, FIRST)) < 0.85 < MOST_MET
    assert met(plan(1, FIRST)) == 1.0, "so few are not listed"
    assert met(plan(9, LAST, dtype=I8, unit="vpdpbusd")) == 1.0, "sums begin at what all of B makes of them"


def test_steps_cut_runs() -> None:
    assert [run_of_steps(64.0, plan(1, LAST, k)) for k in (640, 192, 144)] == [64, 64, 16]
