"""conv2d and its two gradients, on images, filters and results indexed in any order of their dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import index
from typing import Any, Literal, NamedTuple, SupportsIndex, TypeAlias, cast

import numpy as np

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.function.array import KERNELS, Laid, as_output, laid, shared_element
from imbrex.function.layout import Names, following
from imbrex.function.place import Place, place
from imbrex.kernel import Kernel, compile
from imbrex.problem import Conv2d, Direction, Role
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
    target: str = "cpu",
    emulate: bool = False,
    threads: int | None = None,
) -> Any:
    """The cross-correlation of images `x` with filters `w`, as an array of x's kind.

    x: (n, c, h, w) in the order of `layout`.  w: (k, c / groups, y, x); its layout, and the result's, follow
    `layout` (NHWC: KYXC and NHWK) unless they are given.  padding: one number, (height, width), ((top,
    bottom), (left, right)), "valid" or "same".  out: where the result goes.  int8 gives int32.  target,
    emulate: as `compile` takes them; arrays are copied to a GPU and back.
    """
    names = _layouts(layout, filter_layout, output_layout)
    arrays = _arrays(names, x=("input", x), w=("filter", w))
    window = _window(stride, padding, dilation, groups)
    return _convolved("forward", names, arrays, (), window, x, out, place(target, emulate, threads))


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
    target: str = "cpu",
    emulate: bool = False,
    threads: int | None = None,
) -> Any:
    """The gradient of `conv2d(x, w)` by x, from that by its result; x has `input_shape`, in `layout`."""
    names = _layouts(layout, filter_layout, output_layout)
    arrays = _arrays(names, dy=("output", dy), w=("filter", w))
    window = _window(stride, padding, dilation, groups)
    wanted: Shapes = (("input", _shape("input_shape", input_shape)),)
    return _convolved(
        "backward_data", names, arrays, wanted, window, dy, out, place(target, emulate, threads)
    )


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
    target: str = "cpu",
    emulate: bool = False,
    threads: int | None = None,
) -> Any:
    """The gradient of `conv2d(x, w)` by w, from that by its result; w has `filter_shape`, in its layout."""
    names = _layouts(layout, filter_layout, output_layout)
    arrays = _arrays(names, dy=("output", dy), x=("input", x))
    window = _window(stride, padding, dilation, groups)
    wanted: Shapes = (("filter", _shape("filter_shape", filter_shape)),)
    return _convolved(
        "backward_weight", names, arrays, wanted, window, dy, out, place(target, emulate, threads)
    )


class _Window(NamedTuple):
    """How the window moves, (height, width) each; pads are (before, after), of "same" not known yet."""

    stride: tuple[int, int]
    pads: tuple[tuple[int, int], tuple[int, int]] | Literal["same"]
    dilation: tuple[int, int]
    groups: int


ROLES: tuple[Role, Role, Role] = ("filter", "input", "output")
Shapes: TypeAlias = tuple[tuple[Role, tuple[int, ...]], ...]


def _convolved(
    direction: Direction,
    names: Names,
    arrays: Mapping[str, tuple[Role, Laid]],
    wanted: Shapes,
    window: _Window,
    like: Any,
    out: Any,
    where: Place,
) -> Any:
    """The result of one direction.  names: of each role's dimensions, as the caller indexes them.  arrays:
    the two that are read, by the caller's word.  wanted: the result's shape, where arrays do not settle it.
    """
    read = dict(arrays.values())
    element = shared_element({word: array for word, (_, array) in arrays.items()})
    shapes = (*((role, array.shape) for role, array in read.items()), *wanted)
    problem, is_empty = _problem(direction, names, shapes, window, element)
    right = _shapes(problem, is_empty)
    for word, (role, array) in arrays.items():
        if array.shape != right[role]:
            raise _misfit(problem, word, role, right[role], array.shape)
    shape = right[problem.written]
    first = next(iter(read.values()))
    if out is None:
        order = tuple(range(4)) if problem.written == "filter" else first.order
        result = Laid(np.empty([shape[i] for i in order], element.output.numpy), order)
    else:
        result = as_output(out, shape, element.output)
    if is_empty:
        result.array.fill(0)
    else:
        laid_out = {**read, problem.written: result}
        layouts = tuple(laid_out[role].named(problem.layout(role)) for role in ROLES)
        kernel = _kernel(problem, layouts, where)
        kernel.loaded(*(laid_out[role].array for role in ROLES), threads=where.threads)
    return same_kind(result.as_indexed(), like) if out is None else out


@lru_cache(maxsize=KERNELS)
def _problem(
    direction: Direction, names: Names, shapes: Shapes, window: _Window, element: DType
) -> tuple[Conv2d, bool]:
    """The problem in the caller's layouts, with a batch of one where there are no images; and whether so."""
    given = dict(shapes)
    filter_names, input_names, output_names = names
    sizes = dict(zip(output_names, given.get("output", ()), strict=False))
    sizes |= dict(zip(filter_names, given.get("filter", ()), strict=False))
    sizes |= dict(zip(input_names, given.get("input", ()), strict=False))
    pads = _same_pads(sizes, window) if window.pads == "same" else window.pads
    try:
        problem = Conv2d(
            direction,
            *(max(1, sizes["n"]), sizes["c"], sizes["hi"], sizes["wi"], sizes["k"], sizes["y"], sizes["x"]),
            pad_h=pads[0],
            pad_w=pads[1],
            stride=window.stride,
            dilation=window.dilation,
            groups=window.groups,
            filter_layout=filter_names,
            input_layout=input_names,
            output_layout=output_names,
            dtype=element,
        )
    except Diagnostic as error:
        raise ValueError(error.message) from None
    return problem, sizes["n"] == 0


