"""What vmap makes of a kernel's call: one of more images, more rows or more matrices, where there is one.

    conv, data     images are batched, filters are not    more images
    product        the first matrix alone is               more rows
                   both are, or the second                 a batch of products
                   batches of matrices                     more of them
    all else                                               a loop, one call for each element

Law: the batch is the first dimension of each array that has one, and of each result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeAlias

__all__ = ["Folded", "folded", "one_by_one"]

jax: Any = import_module("jax")
jnp: Any = import_module("jax.numpy")

Arrays: TypeAlias = "Mapping[str, Any]"
PER_CHANNEL: Final = frozenset({"channel_scale", "bias"})
"""Roles of arrays that have no rows or images, and stay what they are where a batch is folded into these."""


class Folded(NamedTuple):
    """The call's arrays by role, what it knows, and results as batches again."""

    arrays: Arrays
    known: Any
    back: Callable[[Any], Any]


def folded(kind: str, known: Any, many: int, batched: Mapping[str, bool], arrays: Arrays) -> Folded | None:
    """One call for the whole batch; None where there is none.

    kind: conv, data, weight or product.  many: elements of the batch.  batched: by role, has the array it?
    """
    if any(batched.get(role, False) for role in PER_CHANNEL):
        return None
    rule = _RULES.get(kind)
    return None if rule is None else rule(known, many, batched, arrays)


def one_by_one(call: Callable[[Arrays], Any], batched: Mapping[str, bool], arrays: Arrays) -> Any:
    """A loop of calls."""
    moving = {role: array for role, array in arrays.items() if batched[role]}

    def one(each: Arrays) -> Any:
        return call({**arrays, **each})

    return jax.lax.map(one, moving)


def _conv(known: Any, many: int, batched: Mapping[str, bool], arrays: Arrays) -> Folded | None:
    if not batched["input"] or batched["filter"]:
        return None
    image, result = known.layouts.images.index("n"), known.layouts.result.index("n")
    given = {**arrays, "input": _into(arrays["input"], image)}
    if "residual" in arrays:
        given["residual"] = _into(_batch(arrays["residual"], many, batched["residual"]), result)
    return Folded(given, known, partial(_out, at=result, many=many))


def _data(known: Any, many: int, batched: Mapping[str, bool], arrays: Arrays) -> Folded | None:
    if not batched["output"] or batched["filter"]:
        return None
    moves, shape = known
    image, result = moves.layouts.images.index("n"), moves.layouts.result.index("n")
    more = (*shape[:image], many * shape[image], *shape[image + 1 :])
    given = {**arrays, "output": _into(arrays["output"], result)}
    return Folded(given, (moves, more), partial(_out, at=image, many=many))


def _product(known: Any, many: int, batched: Mapping[str, bool], arrays: Arrays) -> Folded:
    of = {role: arrays[role] for role in ("a", "b")}
    batches = [array.shape[-3] for role, array in of.items() if array.ndim - batched[role] == 3]
    if batched["a"] and not batched["b"] and not known.a and arrays["b"].ndim == 2 and not batches:
        staying = {"b", *PER_CHANNEL}
    elif batches:
        staying = {role for role, array in of.items() if array.ndim == 2} | PER_CHANNEL
        arrays = {**arrays, **{role: _each(array, batches[0]) for role, array in of.items() if batched[role]}}
    else:
        each = {role: _batch(arrays[role], many, batched[role]) for role in arrays.keys() - PER_CHANNEL}
        return Folded({**arrays, **each}, known, _as_it_is)
    roles = arrays.keys() - staying
    flat = {role: _into(_batch(arrays[role], many, batched[role]), 0) for role in roles}
    return Folded({**arrays, **flat}, known, partial(_out, at=0, many=many))


def _each(array: Any, batch: int) -> Any:
    """A batch's matrix, or its batches of them, as batches: once for each matrix that it meets."""
    return (
        array
        if array.ndim == 4
        else jnp.broadcast_to(array[:, None], (array.shape[0], batch, *array.shape[1:]))
    )


_RULES: Final[Mapping[str, Callable[..., Folded | None]]] = {
    "conv": _conv,
    "data": _data,
    "product": _product,
}


def _as_it_is(result: Any) -> Any:
    return result


def _batch(array: Any, many: int, is_batched: bool) -> Any:
    return array if is_batched else jnp.broadcast_to(array, (many, *array.shape))


def _into(array: Any, at: int) -> Any:
    """The batch within dimension `at` of an element, slower than it."""
    shape = array.shape[1:]
    moved = jnp.moveaxis(array, 0, at)
    return moved.reshape(*shape[:at], array.shape[0] * shape[at], *shape[at + 1 :])


def _out(array: Any, at: int, many: int) -> Any:
    """The batch of dimension `at` as the first dimension again: the inverse of `_into`."""
    shape = array.shape
    return jnp.moveaxis(array.reshape(*shape[:at], many, shape[at] // many, *shape[at + 1 :]), at, 0)
