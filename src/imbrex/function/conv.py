"""conv2d and its two gradients, on images, filters and results indexed in any order of their dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from imbrex.argument import text
from imbrex.database.news import News, news
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.function.array import KERNELS, Laid, as_output, computed, laid, shared_element
from imbrex.function.batches import Batches, expect_batches, kernel_of
from imbrex.function.call_target import CallTarget, call_target, expect_named
from imbrex.function.finish import each_out, epilogue_of, first_out, further, laid_further, results_of
from imbrex.function.layout import Names, layouts_of
from imbrex.function.memory import Memory
from imbrex.function.memory_of import memory_of
from imbrex.function.plan import Served, planned, remember
from imbrex.function.window import Padding, Pair, Window, four_integers, same_pads, window
from imbrex.kernel import Emulate, Kernel
from imbrex.kernel.tuned import Effort, expect_effort
from imbrex.numeral import counted
from imbrex.problem import Conv2d, Direction, Role
from imbrex.problem.epilogue import Epilogue
from imbrex.problem.epilogue_array import Array
from imbrex.problem.layout import ROLES
from imbrex.run.arrays import handed
from imbrex.run.graph_break import outside_graphs
from imbrex.run.traced import expect_numbers

__all__ = ["conv2d", "conv2d_backward_data", "conv2d_backward_weight"]


@outside_graphs
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
    epilogue: str | Epilogue | None = None,
    bias: Any = None,
    residual: Any = None,
    scales: Mapping[str, Any] | None = None,
    compute: str | None = None,
    batches: Batches = "each",
    out: Any = None,
    target: str | None = None,
    emulate: Emulate = False,
    threads: int | None = None,
    stream: Any = None,
    tune: Effort | None = None,
) -> Any:
    """The cross-correlation of images `x` with filters `w`, as an array of x's kind.

    - x: (n, c, h, w) in the order of `layout`, an array of NumPy, torch or whatever speaks DLPack.
    - w: (k, c / groups, y, x), of x's dtype. Its layout, and the result's, follow `layout` (NHWC: KYXC and
      NHWK) unless `filter_layout` and `output_layout` give them.
    - result: (n, k, ho, wo), with ho = floor((h + pads - dilation * (y - 1) - 1) / stride) + 1, wo likewise.
      float8 gives float32, int8 gives int32, all else x's dtype, unless the epilogue casts.
    - stride, dilation: one number or (height, width). padding: one number, (height, width), ((top, bottom),
      (left, right)), "valid" or "same", in pixels.
    - out: where the result goes, of its shape and dtype, dense, sharing no memory with what is read. Arrays
      are used where they lie if they have no gaps, whatever the order of their dimensions; others are
      copied, but for `out`.
    - epilogue: what becomes of each element, such as "relu(x + bias)" (docs/epilogue.md). Without one,
      `bias` of [k] and `residual` of the result's shape are added. With a `pre_activation(...)` in it, the
      result, and `out`, are a pair (result, pre-activation).
    - scales: as `gemm` takes them, `channel_scale` of [k], but for `row_scale`.
    - compute: "tf32" lets a GPU multiply float32 by 11 bits of the significand.
    - batches: "any" compiles one kernel for all n, "each" one for every n (docs/dynamic.md).
    - target, emulate: as `compile` takes them. By default the CPU, or the NVIDIA GPU on which x and w lie;
      for another GPU they are copied there and back.
    - threads: of a CPU. stream: of a GPU, a handle or one of torch's or CuPy's; torch's current by default.
      A call on arrays of a GPU is not waited for.
    - tune: as `gemm` takes it.

    TypeError for what an array is (dtype, kind), ValueError for its shape, layout or an unknown word, and a
    Diagnostic where the target has no such kernel. The first call for new shapes compiles.
    """
    layouts, more = (layout, filter_layout, output_layout), further(bias, residual, scales)
    said = (stride, padding, dilation, groups, layouts, compute, target, emulate, None, epilogue)
    options = _ConvOptions("forward", *said, tuple(more), batches, tune)
    return _result(options, {"x": ("input", x), "w": ("filter", w)}, out, threads, stream, more)


@outside_graphs
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
    compute: str | None = None,
    out: Any = None,
    target: str | None = None,
    emulate: Emulate = False,
    threads: int | None = None,
    stream: Any = None,
    batches: Batches = "each",
    tune: Effort | None = None,
) -> Any:
    """The gradient of `conv2d(x, w)` by x, from `dy`, the gradient by its result.

    dy: of that result's shape, (n, k, ho, wo), in `output_layout`. w: (k, c / groups, y, x). input_shape:
    x's and so the gradient's, (n, c, h, w) in the order of `layout`; several sizes of x give one size of the
    result under a stride, so that it has to be said. batches: "any" compiles one kernel for all n. All else,
    and errors, as of `conv2d`.
    """
    layouts = (layout, filter_layout, output_layout)
    given = ("input", "input_shape", input_shape)
    options = _ConvOptions(
        "backward_data", stride, padding, dilation, groups, layouts, compute, target, emulate, given,
        batches=batches, tune=tune,
    )  # fmt: skip
    return _result(options, {"dy": ("output", dy), "w": ("filter", w)}, out, threads, stream)


@outside_graphs
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
    compute: str | None = None,
    out: Any = None,
    target: str | None = None,
    emulate: Emulate = False,
    threads: int | None = None,
    stream: Any = None,
    batches: Batches = "each",
    tune: Effort | None = None,
) -> Any:
    """The gradient of `conv2d(x, w)` by w, from `dy`, the gradient by its result.

    dy: of that result's shape, (n, k, ho, wo), in `output_layout`. x: (n, c, h, w) in the order of `layout`.
    filter_shape: w's and so the gradient's, (k, c / groups, y, x) in the order of `filter_layout`. batches:
    "any" compiles one kernel for all n, on CPUs. All else, and errors, as of `conv2d`.
    """
    layouts = (layout, filter_layout, output_layout)
    given = ("filter", "filter_shape", filter_shape)
    options = _ConvOptions(
        "backward_weight", stride, padding, dilation, groups, layouts, compute, target, emulate, given,
        batches=batches, tune=tune,
    )  # fmt: skip
    return _result(options, {"dy": ("output", dy), "x": ("input", x)}, out, threads, stream)


class _ConvOptions(NamedTuple):
    """What a caller says beside arrays.  wanted: the role of a result whose shape arrays do not settle, what
    the caller calls that shape, and the shape.  further: the epilogue's arrays that there are.
    """

    direction: Direction
    stride: Pair
    padding: Padding
    dilation: Pair
    groups: int
    layouts: tuple[str, str | None, str | None]
    compute: str | None
    target: str | None
    emulate: Emulate
    wanted: tuple[Role, str, Sequence[int]] | None = None
    epilogue: str | Epilogue | None = None
    further: tuple[str, ...] = ()
    batches: Batches = "each"
    tune: Effort | None = None

    def check(self) -> None:
        """TypeError and ValueError for words that say nothing."""
        for name, value in zip(("layout", "filter_layout", "output_layout"), self.layouts, strict=True):
            if value is not None or name == "layout":
                text(name, value, "a text such as 'NCHW'")
        expect_named(self.target)
        expect_batches(self.batches)
        expect_effort(self.tune, batches="any" if self.batches == "any" else None)

    @property
    def window(self) -> Window:
        return window(self.stride, self.padding, self.dilation, self.groups)

    @property
    def shapes(self) -> Shapes:
        """Shape of the result, where it is given."""
        if self.wanted is None:
            return ()
        role, word, shape = self.wanted
        return ((role, four_integers(word, shape)),)


Shapes: TypeAlias = tuple[tuple[Role, tuple[int, ...]], ...]
Given: TypeAlias = Mapping[str, tuple[Role, Any]]
"""The two arrays that are read: role and array of each, by the caller's word for it."""