@lru_cache(maxsize=KERNELS)
def _kernel(problem: Conv2d, layouts: Names, where: Place) -> Kernel:
    """For the arrays as they lie in memory."""
    filter_, input_, output = layouts
    lying = replace(problem, filter_layout=filter_, input_layout=input_, output_layout=output)
    return compile(lying, where.goal, threads=where.threads)


@lru_cache(maxsize=KERNELS)
def _shapes(problem: Conv2d, is_empty: bool) -> Mapping[Role, tuple[int, ...]]:
    """What each array must have; no images where there are none."""
    found: dict[Role, tuple[int, ...]] = {}
    for role in ROLES:
        dims = zip(problem.layout(role), problem.shapes(role), strict=True)
        found[role] = tuple(0 if name == "n" and is_empty else size for name, size in dims)
    return found


def _misfit(
    problem: Conv2d, word: str, role: Role, right: tuple[int, ...], shape: tuple[int, ...]
) -> ValueError:
    why = f" for {problem.c} channels in {problem.groups} groups" if role == "filter" else ""
    return ValueError(f"'{word}' should have shape {right}{why}, got {shape}")


@lru_cache(maxsize=64)
def _layouts(layout: str, filter_layout: str | None, output_layout: str | None) -> Names:
    try:
        return following(layout, filter_layout, output_layout)
    except Diagnostic as error:
        raise ValueError(f"{error.message}; {error.hint}") from None


def _arrays(names: Names, **given: tuple[Role, object]) -> dict[str, tuple[Role, Laid]]:
    """By the caller's word for it: an array's role, and how it lies."""
    found: dict[str, tuple[Role, Laid]] = {}
    for word, (role, value) in given.items():
        array = laid(value, word)
        if (rank := array.array.ndim) != 4:
            dims = ", ".join(names[ROLES.index(role)])
            raise ValueError(f"'{word}' should have 4 dimensions ({dims}), got {rank}")
        found[word] = (role, array)
    return found


def _shape(word: str, value: Sequence[int]) -> tuple[int, ...]:
    sizes = _integers(word, value)
    if len(sizes) != 4:
        raise ValueError(f"'{word}' should have 4 sizes, got {len(sizes)}")
    return sizes


def _window(stride: Pair, padding: Padding, dilation: Pair, groups: int) -> _Window:
    moves = _pair("stride", stride), _pair("dilation", dilation)
    if padding == "same" and moves[0] != (1, 1):
        raise ValueError(f"padding 'same' needs a stride of 1, got {moves[0]}")
    return _Window(moves[0], _pads(padding), moves[1], *_integers("groups", (groups,)))


def _pads(padding: Padding) -> tuple[tuple[int, int], tuple[int, int]] | Literal["same"]:
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"'padding' should be numbers, 'same' or 'valid', got '{padding}'")
        return "same" if padding == "same" else ((0, 0), (0, 0))
    first, second = _two("padding", padding)
    return _pair("padding", first), _pair("padding", second)


def _same_pads(sizes: Mapping[str, int], window: _Window) -> tuple[tuple[int, int], tuple[int, int]]:
    """As many outputs as inputs; the odd pad comes after."""
    total = [d * (sizes[name] - 1) for d, name in zip(window.dilation, "yx", strict=True)]
    return (total[0] // 2, -(-total[0] // 2)), (total[1] // 2, -(-total[1] // 2))


def _pair(word: str, value: object) -> tuple[int, int]:
    first, second = _integers(word, _two(word, value))
    return first, second


def _two(word: str, value: object) -> Sequence[object]:
    """One entry means it twice."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return (value, value)
    entries = cast("Sequence[object]", value)
    if len(entries) != 2:
        raise ValueError(f"'{word}' should be one number or two, got {len(entries)}")
    return entries


def _integers(word: str, values: Sequence[object]) -> tuple[int, ...]:
    try:
        return tuple(index(cast("SupportsIndex", value)) for value in values)
    except TypeError:
        raise TypeError(f"'{word}' should be integers, got {values!r}") from None
