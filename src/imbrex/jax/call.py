"""The primitive: a kernel on arrays of JAX's, whose result has a shape when a program is traced, and which is
compiled when that is lowered.

Law: tracing compiles nothing, so that vmap, which traces a function of one element first, has kernels of what
is computed alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Final, Literal, NamedTuple, TypeAlias, assert_never

import numpy as np

from imbrex.diagnostic import Diagnostic
from imbrex.function.batches import Batches, refuse, serving
from imbrex.jax.batching import folded, one_by_one
from imbrex.jax.device import kind
from imbrex.jax.handler import on_gpu, registered
from imbrex.jax.layouts import Layouts, Pads
from imbrex.kernel.target import CPU, Target, target_of
from imbrex.kernel.tuned import Effort
from imbrex.problem import Conv2d, Direction, Gemm, Problem
from imbrex.run.cpu import thread_count

__all__ = ["Kind", "Moves", "Shape", "Turned", "called", "convolution", "export_checks", "sizes"]

jax: Any = import_module("jax")
extended: Any = import_module("jax.extend.core")
mlir: Any = import_module("jax.interpreters.mlir")
batching: Any = import_module("jax.interpreters.batching")
export: Any = import_module("jax.export")

Shape: TypeAlias = tuple[int, ...]
Kind: TypeAlias = Literal["conv", "data", "weight", "product"]


class Moves(NamedTuple):
    """Numbers of a convolution, height before width.

    batches: see `imbrex.function.batches`.  tune: the effort with which a kernel is tuned first.
    """

    stride: tuple[int, int]
    padding: Pads
    dilation: tuple[int, int]
    groups: int
    layouts: Layouts
    batches: Batches = "each"
    tune: Effort | None = None


class Turned(NamedTuple):
    """Is the matrix in memory the transposed one?  batches, tune: as of `Moves`."""

    a: bool
    b: bool
    batches: Batches = "each"
    tune: Effort | None = None


class _Known(NamedTuple):
    """What there is to a call beside its arrays.  roles: of these, in order.  known: moves, with the result's
    shape of a gradient, or `Turned`.
    """

    kind: Kind
    known: Any
    epilogue: str | None
    roles: tuple[str, ...]

    @property
    def chosen(self) -> tuple[Batches, Effort | None]:
        """How its kernel is."""
        own = self.known[0] if self.kind in ("data", "weight") else self.known
        return own.batches, own.tune


KERNEL: Final[Any] = extended.Primitive("imbrex_kernel")
KERNEL.multiple_results = True


def called(of: Kind, known: Any, epilogue: str | None, arrays: Mapping[str, Any]) -> Any:
    """The result of a kernel on arrays by role, or a tuple with what it stores besides.

    known: the moves of a convolution, with the shape of the result of a gradient; `Turned` of a product.
    """
    is_one = any(
        arrays[role].ndim == 3 and arrays[role].shape[0] == 1 for role in ("a", "b") if role in arrays
    )
    flat = [array[0] if is_one and array.ndim == 3 else array for array in arrays.values()]
    found = KERNEL.bind(*flat, of=_Known(of, known, epilogue, tuple(arrays)))
    results = [array[None] for array in found] if is_one else found
    return results[0] if len(results) == 1 else tuple(results)


def _problem(of: _Known, given: Sequence[Any]) -> Problem:
    """A ValueError where there is none.  given: what has a shape and a type, in the order of roles."""
    arrays = dict(zip(of.roles, given, strict=True))
    match of.kind:
        case "conv":
            x, w = arrays["input"], arrays["filter"]
            return convolution("forward", x.shape, w.shape, of.known, x.dtype, of.epilogue)
        case "data":
            (moves, shape), w = of.known, arrays["filter"]
            return convolution("backward_data", shape, w.shape, moves, w.dtype)
        case "weight":
            (moves, shape), x = of.known, arrays["input"]
            return convolution("backward_weight", x.shape, shape, moves, x.dtype)
        case "product":
            a, b = arrays["a"], arrays["b"]
            return _multiplication(a.shape, b.shape, of.known, a.dtype, of.epilogue)
        case _:
            assert_never(of.kind)


def convolution(
    direction: Direction, x: Shape, w: Shape, moves: Moves, dtype: Any, epilogue: str | None = None
) -> Conv2d:
    """A ValueError where there is none."""
    images, filters = sizes(x, moves.layouts.images), sizes(w, moves.layouts.filters)
    _expect_values({**filters, **images, "n": 1})
    try:
        return Conv2d(
            direction, _number("n", images["n"], moves.batches), images["c"], images["h"], images["w"],
            filters["k"], filters["y"], filters["x"],
            pad_h=moves.padding[0], pad_w=moves.padding[1], stride=moves.stride, dilation=moves.dilation,
            groups=moves.groups, dtype=dtype.name, epilogue=epilogue, input_layout=moves.layouts.images,
            filter_layout=moves.layouts.filters, output_layout=moves.layouts.result,
        )  # fmt: skip
    except Diagnostic as error:
        raise ValueError(error.message) from None


def _multiplication(a: Shape, b: Shape, turned: Turned, dtype: Any, epilogue: str | None) -> Gemm:
    """A ValueError where there is none.  a, b: of matrices, or of batches of them; one matrix meets each."""
    m, k = a[-2:][::-1] if turned.a else a[-2:]
    n = b[-2] if turned.b else b[-1]
    batch = next((shape[0] for shape in (a, b) if len(shape) == 3), 1)
    _expect_values({"n": n, "batch": batch})
    again = {name: 0 for name, shape in (("stride_a", a), ("stride_b", b)) if batch > 1 and len(shape) == 2}
    try:
        return Gemm(
            _number("m", m, turned.batches), n, _number("k", k, turned.batches), batch=batch,
            transpose_a=turned.a, transpose_b=turned.b, dtype=dtype.name, epilogue=epilogue, **again,
        )  # fmt: skip
    except Diagnostic as error:
        raise ValueError(error.message) from None


def _number(name: str, size: Any, batches: Batches) -> int | str:
    """The number, or "?" of one of `jax.export`'s that has no value; a ValueError where that may not be."""
    if isinstance(size, int):
        return size
    if batches != "any":
        message = f"{name} is {size}, which has no value: batches='any' has one kernel for all numbers"
        raise ValueError(f"{message} of images, or of rows of a matrix")
    return "?"