def _result(
    options: _ConvOptions,
    given: Given,
    out: Any,
    threads: int | None,
    stream: Any,
    more: Mapping[Array, Any] | None = None,
) -> Any:
    """The result by a plan, or else the long way.  more: what the epilogue reads."""
    values = (*(value for _, value in given.values()), *(more.values() if more else ()))
    given_out = (*values, *each_out(out))
    if stream is None and (found := planned(options, given_out, threads)) is not None:
        return found
    options.check()
    names = layouts_of(*options.layouts)
    for word, (_, value) in given.items():
        expect_numbers(value, word)
    memory = memory_of(values[0], options.target)
    arrays = _arrays(names, memory, given)
    try:
        problem, is_empty = _settled(options, names, arrays)
    except ValueError as error:
        hint = _meant(options, names, arrays)
        raise ValueError(f"{error}{hint}") from None
    laid_in = {word: array for word, (_, array) in arrays.items()}
    first = first_out(out, problem.epilogue)
    result = _lying(memory, problem, is_empty, next(iter(laid_in.values())), first)
    results, indexed = results_of(result, problem.epilogue, out, laid_in, values[0])
    types, extents = (problem.dtype, problem.result.dtype), (problem.n, problem.k)
    read = laid_further(more or {}, types, extents, results, out)
    where = call_target(options.target, options.emulate, threads, memory.target)
    if is_empty:
        memory.clear(result.array)
        return handed(indexed, values[0]) if out is None else indexed
    laid_out = {**dict(arrays.values()), problem.written: result}
    filter_, input_, output = (laid_out[role].named(problem.layout(role)) for role in ROLES)
    kernel = _kernel(problem, (filter_, input_, output), where, (options.batches, None, options.tune), news())
    used = (*(laid_out[role].array for role in ROLES), *read, *(one.array for one in results[1:]))
    memory.run(kernel, used, threads, stream)
    if stream is None:
        roles = [role for role, _ in given.values()]
        positions = tuple(roles.index(role) if role in roles else len(values) for role in ROLES)
        positions += (*range(len(roles), len(values)), *range(len(values) + 1, len(values) + len(results)))
        remember(options, given_out, threads, Served(kernel, used, positions), indexed)
    return handed(indexed, values[0]) if out is None else indexed


