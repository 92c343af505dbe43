"""Making: the products of a convolution whose arrays are as an algorithm wants them, and what goes with them.

    conv_to_gemm, whole_images, halo      ConvTask -> Made

What a Made says is emitted by the pass of that name, and priced by its products down to memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Final, assert_never

from imbrex.chip import VECTOR_BYTES
from imbrex.config.algorithm.arrange import Arranged
from imbrex.config.algorithm.form import GemmForm
from imbrex.config.algorithm.phases import are_apart
from imbrex.config.algorithm.product import End, Launch, Product, Products, product_of, reached
from imbrex.config.algorithm.task import ConvTask
from imbrex.config.algorithm.windows import windows_of
from imbrex.config.finishing import Finishing
from imbrex.config.halo.choice import WeightWindows, Windows
from imbrex.config.halo.plan import HaloTuning, HaloWeightTuning, LinesTuning, WindowTuning
from imbrex.config.halo.space import diagonal_of
from imbrex.config.tuning import Tuning
from imbrex.diagnostic import Diagnostic
from imbrex.index.map import Map
from imbrex.problem.conv import Direction
from imbrex.problem.layout import Role
from imbrex.view.conv import implicit_gemm
from imbrex.view.conv.phase_tiles import PhaseTile, phase_tile
from imbrex.view.conv.row_taps import RowTaps, abreast, row_taps
from imbrex.view.conv.share_sum import ShareSum
from imbrex.view.conv.whole_images import whole_images as images_view
from imbrex.view.copy.interleave import Interleave
from imbrex.view.gemm.product import GemmView

__all__ = ["OPERANDS", "Made", "conv_to_gemm", "halo", "products_of", "whole_images"]

OPERANDS: Final[Mapping[Direction, tuple[Role, Role, Role]]] = {
    "forward": ("filter", "input", "output"),
    "backward_data": ("filter", "output", "input"),
    "backward_weight": ("output", "input", "filter"),
}
"""The arrays that are A, B and C."""
NAMES: Final[Mapping[Direction, str]] = {
    "forward": "v4r4",
    "backward_data": "backward_data_v4r1",
    "backward_weight": "backward_weight_v4r4",
}


@dataclass(frozen=True)
class Made:
    """name: what the products are called.  views: one a product, of the convolution's arrays, or of
    workspaces in place of one.

    between: workspaces that an array is filled from: the input's phases, which a gradient's products leave
    apart, or shares of the filter.
    fills: are there zeros first?  adds: are sums added in memory?  tuning: what operands are laid out for.
    diagonal: blocks of a filter that has zeros between them.  taps: of a row, which are views of one another.
    """

    name: str
    views: tuple[GemmView | PhaseTile, ...]
    between: Interleave | ShareSum | None = None
    fills: bool = False
    adds: bool = False
    tuning: WindowTuning | None = None
    diagonal: int = 1
    taps: RowTaps | None = None


def conv_to_gemm(task: ConvTask, form: GemmForm) -> Made:
    """One product, or one a phase of a strided gradient."""
    conv, multiple = task.conv, form.channel_multiple
    if form.abreast:
        return _abreast(task, form.abreast)
    match task.direction:
        case "forward":
            views = (implicit_gemm.forward(conv, form.taps_first, multiple),)
        case "backward_weight":
            taps_first = form.taps_first and conv.input[-1].name == "c"
            views = (implicit_gemm.backward_weight(conv, taps_first, multiple, form.images_last),)
        case "backward_data":
            return _backward_data(task, form)
    return Made(NAMES[task.direction], views)


def _abreast(task: ConvTask, images: int) -> Made:
    """The product of a raster with images abreast; a Diagnostic where taps are no views of one another."""
    direction = task.direction
    if direction == "backward_weight":
        raise Diagnostic("pixels of a gradient of the filter are summed over, and not shared by taps")
    taps = row_taps(task.conv, direction, images)
    if isinstance(taps, str):
        raise Diagnostic(f"pixels are not read once for the taps of a row: {taps}")
    return Made(NAMES[direction], (abreast(task.conv, direction, images),), taps=taps)


def _backward_data(task: ConvTask, form: GemmForm) -> Made:
    conv, name = task.conv, NAMES[task.direction]
    if form.phases == "added":
        views = (implicit_gemm.backward_data_v1r1(conv, form.taps_first),)
        is_written = implicit_gemm.windows_are_apart(conv) and implicit_gemm.windows_meet_everything(conv)
        return Made("backward_data_v1r1", views, fills=not is_written, adds=True)
    if form.phases == "shared":
        return Made(name, (phase_tile(conv, form.channel_multiple, VECTOR_BYTES // task.stored.bytes),))
    views = tuple(implicit_gemm.backward_data_v4r1(conv, form.taps_first, form.channel_multiple))
    if form.phases == "apart" and are_apart(task):
        dense = tuple(replace(view, c=Map(view.c.layers[:-1])) for view in views)
        return Made(name, dense, Interleave(conv, task.stored.bytes))
    return Made(name, views, fills=not implicit_gemm.writes_everything(conv))


def whole_images(task: ConvTask, multiple: int) -> Made:
    """The product of whole images."""
    return Made("whole_images", (images_view(task.conv, task.direction, multiple),))


def halo(task: ConvTask, given: Tuning | None) -> Made:
    """The product of a raster, by the tuning that is given or the best one; of backward weight, with what
    adds up its shares.  A Diagnostic where windows do not come into shared memory once.
    """
    windows = windows_of(task)
    chosen = windows if isinstance(windows, str) else given or windows.best()
    match windows, chosen:
        case Windows(), HaloTuning() | LinesTuning():
            blocks = diagonal_of(windows.raster, windows.dtype, windows.machine)
            return Made(NAMES[task.direction], (windows.view(chosen),), tuning=chosen, diagonal=blocks)
        case WeightWindows(), HaloWeightTuning():
            return _halo_weight(task, windows, chosen)
        case _:
            assert isinstance(chosen, str), chosen
            raise Diagnostic(f"windows do not come into shared memory once: {chosen}")


def _halo_weight(task: ConvTask, windows: WeightWindows, chosen: HaloWeightTuning) -> Made:
    if windows.pixels.diagonal % chosen.diagonal:
        raise Diagnostic(f"{chosen.diagonal} blocks of a diagonal are not all there is of the filter")
    below, view = task.layers("filter"), windows.view(chosen)
    total = ShareSum(chosen.shares, below[-1].lower if below else task.conv.filter)
    whole = GemmView(view.a, view.b, total.shared(view.c, below))
    return Made(NAMES[task.direction], (whole,), total, tuning=chosen)


def products_of(arranged: Arranged, made: Made) -> Products:
    """The same down to memory, with all launches."""
    task = arranged.task
    filled = _elements(task) if made.fills else 0
    products = tuple(_product(task, made, view) for view in made.views)
    return Products(products, arranged.before, (*_launches(task, made.between), *arranged.after), filled)


def _product(task: ConvTask, made: Made, of: GemmView | PhaseTile) -> Product:
    is_shared = isinstance(made.between, ShareSum)
    own = None if made.between is None else "filter" if is_shared else "input"
    below = [() if role == own else task.layers(role) for role in OPERANDS[task.direction]]
    stored = task.dtype.accumulator if is_shared else task.stored
    finishing = Finishing.NONE if is_shared else task.finishing
    if isinstance(of, PhaseTile):
        plain = product_of(of.view, below, task.dtype, stored, finishing)
        return replace(plain, phases=of.phases.of, lengths=of.phases.lengths)
    return replace(product_of(of, below, task.dtype, stored, finishing), tuning=made.tuning, taps=made.taps)


def _launches(task: ConvTask, between: Interleave | ShareSum | None) -> tuple[Launch, ...]:
    """Launches after the products."""
    match between:
        case None:
            return ()
        case ShareSum():
            shares = End(between.read, task.dtype.accumulator.bytes)
            return (Launch((shares, End(between.written, task.stored.bytes))),)
        case Interleave(conv, size):
            ends = [End(between.read(*phase), size) for phase in implicit_gemm.phases(conv)]
            return (Launch((*ends, End(reached(between.written, task.layers("input")), size))),)
        case _:
            assert_never(between)


def _elements(task: ConvTask) -> int:
    """Elements in memory of the array that is written."""
    below = task.layers(task.written)
    return prod(d.size for d in (below[-1].lower if below else task.array(task.written)))