def _expect_values(named: Mapping[str, Any]) -> None:
    """A ValueError for a size of `jax.export`'s that has no value, where a kernel needs one."""
    for name, size in named.items():
        if not isinstance(size, int):
            message = f"{name} is {size}, which has no value: only numbers of images and rows may have none"
            raise ValueError(message)


def sizes(shape: Shape, layout: str) -> dict[str, int]:
    return dict(zip(layout, shape, strict=True))


def _shapes(*given: Any, of: _Known) -> list[Any]:
    """The avals of the results."""
    problem = _problem(of, given)
    types = {one.role: one.dtype.numpy for one in problem.operands}
    assert all(one.dtype == types[role] for role, one in zip(of.roles, given, strict=True)), (of, given)
    open_size, number = problem.run_time, 0
    if open_size is not None:  # JAX's own, which has no value yet
        by_role = dict(zip(of.roles, given, strict=True))
        read = (one for one in problem.operands if open_size.is_of(one) and not one.is_written)
        number = next(by_role[one.role].shape[0] for one in read)
    return [
        _like(
            given[0],
            (number, *one.shape[1:]) if open_size and open_size.is_of(one) else one.shape,
            one.dtype.numpy,
        )
        for one in problem.operands
        if one.is_written
    ]


def _like(given: Any, shape: Shape, kind: Any) -> Any:
    """The aval of a result of one device's: it varies along a mesh as what is given does."""
    mesh, spec = given.sharding.mesh, jax.sharding.PartitionSpec(*(None for _ in shape))
    whole = jax.sharding.NamedSharding(mesh, spec)
    return given.update(shape=shape, dtype=np.dtype(kind), weak_type=False, sharding=whole)


