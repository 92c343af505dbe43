"""conv2d and its two gradients, on images, filters and results indexed in any order of their dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import index
from typing import Any, Literal, NamedTuple, SupportsIndex, TypeAlias, cast

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.function.array import KERNELS, Laid, as_output, laid, shared_element
from imbrex.function.layout import Names, following
from imbrex.function.memory import Memory, memory_of
from imbrex.function.place import Place, place
from imbrex.function.plan import planned, remember
from imbrex.kernel import Kernel, compile
from imbrex.problem import Conv2d, Direction, Role

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
    target: str | None = None,
    emulate: bool = False,
    threads: int | None = None,
    stream: Any = None,
) -> Any:
    """The cross-correlation of images `x` with filters `w`, as an array of x's kind.

    x: (n, c, h, w) in the order of `layout`.  w: (k, c / groups, y, x); its layout, and the result's, follow
    `layout` (NHWC: KYXC and NHWK) unless they are given.  padding: one number, (height, width), ((top,
    bottom), (left, right)), "valid" or "same".  out: where the result goes.  int8 gives int32.  target,
    emulate: as `compile` takes them; by default the CPU, or the GPU of NVIDIA's that the arrays lie on, in
    `stream`, else torch's current one.  For another GPU they are copied to it and back.
    """
    layouts = (layout, filter_layout, output_layout)
    words = _Words("forward", stride, padding, dilation, groups, layouts, target, emulate)
    return _result(words, {"x": ("input", x), "w": ("filter", w)}, out, threads, stream)


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
    target: str | None = None,
    emulate: bool = False,
    threads: int | None = None,
    stream: Any = None,
) -> Any:
    """The gradient of `conv2d(x, w)` by x, from that by its result; x has `input_shape`, in `layout`."""
    layouts = (layout, filter_layout, output_layout)
    given = ("input", "input_shape", input_shape)
    words = _Words("backward_data", stride, padding, dilation, groups, layouts, target, emulate, given)
    return _result(words, {"dy": ("output", dy), "w": ("filter", w)}, out, threads, stream)


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
    target: str | None = None,
    emulate: bool = False,
    threads: int | None = None,
    stream: Any = None,
) -> Any:
    """The gradient of `conv2d(x, w)` by w, from that by its result; w has `filter_shape`, in its layout."""
    layouts = (layout, filter_layout, output_layout)
    given = ("filter", "filter_shape", filter_shape)
    words = _Words("backward_weight", stride, padding, dilation, groups, layouts, target, emulate, given)
    return _result(words, {"dy": ("output", dy), "x": ("input", x)}, out, threads, stream)


class _Words(NamedTuple):
    """What a caller says beside arrays.  wanted: the role of a result whose shape arrays do not settle, what
    the caller calls that shape, and the shape.
    """

    direction: Direction
    stride: Pair
    padding: Padding
    dilation: Pair
    groups: int
    layouts: tuple[str, str | None, str | None]
    target: str | None
    emulate: bool
    wanted: tuple[Role, str, Sequence[int]] | None = None

    @property
    def window(self) -> _Window:
        return _window(self.stride, self.padding, self.dilation, self.groups)

    @property
    def shapes(self) -> Shapes:
        """Of the result, where it is given."""
        if self.wanted is None:
            return ()
        role, word, shape = self.wanted
        return ((role, _shape(word, shape)),)


class _Window(NamedTuple):
    """How the window moves, (height, width) each; pads are (before, after), of "same" not known yet."""

    stride: tuple[int, int]
    pads: tuple[tuple[int, int], tuple[int, int]] | Literal["same"]
    dilation: tuple[int, int]
    groups: int


ROLES: tuple[Role, Role, Role] = ("filter", "input", "output")
Shapes: TypeAlias = tuple[tuple[Role, tuple[int, ...]], ...]
Given: TypeAlias = Mapping[str, tuple[Role, Any]]
"""Of the two arrays that are read: the caller's word for it, its role, the array."""


def _result(words: _Words, given: Given, out: Any, threads: int | None, stream: Any) -> Any:
    """By a plan, or else the long way."""
    values = tuple(value for _, value in given.values())
    if stream is None and (found := planned(words, (*values, out))) is not None:
        return found
    return _convolved(words, given, out, threads, stream)


def _convolved(words: _Words, given: Given, out: Any, threads: int | None, stream: Any) -> Any:
    """names: of each role's dimensions, as the caller indexes them."""
    names = _layouts(*words.layouts)
    values = tuple(value for _, value in given.values())
    memory = memory_of(values[0], words.target)
    arrays = _arrays(names, memory, given)
    read = dict(arrays.values())
    element = shared_element({word: array for word, (_, array) in arrays.items()})
    shapes = (*((role, array.shape) for role, array in read.items()), *words.shapes)
    problem, is_empty = _problem(words.direction, names, shapes, words.window, element)
    right = _shapes(problem, is_empty)
    for word, (role, array) in arrays.items():
        if array.shape != right[role]:
            raise _misfit(problem, word, role, right[role], array.shape)
    result = _lying(memory, problem, right[problem.written], next(iter(read.values())), element, out)
    where = place(words.target or memory.target, words.emulate, threads)
    indexed = memory.returned(result.as_indexed(), values[0]) if out is None else out
    if is_empty:
        memory.clear(result.array)
        return indexed
    laid_out = {**read, problem.written: result}
    filter_, input_, output = (laid_out[role].named(problem.layout(role)) for role in ROLES)
    kernel = _kernel(problem, (filter_, input_, output), where)
    used = tuple(laid_out[role].array for role in ROLES)
    memory.run(kernel, used, threads, stream)
    if stream is None:
        remember(words, (*values, out), used, kernel, indexed)
    return indexed


def _lying(
    memory: Memory, problem: Conv2d, shape: tuple[int, ...], first: Laid, element: DType, out: Any
) -> Laid:
    """Where the result goes: `out`, or a new array whose dimensions lie as those of the first one."""
    if out is not None:
        return as_output(out, shape, element.output, memory)
    order = tuple(range(4)) if problem.written == "filter" else first.order
    return Laid(memory.empty(tuple(shape[i] for i in order), element.output), order, memory)


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


def _arrays(names: Names, memory: Memory, given: Given) -> dict[str, tuple[Role, Laid]]:
    """By the caller's word for it: an array's role, and how it lies."""
    found: dict[str, tuple[Role, Laid]] = {}
    for word, (role, value) in given.items():
        array = laid(value, word, memory)
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
