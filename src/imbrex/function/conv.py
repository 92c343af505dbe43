"""conv2d and its two gradients, on images, filters and results indexed in any order of their dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.function.array import KERNELS, Laid, as_output, laid, shared_element
from imbrex.kernel import Kernel, compile
from imbrex.problem import Conv2d, Direction, Layout, Role
from imbrex.problem.layout import parse_layout
from imbrex.run.arrays import same_kind

__all__ = ["conv2d", "conv2d_backward_data", "conv2d_backward_weight"]

Pair: TypeAlias = "int | Sequence[int]"
Padding: TypeAlias = "int | Sequence[int] | Sequence[Sequence[int]] | Literal['same', 'valid']"


def conv2d(
    x: Any,
    w: Any,
    *,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
    layout: str = "NCHW",
    filter_layout: str | None = None,
    output_layout: str | None = None,
    out: Any = None,
    threads: int | None = None,
) -> Any:
    """The cross-correlation of images `x` with filters `w`, as an array of x's kind.

    x: (n, c, h, w) in the order of `layout`.  w: (k, c / groups, y, x); its layout, and the result's, follow
    `layout` (NHWC: KYXC and NHWK) unless they are given.  padding: one number, (height, width), ((top,
    bottom), (left, right)), "valid" or "same".  out: where the result goes.  int8 gives int32.
    """
    names = _layouts(layout, filter_layout, output_layout)
    arrays = {"input": _images(x, "x", names["input"]), "filter": _images(w, "w", names["filter"])}
    window = _window(stride, padding, dilation, groups)
    return _convolved("forward", names, arrays, {}, window, x, out, threads)


def conv2d_backward_data(
    dy: Any,
    w: Any,
    input_shape: Sequence[int],
    *,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
    layout: str = "NCHW",
    filter_layout: str | None = None,
    output_layout: str | None = None,
    out: Any = None,
    threads: int | None = None,
) -> Any:
    """The gradient of `conv2d(x, w)` by x, from that by its result; x has `input_shape`, in `layout`."""
    names = _layouts(layout, filter_layout, output_layout)
    arrays = {"output": _images(dy, "dy", names["output"]), "filter": _images(w, "w", names["filter"])}
    window = _window(stride, padding, dilation, groups)
    wanted = {"input": _shape("input_shape", input_shape)}
    return _convolved("backward_data", names, arrays, wanted, window, dy, out, threads)


def conv2d_backward_weight(
    dy: Any,
    x: Any,
    filter_shape: Sequence[int],
    *,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
    layout: str = "NCHW",
    filter_layout: str | None = None,
    output_layout: str | None = None,
    out: Any = None,
    threads: int | None = None,
) -> Any:
    """The gradient of `conv2d(x, w)` by w, from that by its result; w has `filter_shape`, in its layout."""
    names = _layouts(layout, filter_layout, output_layout)
    arrays = {"output": _images(dy, "dy", names["output"]), "input": _images(x, "x", names["input"])}
    window = _window(stride, padding, dilation, groups)
    wanted = {"filter": _shape("filter_shape", filter_shape)}
    return _convolved("backward_weight", names, arrays, wanted, window, dy, out, threads)


class _Window(NamedTuple):
    """How the window moves: pairs of (height, width); pads before and after, of "same" not known yet."""

    stride: tuple[int, int]
    pads: tuple[tuple[int, int], tuple[int, int]] | Literal["same"]
    dilation: tuple[int, int]
    groups: int


def _convolved(
    direction: Direction,
    names: Mapping[Role, Layout],
    arrays: Mapping[Role, Laid],
    wanted: Mapping[Role, tuple[int, ...]],
    window: _Window,
    like: Any,
    out: Any,
    threads: int | None,
) -> Any:
    """The result of one direction.  arrays: the two that are read; wanted: the shape of the result's role
    where arrays do not tell it; like: whose kind and order of dimensions the result has.
    """
    element = shared_element({_ARGUMENTS[direction, role]: array for role, array in arrays.items()})
    shapes = {role: array.shape for role, array in arrays.items()} | dict(wanted)
    sizes = _sizes(names, shapes, window.groups)
    batch = max(1, sizes["n"])
    layouts = {role: array.named(names[role]) for role, array in arrays.items()}
    written: Role = next(role for role in names if role not in arrays)
    first = next(iter(arrays.values()))
    order = first.order if written != "filter" else (0, 1, 2, 3)
    ...
