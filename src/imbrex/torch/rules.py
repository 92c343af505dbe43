"""Autocast and vmap of the ops.

Autocast: floats but those of 64 bits become the type that the region asks for, as torch's own convolutions
and products have it.  vmap: a batch of images, or of rows, becomes more of them, and two batches of matrices
become one; the rest is computed one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias, cast

from imbrex.torch.ops import LIBRARY, OPS

__all__ = ["register"]

torch: Any = import_module("torch")
Rule: TypeAlias = Callable[..., Any]
"""What a batch's size, dims and arguments give: results, and where their batches are."""


def register() -> None:
    """Tells torch the rules of each op."""
    for name, op in OPS.items():
        for device, key in (("cpu", "AutocastCPU"), ("cuda", "AutocastCUDA")):
            LIBRARY.impl(name, _in_region(op, device), key)
        rule = {"conv2d": _images, "product": _matrices}.get(name.removesuffix("_with_sums"), _one_by_one)
        torch.library.register_vmap(f"imbrex::{name}", rule(op), lib=LIBRARY)


def _in_region(op: Any, device: str) -> Callable[..., Any]:
    names = [argument.name for argument in op._schema.arguments]
    scale = names.index("scale") if "scale" in names else None  # has the type of sums

    def cast(*given: Any) -> Any:
        kind = torch.get_autocast_dtype(device)
        with torch.autocast(device, enabled=False):
            return op(*(v.to(kind) if _is_cast(v) and at != scale else v for at, v in enumerate(given)))

    return cast


def _is_cast(value: Any) -> bool:
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return is_float and value.dtype != torch.float64


def _images(op: Any) -> Rule:
    def folded(info: Any, dims: tuple[Any, ...], *given: Any) -> Any:
        x, w, scale, bias, residual, *options = given
        if dims[0] is None or any(dim is not None for dim in dims[1:4]):
            return _one_by_one(op)(info, dims, *given)
        images, more = (
            _folded(value, dim, info.batch_size) for value, dim in ((x, dims[0]), (residual, dims[4]))
        )
        return _unfolded(op(images, w, scale, bias, more, *options), info.batch_size)

    return folded


def _matrices(op: Any) -> Rule:
    def folded(info: Any, dims: tuple[Any, ...], *given: Any) -> Any:
        a, b, bias, residual, *options = given
        if dims[0] is None or dims[2] is not None or a.dim() != 3:
            return _one_by_one(op)(info, dims, *given)
        many = info.batch_size
        if dims[1] is None:
            rows = _folded(residual, dims[3], many)
            return _unfolded(op(_folded(a, dims[0], many), b, bias, rows, *options), many)
        batch = _first(residual, dims[3], many)
        return _batched(op(a.movedim(dims[0], 0), b.movedim(dims[1], 0), bias, batch, *options))

    return folded


def _unfolded(results: Any, many: int) -> Any:
    """Results whose first dimension holds the batch, too, with the dimensions of their batches."""
    if isinstance(results, tuple):
        return _batched(tuple(one.unflatten(0, (many, -1)) for one in cast("tuple[Any, ...]", results)))
    return _batched(results.unflatten(0, (many, -1)))


def _batched(results: Any) -> Any:
    """Results with where their batch is: before all else."""
    return results, (0,) * len(cast("tuple[Any, ...]", results)) if isinstance(results, tuple) else 0


def _first(value: Any, dim: int | None, many: int) -> Any:
    """The tensor with the batch before all else; None of None."""
    if value is None:
        return None
    return value.expand(many, *value.shape) if dim is None else value.movedim(dim, 0)


def _folded(value: Any, dim: int | None, many: int) -> Any:
    """The tensor with the batch within the first dimension; None of None."""
    found = _first(value, dim, many)
    return None if found is None else found.flatten(0, 1)


def _one_by_one(op: Any) -> Rule:
    def each(info: Any, dims: tuple[Any, ...], *given: Any) -> Any:
        rows = [
            op(*(v.select(d, i) if isinstance(d, int) else v for v, d in zip(given, dims, strict=True)))
            for i in range(info.batch_size)
        ]
        if isinstance(rows[0], tuple):
            return _batched(tuple(torch.stack(each) for each in zip(*rows, strict=True)))
        return _batched(torch.stack(rows))

    return each