def _settled(
    options: _ConvOptions, names: Names, arrays: Mapping[str, tuple[Role, Laid]]
) -> tuple[Conv2d, bool]:
    """The problem of these arrays, which fit it, and whether there are no images."""
    element = computed(shared_element({word: array for word, (_, array) in arrays.items()}), options.compute)
    after = epilogue_of(options.epilogue, options.further, element)
    shapes = (*((role, array.shape) for role, array in arrays.values()), *options.shapes)
    problem, is_empty = _problem(options.direction, names, shapes, options.window, element, after)
    right = _shapes(problem, is_empty)
    for word, (role, array) in arrays.items():
        if array.shape != right[role]:
            raise _misfit(problem, word, role, right[role], array.shape)
    return problem, is_empty


def _meant(options: _ConvOptions, names: Names, arrays: Mapping[str, tuple[Role, Laid]]) -> str:
    """What would fit, for arrays that do not: each in the other's place, or the other usual layout."""
    (one, (role, first)), (other, (other_role, second)) = arrays.items()
    if _fit(options, names, {one: (role, second), other: (other_role, first)}):
        return f"; '{one}' and '{other}' would fit in each other's place"
    layout, *others = options.layouts
    for usual in ("NCHW", "NHWC"):
        if (
            usual != layout
            and others == [None, None]
            and _fit(options, layouts_of(usual, None, None), arrays)
        ):
            word, (role, image) = next(item for item in arrays.items() if item[1][0] != "filter")
            channels = image.shape[names[ROLES.index(role)].index("c" if role == "input" else "k")]
            read = f"'{word}' {image.shape} read as {layout} has {counted(channels, 'channel')}"
            return f"; {read}: did you mean layout='{usual}'?"
    return ""


