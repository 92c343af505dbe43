"""Compare: a result against what a kit expects of it.

Law: where sums do not round, every element has to be equal, which a checksum of each run of elements says;
else elements that a seed picks have to be within a bound each, and all must be written.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .draw import Array, JsonObject, places, values_of

__all__ = ["checksums", "numbers_of", "packed", "verdict"]


def packed(array: Array) -> str:
    """An array as text."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes(), 9)).decode()


def numbers_of(text: str, dtype: str) -> Array:
    """The inverse of `packed`."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype)


def checksums(codes: Array, run: int, element: JsonObject) -> Array:
    """One of each run of so many elements, in the order of memory; zero and -0 are the same."""
    own, minus = codes.reshape(-1), element["minus_zero"]
    if minus is not None:
        own = np.where(own == minus, 0, own).astype(own.dtype)
    return np.array([zlib.crc32(own[at : at + run].tobytes()) for at in range(0, own.size, run)], "<u4")


def verdict(codes: Array, want: JsonObject, element: JsonObject, names: Sequence[str]) -> dict[str, Any]:
    """What is to be said of a result: is_right, told.  names: of its dimensions."""
    row = codes.reshape(-1)
    at = places(want["seed"], row.size, want["count"])
    target = numbers_of(want["want"], "<f8")
    if "checksums" in want:
        run = want["run"]
        differ = checksums(codes, run, element) != numbers_of(want["checksums"], "<u4")
        if not differ.any():
            return {"is_right": True, "told": f"{row.size} elements, all equal"}
        first = int(np.argmax(differ)) * run
        ends = [_place(i, codes.shape, names) for i in (first, min(first + run, row.size) - 1)]
        message = f"{int(differ.sum())} of {differ.size} runs of {run} elements differ, the first from "
        message += " to ".join(ends)
        bound = np.zeros(at.size)
        return {
            "is_right": False,
            "told": message + _first(row, Known(at, target, bound), element, (codes.shape, names)),
        }
    bound = numbers_of(want["bound"], "<f4").astype(np.float64)
    right = _within(row[at], target, bound, element)
    is_certain = element["kind"] != "int" or element["bytes"] > 1
    unwritten = int(np.count_nonzero(row == element["poison"])) if is_certain else 0
    if unwritten or not right.all():
        message = f"{int((~right).sum())} of {at.size} elements that were looked at are wrong, "
        message += f"{unwritten} of {row.size} never written"
        return {
            "is_right": False,
            "told": message + _first(row, Known(at, target, bound), element, (codes.shape, names)),
        }
    most = _largest(row[at], target, bound, element)
    message = f"{at.size} of {row.size} elements looked at, largest error {most:.2g} of its bound"
    return {"is_right": True, "told": message}


def _within(codes: Array, target: Array, bound: Array, element: JsonObject) -> Array:
    value = values_of(codes, element).astype(np.float64)
    with np.errstate(invalid="ignore"):
        same = (value == target) | (np.isnan(value) & np.isnan(target))
        beyond = np.isinf(value) & (np.sign(value) == np.sign(target))
        beyond &= np.abs(target) + bound >= element["largest"]
        found: Array = same | beyond | (np.abs(value - target) <= bound)
    return found


def _largest(codes: Array, target: Array, bound: Array, element: JsonObject) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.abs(values_of(codes, element).astype(np.float64) - target)
        ratio = np.where((error == 0) | ~np.isfinite(error), 0.0, error / bound)
    return float(np.max(ratio, initial=0.0))


class Known(NamedTuple):
    """Elements whose values are known: their numbers in memory, their values, and how far off one may be."""

    at: Array
    target: Array
    bound: Array


def _first(row: Array, known: Known, element: JsonObject, dims: tuple[Sequence[int], Sequence[str]]) -> str:
    """The first wrong one of the elements that are known, if any.  dims: their sizes and names."""
    at, target, bound = known
    right = _within(row[at], target, bound, element)
    if right.all():
        return ""
    one = int(np.argmin(right))
    code = row[at[one] : at[one] + 1]
    got = f"got {float(values_of(code, element)[0]):.9g}"
    got = "nothing written" if int(code[0]) == element["poison"] else got
    where = _place(int(at[one]), *dims)
    return f"; at {where} {got}, want {float(target[one]):.9g}, bound {float(bound[one]):.3g}"


def _place(index: int, shape: Sequence[int], names: Sequence[str]) -> str:
    found = np.unravel_index(index, tuple(shape))
    return " ".join(f"{name}={int(i)}" for name, i in zip(names, found, strict=True))
