"""The problem that an interpreter executes for a larger one: like it in all but its sizes, and small."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from imbrex.cli.meaning import small
from imbrex.problem import Conv2d, Gemm

IMAGE: dict[str, Any] = {"n": 9, "c": 96, "h": 56, "w": 60, "k": 96, "y": 3, "x": 5}
SIZES = ("n", "c", "h", "w", "k", "groups")


def test_a_product_is_cut_along_all_of_its_dims() -> None:
    found = small(Gemm(1000, 1000, 1000, batch=7, dtype="f16", transpose_a=True, beta=1.0))
    assert found == Gemm(19, 21, 13, batch=2, dtype="f16", transpose_a=True, beta=1.0)


@pytest.mark.parametrize("problem", [Gemm(20, 20, 20), Conv2d("forward", 1, 2, 5, 5, 3, 3, 3)])
def test_what_is_small_stays(problem: Any) -> None:
    assert small(problem) == problem


@pytest.mark.parametrize("given", [
    {}, {"stride": 2}, {"dilation": 2}, {"pad_h": 1, "pad_w": (2, 1)}, {"groups": 12, "stride": (2, 1)},
])  # fmt: skip
def test_a_convolution_keeps_its_window_and_has_six_rows_and_columns(given: dict[str, Any]) -> None:
    """As many as show both borders and what lies between; channels as few as groups have at least."""
    problem = Conv2d("forward", **IMAGE, **given)
    found = small(problem)
    assert isinstance(found, Conv2d)
    assert (found.ho, found.wo) == (6, 6)
    each = found.groups
    assert each == min(problem.groups, 2) and (found.n, found.c, found.k) == (2, 4 * each, 6 * each)
    sizes = {name: getattr(found, name) for name in SIZES}
    assert replace(problem, **sizes) == found