def _fit(options: _ConvOptions, names: Names, arrays: Mapping[str, tuple[Role, Laid]]) -> bool:
    try:
        _settled(options, names, arrays)
    except (ValueError, TypeError, Diagnostic):
        return False
    return True


def _lying(memory: Memory, problem: Conv2d, is_empty: bool, first: Laid, out: Any) -> Laid:
    """Where the result goes: `out`, or a new array whose dimensions lie as those of the first one."""
    shape, element = _shapes(problem, is_empty)[problem.written], problem.result.dtype
    if out is not None:
        return as_output(out, shape, element, memory)
    order = tuple(range(4)) if problem.written == "filter" else first.order
    return Laid(memory.empty(tuple(shape[i] for i in order), element), order, memory)


@lru_cache(maxsize=KERNELS)
def _problem(
    direction: Direction,
    names: Names,
    shapes: Shapes,
    window: Window,
    element: DType,
    after: Epilogue | None,
) -> tuple[Conv2d, bool]:
    """The problem in the caller's layouts, with a batch of one where there are no images; and whether so."""
    given = dict(shapes)
    filter_names, input_names, output_names = names
    sizes = dict(zip(output_names, given.get("output", ()), strict=False))
    sizes |= dict(zip(filter_names, given.get("filter", ()), strict=False))
    sizes |= dict(zip(input_names, given.get("input", ()), strict=False))
    pads = same_pads(sizes, window) if window.pads == "same" else window.pads
    try:
        problem = Conv2d(
            direction,
            *(max(1, sizes["n"]), sizes["c"], sizes["hi"], sizes["wi"], sizes["k"], sizes["y"], sizes["x"]),
            pad_h=pads[0], pad_w=pads[1], stride=window.stride, dilation=window.dilation,
            groups=window.groups, filter_layout=filter_names, input_layout=input_names,
            output_layout=output_names, dtype=element, epilogue=after,
        )  # fmt: skip
    except Diagnostic as error:
        raise ValueError(error.message) from None
    return problem, sizes["n"] == 0


@lru_cache(maxsize=KERNELS)
def _kernel(
    problem: Conv2d,
    layouts: Names,
    where: CallTarget,
    chosen: tuple[Batches, None, Effort | None],
    news: News,
) -> Kernel:
    """The kernel for the arrays as they lie in memory.  news: conclusions that may make it another one."""
    filter_, input_, output = layouts
    lying = replace(problem, filter_layout=filter_, input_layout=input_, output_layout=output)
    return kernel_of(lying, where, *chosen)


@lru_cache(maxsize=KERNELS)
def _shapes(problem: Conv2d, is_empty: bool) -> Mapping[Role, tuple[int, ...]]:
    """What each array must have; no images where there are none."""
    found: dict[Role, tuple[int, ...]] = {}
    for role in ROLES:
        dims = zip(problem.layout(role), problem.shapes(role), strict=True)
        found[role] = tuple(0 if name == "n" and is_empty else size for name, size in dims)
    return found


def _misfit(
    problem: Conv2d, word: str, role: Role, want: tuple[int, ...], got: tuple[int, ...]
) -> ValueError:
    sizes = f" for {counted(problem.c, 'channel')} in {counted(problem.groups, 'group')}"
    return ValueError(f"'{word}' should have shape {want}{sizes if role == 'filter' else ''}, got {got}")


def _arrays(names: Names, memory: Memory, given: Given) -> dict[str, tuple[Role, Laid]]:
    """An array's role, and how it lies, by the caller's word for it."""
    found: dict[str, tuple[Role, Laid]] = {}
    for word, (role, value) in given.items():
        array = laid(value, word, memory)
        if (rank := array.array.ndim) != 4:
            dims = ", ".join(names[ROLES.index(role)])
            raise ValueError(f"'{word}' should have 4 dimensions ({dims}), got {rank}")
        found[word] = (role, array)
    return found
