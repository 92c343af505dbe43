"""Making: the products of a convolution whose arrays are as an algorithm wants them.

Each function is what the pass of its name does to an operation, as a function of values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Final

from imbrex.chip import VECTOR_BYTES
from imbrex.config.algorithm.arrange import Arranged
from imbrex.config.algorithm.depthwise import strips_shape
from imbrex.config.algorithm.form import GemmForm
from imbrex.config.algorithm.phases import are_apart
from imbrex.config.algorithm.pointwise import pointwise_of
from imbrex.config.algorithm.product import End, Lanes, Launch, Products, product_of, reached
from imbrex.config.algorithm.task import ConvTask, Role
from imbrex.config.algorithm.windows import best_of, weights_of, windows_of
from imbrex.config.halo.lines import WindowTuning
from imbrex.config.halo_weight.plan import HaloWeightTuning
from imbrex.config.tuning import Tuning
from imbrex.index.map import Map
from imbrex.problem.conv import Direction
from imbrex.view.conv import implicit_gemm
from imbrex.view.conv.phase_rows import leaves_rows
from imbrex.view.conv.phase_tiles import phase_tiles
from imbrex.view.conv.share_sum import ShareSum
from imbrex.view.conv.whole_images import WholeImages
from imbrex.view.copy.interleave import Interleave
from imbrex.view.gemm.product import GemmView

__all__ = ["OPERANDS", "channel_vectors", "conv_to_gemm", "halo", "whole_images"]

OPERANDS: Final[Mapping[Direction, tuple[Role, Role, Role]]] = {
    "forward": ("filter", "input", "output"),
    "backward_data": ("filter", "output", "input"),
    "backward_weight": ("output", "input", "filter"),
}
"""The arrays that are A, B and C."""


def channel_vectors(of: Arranged) -> Lanes:
    """Lanes, not products."""
    return Lanes(strips_shape(of.task))


def conv_to_gemm(of: Arranged, form: GemmForm) -> Products:
    """One product, or one a phase of a strided gradient."""
    task, conv, multiple = of.task, of.task.conv, form.channel_multiple
    match task.direction:
        case "forward":
            return _made(of, (implicit_gemm.forward(conv, form.taps_first, multiple),))
        case "backward_weight":
            taps_first = form.taps_first and conv.input[-1].name == "c"
            return _made(of, (implicit_gemm.backward_weight(conv, taps_first, multiple),))
        case "backward_data":
            return _backward_data(of, form)


def _backward_data(of: Arranged, form: GemmForm) -> Products:
    task, conv = of.task, of.task.conv
    if form.phases == "added":
        return _made(of, (implicit_gemm.backward_data_v1r1(conv),), filled=_elements(task))
    if form.phases == "shared":
        filled = _elements(task) if leaves_rows(conv.height) else 0
        tiles = phase_tiles(conv, form.channel_multiple, VECTOR_BYTES // task.stored.bytes)
        plain = _made(of, [tile.view for tile in tiles], filled=filled)
        each = zip(plain.products, tiles, strict=True)
        parted = [replace(p, phases=tile.phases, lengths=tile.lengths) for p, tile in each]
        return replace(plain, products=tuple(parted))
    views = implicit_gemm.backward_data_v4r1(conv, form.taps_first, form.channel_multiple)
    if form.phases == "apart" and are_apart(task):
        return _apart(of, task, [replace(view, c=Map(view.c.layers[:-1])) for view in views])
    filled = 0 if implicit_gemm.writes_everything(conv) else _elements(task)
    return _made(of, views, filled=filled)


def whole_images(of: Arranged, multiple: int) -> Products:
    """The product of whole images; of a stride, with what puts its phase in place, or reads it out."""
    task, pointwise = of.task, pointwise_of(of.task)
    images = WholeImages(pointwise, multiple)
    match task.direction:
        case "forward":
            return _made(of, (images.forward,))
        case "backward_data":
            if pointwise == task.conv:
                return _made(of, (images.backward_data,))
            return _apart(of, task, [images.backward_data])
        case "backward_weight":
            if pointwise == task.conv:
                return _made(of, (images.backward_weight,))
            view, size = Interleave.reading(task.conv, task.dtype.bytes), task.dtype.bytes
            phase, *_ = implicit_gemm.phases(task.conv)
            ends = (
                End(reached(view.first, task.layers("input")), size),
                End(view.read(*phase), size),
            )
            sampled = replace(of, before=(*of.before, Launch(ends)))
            return _made(sampled, (images.backward_weight,), own={"input": ()})


def halo(of: Arranged, given: Tuning | None) -> Products:
    """The product of a raster, by the tuning that is given or the best one; of backward weight, with what
    adds up its shares.
    """
    task = of.task
    if task.is_backward_weight:
        return _halo_weight(of, given)
    windows, chosen = windows_of(task), given or best_of(task)
    assert not isinstance(windows, str) and isinstance(chosen, WindowTuning), (windows, chosen)
    made = _made(of, (windows.view(chosen),))
    return replace(made, products=tuple(replace(p, tuning=chosen) for p in made.products))


def _halo_weight(of: Arranged, given: Tuning | None) -> Products:
    task = of.task
    windows, chosen = weights_of(task), given or best_of(task)
    assert not isinstance(windows, str) and isinstance(chosen, HaloWeightTuning), (windows, chosen)
    below = task.layers("filter")
    dims = below[-1].lower if below else task.conv.filter
    total, view = ShareSum(chosen.shares, dims), windows.view(chosen)
    whole = GemmView(view.a, view.b, total.shared(view.c, below))
    made = _made(of, (whole,), own={"filter": ()})
    sums, stored = task.dtype.accumulator.bytes, task.stored.bytes
    added = Launch((End(total.read, sums), End(total.written, stored)))
    products = tuple(replace(p, tuning=chosen, stored=task.dtype.accumulator) for p in made.products)
    return replace(made, products=products, after=(*made.after, added))


def _apart(of: Arranged, task: ConvTask, views: Sequence[GemmView]) -> Products:
    """Products that leave phases dense, and the launch that puts these together."""
    size = task.stored.bytes
    view, phases = Interleave.of(task.conv, size), implicit_gemm.phases(task.conv)
    ends = [End(view.read(*phase), size) for phase in phases]
    together = Launch((*ends, End(reached(view.written, task.layers("input")), size)))
    return _made(replace(of, after=(together, *of.after)), views, own={"input": ()})


def _made(
    of: Arranged,
    views: Sequence[GemmView],
    own: Mapping[Role, tuple[()]] | None = None,
    filled: int = 0,
) -> Products:
    """Products of the views.  own: arrays in place of which there are workspaces."""
    task, copied = of.task, own or {}
    below = [() if role in copied else task.layers(role) for role in OPERANDS[task.direction]]
    products = tuple(product_of(view, below, task.dtype, task.stored) for view in views)
    return Products(products, of.before, of.after, filled)


def _elements(task: ConvTask) -> int:
    """Elements in memory of the array that is written."""
    below = task.layers(task.written)
    return prod(d.size for d in (below[-1].lower if below else task.array(task.written)))
