"""check: what TMA reads or writes of an array, against the map that says what it should.

Law: wherever it is looked at, the element that a form reaches is the map's, and no element where the
map has none.  All of a piece is looked at, wherever in it the operand may end; all pieces where they
are few, otherwise the first and the last and some between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import product
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from imbrex.chip import VECTOR_BYTES
from imbrex.index.map import Map
from imbrex.numeral import counted
from imbrex.view.tensor.form import Box, Piece, Walk
from imbrex.view.tensor.tiling import INNER, ROW, Run

__all__ = ["Ints", "differs", "misplaced", "offset_of", "offsets", "sampled"]

Ints: TypeAlias = npt.NDArray[np.int64]

FEW: Final = 1 << 16
LOOKED_AT: Final = 24
"""Pieces of each kind that are looked at where there are many."""


def differs(
    form: Box | Walk, map: Map, runs: Sequence[Run], variables: Mapping[str, int], free: str | None
) -> str | None:
    """Where a form reaches another element than the map's; None where it does not.

    runs: those of the form's pieces.  variables: what their coordinates are over.  free: the upper dim beyond
    whose end anything may be reached.  Of a run-time size, one and half of the most are looked at, too.
    """
    most = None if form.open is None else form.sizes[form.open] // form.each
    counts = (None,) if most is None else (most, 1, (most + 1) // 2)
    return next(
        filter(None, (_differs_at(count, form, map, runs, variables, free) for count in counts)), None
    )


def _differs_at(
    count: int | None,
    form: Box | Walk,
    map: Map,
    runs: Sequence[Run],
    variables: Mapping[str, int],
    free: str | None,
) -> str | None:
    """`differs` where the run-time size is `count`."""
    sizes = dict(map.upper)
    if count is not None:
        form = form.at(count)
    for piece, run in zip(form.pieces, runs, strict=True):
        env = _environment(variables, run)
        at = {name: run.at[name].eval(env) if name in run.at else 0 for name in sizes}
        inside = {name: np.asarray(at[name] < size) for name, size in sizes.items()}
        found = offset_of(map, [np.minimum(at[n], size - 1) for n, size in sizes.items()], count)
        want = np.where(reduce(np.logical_and, inside.values()), found, -1)
        cares = inside[free] if free else np.True_
        if (wrong := (offsets(form, piece, env) != want) & cares).any():
            first_wrong = np.argwhere(np.broadcast_to(wrong, want.shape))[0]
            where = {name: int(np.broadcast_to(x, want.shape)[tuple(first_wrong)]) for name, x in at.items()}
            return f"what would be reached at {where} is not the operand's element"
    return None


def misplaced(
    form: Box | Walk, runs: Sequence[Run], variables: Mapping[str, int], element_bytes: int
) -> str | None:
    """Where a piece begins inside of 16 bytes along the innermost dim: an H200 takes that for an illegal
    instruction, though sizes may be any.
    """
    for piece, run in zip(form.pieces, runs, strict=True):
        first = np.asarray(piece.coords[0].eval(_environment(variables, run))) * element_bytes
        if (inside := first[first % VECTOR_BYTES != 0]).size:
            begins = counted(int(inside[0]), "byte")
            return f"a piece begins {begins} into a row, not a multiple of {VECTOR_BYTES}"
    return None


def offsets(form: Box | Walk, piece: Piece, env: Mapping[str, Any]) -> Ints:
    """The offset of the element that a form reaches at each element of a piece; -1 where there is none."""
    first = [x.eval(env) for x in piece.coords]
    row, inner = env[ROW], env[INNER]
    coords = [first[0] + inner]
    if isinstance(form, Box):
        for x, extent, step in zip(first[1:], form.box[1:], form.steps[1:], strict=True):
            row, digit = np.divmod(row, extent // step)
            coords.append(x + digit * step)
    else:
        taps = [x.eval(env) for x in piece.offsets]
        for i in range(2):
            count = (form.sizes[1 + i] - 1 + form.upper[i] - form.lower[i]) // form.steps[i] + 1
            row, digit = np.divmod((first[1 + i] - form.lower[i]) // form.steps[i] + row, count)
            coords.append(form.lower[i] + digit * form.steps[i] + taps[i])
        coords.append(first[3] + row)
    offset, exists = form.base, np.True_
    for x, size, stride in zip(coords, form.sizes, (1, *form.strides), strict=True):
        offset, exists = offset + x * stride, exists & (x >= 0) & (x < size)
    return np.where(exists, offset, -1)


def offset_of(map: Map, coords: Sequence[Any], count: int | None = None) -> Ints:
    """The element's number in the array, -1 where a guard of the map says that there is none.  count: the
    run-time size, where there is one.
    """
    found, exists = map.evaluate(coords, count)
    offset: Any = 0
    for x, dim in zip(found, map.lower, strict=True):
        offset = offset * dim.size + x
    return np.where(exists, offset, -1)


def sampled(counts: Sequence[int], more: int) -> Ints:
    """Numbers below each of the counts, in the same order, along the first of three dims: the ends in every
    combination, and `more` random ones.
    """
    random = np.random.default_rng(0)
    found = set(product(*({0, n - 1} for n in counts)))
    found |= {tuple(int(random.integers(n)) for n in counts) for _ in range(more)}
    return np.array(sorted(found)).T[:, :, None, None]


def _environment(variables: Mapping[str, int], run: Run) -> dict[str, Any]:
    """Values of the variables, along the first dim of three, of ROW along the second and INNER the third."""
    counts = tuple(variables.values())
    if prod(counts) * run.rows * run.inner <= FEW:
        chosen = np.indices(counts).reshape(len(counts), -1, 1, 1)
    else:
        chosen = sampled(counts, LOOKED_AT)
    values = dict(zip(variables, chosen, strict=True))
    return {**values, ROW: np.arange(run.rows)[:, None], INNER: np.arange(run.inner)}
