"""Draw: numbers from a seed and a counter, the same ones on every machine, and their bits in memory.

Law: element i of an array depends on the array's seed and on i alone (splitmix64 of both: Steele, Lea and
Flood, OOPSLA 2014), so that any part of it can be drawn apart.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

__all__ = ["codes_of", "drawn", "packed", "places", "storage", "values_of"]

Array: TypeAlias = np.ndarray[Any, Any]
JsonObject: TypeAlias = Mapping[str, Any]
"""JSON of a kit."""
_GOLDEN, _ONE, _TWO = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
PIECE = 1 << 21
"""Elements that are drawn at a time."""
_FLOATS = {2: "f2", 4: "f4", 8: "f8"}


def random_bits(seed: int, first: int, count: int) -> Array:
    """64 bits for each of so many counters."""
    z = np.arange(first + 1, first + count + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
    z += np.uint64((seed * _TWO + 1) % 2**64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_ONE)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_TWO)
    return z ^ (z >> np.uint64(31))


def places(seed: int, elements: int, count: int) -> Array:
    """So many elements of an array at most, each once, in order, the first and the last among them."""
    if elements <= count:
        return np.arange(elements)
    found = random_bits(seed, 0, count) % np.uint64(elements)
    return np.unique(np.concatenate(([0, elements - 1], found.astype(np.int64))))


def drawn(
    draw: JsonObject, element: JsonObject, shape: Sequence[int], strides: Sequence[int] | None = None
) -> Array:
    """Bits of the elements of an array, row-major and dense: drawn where they lie in memory with these
    strides, so that elements that share memory are equal; of an array of packs, of the elements in them.

    draw: how they are drawn.  whole: numbers from `low` to `high` without zero; real: odd multiples of
    2^-bits between -1 and 1; odd: odd numbers of `bits` bits as numbers between 1 and 2, with signs; power:
    2^low to 2^high; kept: where a mask keeps them, else zero.
    """
    steps = strides or [int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(len(shape))]
    elements = 1 + sum((size - 1) * step for size, step in zip(shape, steps, strict=True))
    if pack := element.get("pack"):
        single = {key: value for key, value in element.items() if key != "pack"} | {"bytes": 1}
        apart = None if strides is None else [*(step * pack for step in steps[:-1]), 1]
        return packed(drawn(draw, single, [*shape[:-1], shape[-1] * pack], apart), element)
    row = np.empty(elements, storage(element))
    for first in range(0, elements, PIECE):
        bits = random_bits(draw["seed"], first, min(PIECE, elements - first))
        row[first : first + PIECE] = codes_of(_values(draw, bits), element)
    in_bytes = tuple(step * element["bytes"] for step in steps)
    found = np.ascontiguousarray(np.lib.stride_tricks.as_strided(row, tuple(shape), in_bytes))
    if "kept" in draw:
        mask = zlib.decompress(base64.b64decode(draw["kept"]))
        kept = np.unpackbits(np.frombuffer(mask, np.uint8), count=found.size)
        found *= kept.reshape(found.shape).astype(found.dtype)
    return found


def _values(draw: JsonObject, bits: Array) -> Array:
    """float64, or int64 of whole numbers."""
    kind = draw["kind"]
    if kind == "whole":
        low, high = draw["low"], draw["high"]
        found = (bits % np.uint64(high - low)).astype(np.int64) + low
        return found + (found >= 0)
    if kind == "power":
        low, high = draw["low"], draw["high"]
        return 2.0 ** ((bits % np.uint64(high - low + 1)).astype(np.int64) + low)
    width = draw["bits"]
    if kind == "real":
        top = (bits >> np.uint64(64 - width)).astype(np.int64)
        return (2 * top + 1 - (1 << width)).astype(np.float64) * 2.0**-width
    sign = 1 - 2 * (bits >> np.uint64(63)).astype(np.int64)
    if kind == "odd":
        own = (bits & np.uint64((1 << (width - 2)) - 1)).astype(np.int64)
        return (sign * (2 * own + 1 + (1 << (width - 1)))).astype(np.float64) * 2.0 ** (1 - width)
    raise ValueError(f"this program draws no '{kind}' numbers: take the one of the kit")


def packed(codes: Array, element: JsonObject) -> Array:
    """Single elements of the last dimension in packs, the first in the lowest bits."""
    bits = codes[..., None] >> np.arange(element["bits"], dtype=np.uint8) & 1
    rows = bits.reshape(*codes.shape[:-1], -1)
    return np.packbits(rows, axis=-1, bitorder="little").view(storage(element))


def storage(element: JsonObject) -> str:
    """NumPy's type of an element's bits, raw bytes where it has no number of so many."""
    size = element["bytes"]
    return f"<u{size}" if size in (1, 2, 4, 8) else f"V{size}"


def codes_of(values: Array, element: JsonObject) -> Array:
    """Bits of numbers that the type has."""
    kind, size = element["kind"], element["bytes"]
    if kind == "int":
        return values.astype(f"<i{size}").view(storage(element))
    if kind == "ieee":
        return values.astype(f"<{_FLOATS[size]}").view(storage(element))
    if kind == "half_of_f32":
        return (values.astype("<f4").view("<u4") >> np.uint32(16)).astype("<u2")
    table = _table(element)
    order = np.argsort(table, kind="stable")  # NaNs last
    return order[np.searchsorted(table[order], values.astype(np.float64))].astype(np.uint8)


def values_of(codes: Array, element: JsonObject) -> Array:
    """float64 of bits, int64 of those of whole numbers."""
    kind, size = element["kind"], element["bytes"]
    if kind == "int":
        return codes.view(f"<i{size}").astype(np.int64)
    if kind == "ieee":
        return codes.view(f"<{_FLOATS[size]}").astype(np.float64)
    if kind == "half_of_f32":
        return (codes.astype("<u4") << np.uint32(16)).view("<f4").astype(np.float64)
    return _table(element)[codes]


def _table(element: JsonObject) -> Array:
    """The numbers of an 8-bit float, NaN where its bits are none that is finite."""
    return np.array([np.nan if one is None else one for one in element["codes"]], np.float64)