def _lowered(ctx: Any, *given: Any, of: _Known) -> Any:
    """The custom call, of which the kernel takes arrays in its own order."""
    problem = _problem(of, ctx.avals_in)
    positions = [of.roles.index(one.role) for one in problem.operands if not one.is_written]
    own = ctx.replace(avals_in=[ctx.avals_in[at] for at in positions])
    return jax.ffi.ffi_lowering(_named(problem, *of.chosen))(own, *(given[at] for at in positions))


def _named(problem: Problem, batches: Batches, tune: Effort | None) -> str:
    """The custom call of the problem's kernel, or of one that is told its number of images or rows, which is
    not tuned.
    """
    target, threads = target_of(kind()), thread_count(None)
    chosen = serving(problem, target, threads) if batches == "any" and not problem.run_time else problem
    try:
        return _registered(chosen, target, threads, tune)
    except Diagnostic as error:
        if chosen is problem:
            raise
        refuse(chosen, target, threads, error.message)
        return _registered(problem, target, threads, tune)


def _registered(problem: Problem, target: Target, threads: int, tune: Effort | None) -> str:
    effort = None if problem.run_time else tune
    return registered(problem, threads, effort) if target == CPU else on_gpu(problem, str(target), effort)


def _executed(*given: Any, of: _Known) -> Any:
    """The kernel of arrays with numbers under `jax.disable_jit`, where no program stands around it; a program
    of its own, since XLA alone calls kernels.
    """
    with jax.disable_jit(False):
        return jax.jit(partial(KERNEL.bind, of=of))(*given)


def _batched(given: Sequence[Any], dims: Sequence[int | None], of: _Known) -> Any:
    """One call for the whole batch, or one for each element."""
    first = [a if at is None else jax.numpy.moveaxis(a, at, 0) for a, at in zip(given, dims, strict=True)]
    many = next(a.shape[0] for a, at in zip(first, dims, strict=True) if at is not None)
    arrays = dict(zip(of.roles, first, strict=True))
    has = {role: at is not None for role, at in zip(of.roles, dims, strict=True)}
    one = folded(of.kind, of.known, many, has, arrays)
    if one is None:
        found = one_by_one(partial(called, of.kind, of.known, of.epilogue), has, arrays)
    else:
        found = jax.tree.map(one.back, called(of.kind, one.known, of.epilogue, one.arrays))
    results: list[Any] = [*found] if isinstance(found, tuple) else [found]
    return results, [0] * len(results)


KERNEL.def_impl(_executed)
KERNEL.def_abstract_eval(_shapes)
mlir.register_lowering(KERNEL, _lowered)
batching.primitive_batchers[KERNEL] = _batched


def export_checks(function: Any, *arguments: Any) -> list[Any]:
    """What `jax.export.export(..., disabled_checks=)` takes for a function that calls kernels of Imbrex.

    arguments: the function's, or their shapes, for which it is traced and its kernels are compiled.
    `jax.export` keeps a program with custom calls that it does not know only where it is told their names.
    """
    found = dict.fromkeys(_names(jax.make_jaxpr(function)(*arguments).jaxpr))
    return [export.DisabledSafetyCheck.custom_call(name) for name in found]


def _names(program: Any) -> Iterator[str]:
    for equation in program.eqns:
        if equation.primitive is KERNEL:
            of = equation.params["of"]
            yield _named(_problem(of, [value.aval for value in equation.invars]), *of.chosen)
        for value in jax.tree.leaves(list(equation.params.values()), is_leaf=_is_program):
            if _is_program(value):
                yield from _names(getattr(value, "jaxpr", value))


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns") or hasattr(getattr(value, "jaxpr", None), "eqns")
