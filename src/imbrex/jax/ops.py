"""Functions of JAX's arrays: a convolution, its gradients and a product, each other's derivatives.

    conv(x, w)             by x: data(dy, w)     by w: weight(dy, x)
    data(dy, w)    of g:   by dy: conv(g, w)     by w: weight(dy, g)
    weight(dy, x)  of g:   by dy: conv(x, g)     by x: data(dy, g)
    product(a, b)  of g:   products of g with a and with b, read transposed

Law: reverse derivatives exist to any order; an array is never copied to be transposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeAlias

from imbrex.chip import GPU_MACHINES
from imbrex.diagnostic import Diagnostic
from imbrex.jax.handler import on_gpu, registered
from imbrex.problem import Conv2d, Direction, Gemm, Problem
from imbrex.run.cpu import thread_count

__all__ = ["conv2d", "matmul"]

jax: Any = import_module("jax")

CAPABILITIES: Final = {
    ".".join(map(str, row.compute_capability)): name
    for name, row in GPU_MACHINES.items()
    if row.compute_capability is not None and row.has_wgmma
}
"""Targets of GPUs, by the compute capability that JAX says."""
Pair: TypeAlias = "int | Sequence[int]"
Shape: TypeAlias = tuple[int, ...]


class Moves(NamedTuple):
    """Numbers of a convolution, height before width."""

    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    groups: int


def conv2d(
    x: Any, w: Any, *, stride: Pair = 1, padding: Pair = 0, dilation: Pair = 1, groups: int = 1
) -> Any:
    """A convolution of images (n, c, h, w) by filters (k, c / groups, y, x)."""
    _kind()
    _expect_alike(x, w, 4)
    return _conv(x, w, Moves(_two(stride), _two(padding), _two(dilation), groups))


def matmul(a: Any, b: Any) -> Any:
    """Product of matrices; the batch of `a` is further rows of one matrix `b`, or as large as that of `b`."""
    _kind()
    _expect_alike(a, b)
    if (
        a.ndim < 2
        or b.ndim < 2
        or (b.ndim > 2 and a.shape[:-2] != b.shape[:-2])
        or a.shape[-1] != b.shape[-2]
    ):
        raise ValueError(f"no product of arrays of shapes {a.shape} and {b.shape}")
    (*outer, m, k), n = a.shape, b.shape[-1]
    if b.ndim == 2:
        return _product(a.reshape(-1, k), b, (False, False)).reshape(*outer, m, n)
    found = _product(a.reshape(-1, m, k), b.reshape(-1, k, n), (False, False))
    return found.reshape(*outer, m, n)


def _call(problem: Problem, *arrays: Any) -> Any:
    """The kernel on the arrays that it reads."""
    result = problem.operands[[operand.is_written for operand in problem.operands].index(True)]
    kind = _kind()
    target = registered(problem, thread_count(None)) if kind == "cpu" else on_gpu(problem, kind)
    shape = jax.ShapeDtypeStruct(result.shape, result.dtype.numpy)
    return jax.ffi.ffi_call(target, shape, vmap_method="sequential")(*arrays)


def _problem(direction: Direction, x: Shape, w: Shape, moves: Moves, dtype: Any) -> Conv2d:
    """A ValueError where there is none."""
    try:
        return Conv2d(
            direction, x[0], x[1], x[2], x[3], w[0], w[2], w[3],
            pad_h=moves.padding[0], pad_w=moves.padding[1], stride=moves.stride, dilation=moves.dilation,
            groups=moves.groups, dtype=dtype.name,
        )  # fmt: skip
    except Diagnostic as error:
        raise ValueError(error.message) from None


_jitted: Final = partial(jax.jit, static_argnums=(2,))
_differentiable: Final = partial(jax.custom_vjp, nondiff_argnums=(2,))


@_jitted
@_differentiable
def _conv(x: Any, w: Any, moves: Moves) -> Any:
    if x.shape[1] != w.shape[1] * moves.groups:
        raise ValueError(f"images of {x.shape[1]} channels do not meet filters of {w.shape[1]} in each group")
    return _call(_problem("forward", x.shape, w.shape, moves, x.dtype), w, x)


@_jitted
@_differentiable
def _data(dy: Any, w: Any, known: tuple[Moves, Shape]) -> Any:
    moves, shape = known
    return _call(_problem("backward_data", shape, w.shape, moves, dy.dtype), w, dy)


@_jitted
@_differentiable
def _weight(dy: Any, x: Any, known: tuple[Moves, Shape]) -> Any:
    moves, shape = known
    return _call(_problem("backward_weight", x.shape, shape, moves, dy.dtype), x, dy)


@_jitted
@_differentiable
def _product(a: Any, b: Any, turned: tuple[bool, bool]) -> Any:
    """turned: is the matrix in memory the transposed one?"""
    m, k = a.shape[-2:][::-1] if turned[0] else a.shape[-2:]
    n = b.shape[-2] if turned[1] else b.shape[-1]
    batch = a.shape[0] if a.ndim == 3 else 1
    problem = Gemm(
        m, n, k, batch=batch, transpose_a=turned[0], transpose_b=turned[1], dtype=a.dtype.name
    )  # fmt: skip
    flat = (array.reshape(array.shape[1:]) if array.ndim == 3 and batch == 1 else array for array in (a, b))
    return _call(problem, *flat).reshape(*a.shape[:-2], m, n)


def _conv_back(moves: Moves, kept: Any, dy: Any) -> Any:
    x, w = kept
    return _data(dy, w, (moves, x.shape)), _weight(dy, x, (moves, w.shape))


def _data_back(known: tuple[Moves, Shape], kept: Any, g: Any) -> Any:
    dy, w = kept
    return _conv(g, w, known[0]), _weight(dy, g, (known[0], w.shape))


def _weight_back(known: tuple[Moves, Shape], kept: Any, g: Any) -> Any:
    dy, x = kept
    del dy
    return _conv(x, g, known[0]), _data(kept[0], g, (known[0], x.shape))


def _product_back(turned: tuple[bool, bool], kept: Any, g: Any) -> Any:
    a, b = kept
    of_a, of_b = turned
    da = _product(b, g, (of_b, True)) if of_a else _product(g, b, (False, not of_b))
    db = _product(g, a, (True, of_a)) if of_b else _product(a, g, (not of_a, False))
    return da, db


def _keep(function: Any) -> Any:
    """The forward pass of a derivative: what is computed, and both arrays."""

    def forward(one: Any, other: Any, known: Any) -> Any:
        return function(one, other, known), (one, other)

    return forward


for _function, _back in (
    (_conv, _conv_back), (_data, _data_back), (_weight, _weight_back), (_product, _product_back),
):  # fmt: skip
    _function.__wrapped__.defvjp(_keep(_function), _back)


def _two(value: Pair) -> tuple[int, int]:
    height, width = (value, value) if isinstance(value, int) else value
    return height, width


def _kind() -> str:
    """The target of JAX's default device; a Diagnostic where there is none for it."""
    device: Any = jax.config.jax_default_device
    if device is None or isinstance(device, str):
        device = jax.devices(device)[0]
    capability = getattr(device, "compute_capability", "")
    kind = "cpu" if device.platform == "cpu" else CAPABILITIES.get(capability)
    if kind is None:
        message = f"imbrex.jax runs on CPUs and on Hopper GPUs, and JAX's default is '{device.platform}'"
        found = f"{message}, a {device.device_kind}"
        raise Diagnostic(found, hint="jax.config.update('jax_platforms', 'cpu')")
    return kind


def _expect_alike(one: Any, other: Any, rank: int | None = None) -> None:
    for array in (one, other):
        if rank is not None and array.ndim != rank:
            raise ValueError(f"an array of {rank} dimensions is wanted, got the shape {array.shape}")
    if one.dtype != other.dtype:
        raise TypeError(f"arrays should be of one type, got {one.dtype} and {other.dtype}")
    if 0 in (*one.shape, *other.shape):
        raise ValueError("arrays without elements are not supported")
