"""What a problem becomes by an algorithm: products, copies and zeros, from maps alone.

    products(problem, v2:channels_last+taps_first, sm_90a)  ->  what copies, and the product of the copies

The steps are those of the algorithm's row, by the names of the IR's passes, which emit the same values; no
pass runs, so that a choice among algorithms costs little.
"""

from __future__ import annotations

from imbrex.chip import Machine
from imbrex.config.algorithm.arrange import Arranged, channels_last, merge_groups, window_rows
from imbrex.config.algorithm.depthwise import strips_shape
from imbrex.config.algorithm.form import GemmForm
from imbrex.config.algorithm.make import conv_to_gemm, halo, products_of, whole_images
from imbrex.config.algorithm.matrices import (
    aligned_products,
    data_tiled_products,
    direct_products,
    k_parts_products,
)
from imbrex.config.algorithm.product import Lanes, Products
from imbrex.config.algorithm.table import Algorithm, number_of, row_of
from imbrex.config.algorithm.task import GemmTask, gemm_task_of, task_of
from imbrex.config.configuration import Configuration
from imbrex.config.tuning import Tuning
from imbrex.problem import Conv2d, Gemm, Problem

__all__ = ["form_of", "products"]


def products(
    problem: Problem, of: Configuration, machine: Machine, given: Tuning | None = None
) -> Products | Lanes:
    """What an outline, of an algorithm that serves, makes of a problem.

    given: the tuning of windows that come into shared memory once; without it the fastest by the model.
    """
    match problem:
        case Gemm():
            return _of_matrices(gemm_task_of(problem), of.algorithm)
        case Conv2d():
            row = row_of(of.algorithm)
            assert row is not None, of
            return _of_convolution(problem, of, row, form_of(of, machine), given)


def form_of(of: Configuration, machine: Machine) -> GemmForm:
    """How the digits and the phases of products lie; phases are put together where warpgroups store them."""
    row = row_of(of.algorithm)
    phases = "in place" if row is None else row.phases
    is_together = phases == "apart" and not machine.has_warpgroups
    phases = "in place" if is_together else phases
    images = number_of(of.algorithm) if row is not None and row.is_abreast else 0
    return GemmForm(of.taps_first, of.channels, phases, of.images_last, images)


def _of_convolution(
    problem: Conv2d, of: Configuration, row: Algorithm, form: GemmForm, given: Tuning | None
) -> Products | Lanes:
    arranged, number = Arranged(task_of(problem), copies_key=row.packs), number_of(of.algorithm)
    is_halo = "halo" in row.passes
    for step in row.passes:
        task, key = arranged.task, arranged.copies_key
        match step:
            case "merge-groups":
                if number > 1 or not is_halo:  # a halo of one group has nothing to merge
                    arranged = arranged.then(merge_groups(task, number, is_halo, given))
            case "channels-last":
                arranged = arranged if key is None else arranged.then(channels_last(task, key, of.channels))
            case "window-rows":
                rows = window_rows(task)
                assert rows is not None, task
                arranged = arranged.then(rows)
            case "conv-to-gemm":
                return products_of(arranged, conv_to_gemm(task, form))
            case "whole-images":
                return products_of(arranged, whole_images(task, number))
            case "halo":
                return products_of(arranged, halo(task, given))
            case "channel-vectors" | "window-vectors":
                return Lanes(strips_shape(task))
            case _:
                break
    raise AssertionError(f"no values of the passes {row.passes}")


def _of_matrices(task: GemmTask, algorithm: str) -> Products:
    word, _, name = algorithm.partition(":")
    match word:
        case "direct":
            return direct_products(task)
        case "aligned":
            return aligned_products(task)
        case "k_parts":
            return k_parts_products(task, number_of(algorithm))
        case "data_tiled":
            return data_tiled_products(task, name)
        case _:
            raise AssertionError(f"no product by {algorithm}")
