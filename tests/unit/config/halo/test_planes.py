"""Halo weights out of planes: where they are read as they lie, and what the model takes there."""

from __future__ import annotations

import pytest

from imbrex.chip import GPU_MACHINES
from imbrex.config import legal
from imbrex.config.access import context_of
from imbrex.config.halo.choice import WeightWindows
from imbrex.config.halo.plan import HaloWeightTuning
from imbrex.dtype import dtype
from imbrex.index.map import Dim
from imbrex.view.conv.implicit_gemm import Convolution

HOPPER, F16 = GPU_MACHINES["sm_90a"], dtype("f16")


def dims(**sizes: int) -> tuple[Dim, ...]:
    return tuple(Dim(name, size) for name, size in sizes.items())


def planes(size: int, groups: int, n: int = 128) -> WeightWindows:
    """Of groups of 64 channels, 8 of the convolution's own each."""
    conv = Convolution(
        dims(g=groups, k=64, y=3, x=3, c=64),
        dims(n=n, g=groups, c=64, hi=size, wi=size), dims(n=n, g=groups, k=64, ho=size, wo=size),
        (1, 1), (1, 1), ((1, 1), (1, 1)),
    )  # fmt: skip
    return WeightWindows(conv, F16, HOPPER, 8)


@pytest.mark.parametrize(("size", "groups", "lines"), [(56, 4, 2), (28, 8, 4)])
def test_planes_of_many_images_are_gone_through_line_by_line(size: int, groups: int, lines: int) -> None:
    """A consumer has an image of its own, and a share as many images for each."""
    of = planes(size, groups)
    found = of.best()
    assert isinstance(found, HaloWeightTuning) and of.in_planes == lines and of.planes_pay
    assert found.streams == found.consumers == 2 and found.loaded == found.rows
    made = found.plan(context_of(of.view(found), F16), HOPPER)
    assert made.in_planes and legal.check(found, made.context, HOPPER) == ()
    assert made.block.matrix_a_source_vector_read_dim == 0
    assert made.k_iterations * found.shares * found.rows == 128 * size


def test_planes_that_are_copied() -> None:
    assert not planes(14, 8).in_planes and not planes(14, 8).planes_pay
    assert planes(28, 8, n=1).in_planes and isinstance(planes(28, 8, n=1).best(), HaloWeightTuning)


def test_the_model_knows_the_context_of_planes() -> None:
    of = planes(56, 4, 6)
    for made in list(of.legal())[::5]:
        exact = context_of(of.view(made.tuning), F16)
        assert (made.context.g, made.context.n, made.context.k) == (exact.g, exact.n, exact.k), made.tuning
