"""What vmap makes of a kernel's call: one of more images, more rows or more matrices, where there is one.

    conv, data     images are batched, filters are not    more images
    product        the first matrix alone is               more rows
                   both are, or the second                 a batch of products
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
    is_rows = batched["a"] and not batched["b"] and not known.a and arrays["b"].ndim == 2
    roles = (
        [role for role in arrays if role not in ("b", *PER_CHANNEL)]
        if is_rows
        else [*arrays.keys() - PER_CHANNEL]
    )
    each = {role: _batch(arrays[role], many, batched[role]) for role in roles}
    if is_rows or arrays["a"].ndim - batched["a"] == 3:
        flat = {role: _into(array, 0) for role, array in each.items()}
        return Folded({**arrays, **flat}, known, partial(_out, at=0, many=many))
    return Folded({**arrays, **each}, known, _as_it_is)


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
