"""Gradients of images of which no pixel is read: nothing is multiplied, and the result is zeros."""

from __future__ import annotations

import pytest

from imbrex.kernel import Emulate, compile, target_of

LINE = "conv -n 1 -c 1 -H 1 -W 5 -k 4 -y 2 -x 3 -p 2,0 -q 2,0 -u 3 -v 3 -j 2 -F 2"


@pytest.mark.parametrize(
    ("name", "emulate"),
    [("cpu", False), ("sm_90a", True), ("gfx942", True), ("gfx942", "isa"), ("gfx950", "isa")],
)
def test_a_result_that_no_launch_writes(name: str, emulate: Emulate) -> None:
    kernel = compile(LINE, target_of(name, emulate))
    assert not kernel.tuning_texts
    assert kernel.check(1).is_right


@pytest.mark.parametrize("name", ["sm_90a", "gfx942"])
def test_a_solver_of_no_launch_has_no_empty_array(name: str) -> None:
    (solver,) = (text for file, text in compile(LINE, name).files.items() if file.endswith("_solver.cpp"))
    assert "_launch_count() { return 0; }" in solver and "{}" not in solver
