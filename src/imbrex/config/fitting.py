"""Does a given configuration suit its request?  Its products are asked where their sizes are known."""

from __future__ import annotations

from collections.abc import Iterator

from imbrex.chip import WARPGROUPS
from imbrex.config.algorithm.depthwise import strips_shape
from imbrex.config.algorithm.table import row_of
from imbrex.config.algorithm.task import task_of
from imbrex.config.configuration import Configuration
from imbrex.config.matrix_unit import has_matrix_instructions
from imbrex.config.request import Request
from imbrex.config.tuning import is_pipelined
from imbrex.config.window_strips import served_boxes
from imbrex.diagnostic import Diagnostic
from imbrex.problem import Conv2d

__all__ = ["expect_fitting"]


def expect_fitting(configuration: Configuration, request: Request) -> None:
    """A Diagnostic with every reason why not, and what else there is."""
    if reasons := list(_reasons(configuration, request)):
        raise Diagnostic(f"configuration {configuration} does not fit: {'; '.join(reasons)}")


def _reasons(of: Configuration, request: Request) -> Iterator[str]:
    problem, row = request.problem, row_of(of.algorithm)
    assert row is not None, of
    is_conv = isinstance(problem, Conv2d)
    machine, where = request.machine, WARPGROUPS.name
    has_products = not row.is_on_lanes
    has_k_order = row.has_k_order
    if of.taps_first and not has_k_order:
        yield f"'{of.algorithm}' has no order of taps and channels"
    if of.images_last and not (has_k_order and is_conv and problem.direction == "backward_weight"):
        yield "'images_last' is of backward weight by products that read windows"
    if of.channels > 1 and not (has_k_order and machine.has_warpgroups and has_matrix_instructions(request)):
        yield f"channels are counted up for warpgroups that multiply windows, on {where}"
    if of.in_place and not ("halo" in row.passes and is_conv and problem.direction == "backward_weight"):
        yield "'in_place' is of backward weight by halo"
    if not of.has_flags and not machine.multiprocessor:
        yield f"kernels for {machine.name} have no flags of their own"
    if any(p.is_early and not (machine.overlaps_launches and is_pipelined(p.tuning)) for p in of.products):
        yield f"'early' is of products of warpgroups, on {where}"
    if has_products != (of.strips is None):
        yield f"'{of.algorithm}' has {'no strips' if has_products else 'strips, and none are given'}"
    if not has_products and of.products:
        yield f"'{of.algorithm}' has no products"
    if not has_products and of.strips is not None and is_conv:
        served = served_boxes(strips_shape(task_of(problem)), machine)
        if of.strips._replace(images=1) not in served:
            boxes = ", ".join("/".join(map(str, box)) for box in served)
            yield f"strips {'/'.join(map(str, of.strips))} are none of {boxes}"
