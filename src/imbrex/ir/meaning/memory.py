"""Buffers and views while a module is interpreted.

A view answers for the elements at an index: the leading coordinates are given, the rest run over their sizes.
A coordinate may be an array over work items; then so is the answer, work items first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from imbrex.dtype import DType, saturated
from imbrex.index.map import Map
from imbrex.ir.meaning.fault import Fault, expect_index, expect_inside, expect_single
from imbrex.ir.meaning.races import Ledger
from imbrex.problem.epilogue import Epilogue

Array: TypeAlias = npt.NDArray[Any]
Coordinate: TypeAlias = "int | npt.NDArray[np.int64]"
Coordinates: TypeAlias = "tuple[Array, ...]"
"""Place of each element, behind its row where work items have rows of their own."""


class Places(NamedTuple):
    """Where elements lie, which of them exist, and whether all do."""

    at: Coordinates
    valid: Array
    is_whole: bool


MOST_PLACES: Final = 2048
_PLACES: Final[dict[tuple[Any, ...], Places]] = {}
"""Places by what decides them, since a loop asks for the same ones at each turn, and so do other levels of a
module.
"""


@dataclass(frozen=True)
class View:
    """Elements of flat `data`; with `items`, each work item has a row of `data` of its own.

    ledger: of LDS; this view starts `start` bytes into it.  finish: what is stored is finished by it first.
    known: of memory that starts with anything, which bytes of it have been written.
    """

    data: Array
    dtype: DType
    shape: tuple[int, ...]
    map: Map | None = None
    items: int | None = None
    ledger: Ledger | None = None
    start: int = 0
    finish: Finish | None = None
    known: Array | None = None

    @staticmethod
    def of(array: Array, dtype: DType) -> View:
        """A whole array; stores change it."""
        assert array.flags.c_contiguous, f"an array must be contiguous, got strides {array.strides}"
        return View(array.reshape(-1), dtype, array.shape)

    def seen_through(self, map: Map, shape: Sequence[int]) -> View:
        """The same elements under one more map."""
        finish = self.finish and self.finish.seen_through(map, shape)
        seen = map if self.map is None else _chained(map, self.map)
        return replace(self, map=seen, shape=tuple(shape), finish=finish)

    def part(self, offset: int, dtype: DType, shape: Sequence[int]) -> View:
        """The bytes from `offset` on, as elements of another type."""
        assert self.map is None, "a part of a view is not a buffer"
        end = offset + prod(shape) * dtype.bytes
        raw = self.data.view(np.uint8)[..., offset:end]
        if raw.shape[-1] != end - offset:
            have = self.data.shape[-1] * self.dtype.bytes
            raise Fault(f"a view of bytes {offset} to {end} of a buffer of {have}")
        known = None if self.known is None else self.known[..., offset:end]
        start = self.start + offset
        made = View(raw.view(dtype.numpy), dtype, tuple(shape), None, self.items, self.ledger, start)
        return replace(made, known=known)

    def load(
        self, index: Sequence[Coordinate] = (), offset: int = 0, shape: Sequence[int] | None = None
    ) -> Array:
        """The elements at an index, 0 where none exists; `shape` takes that many from a plain buffer."""
        values, written = self.copied(index, offset, shape)
        if not written.all():
            where = tuple(int(i) for i in np.argwhere(~written)[0])
            said = (
                f"work item {where[0]}, element {list(where[1:])}" if self.items else f"element {list(where)}"
            )
            raise Fault(f"reads what nobody has written: {said} of what it takes")
        return values

    def copied(
        self, index: Sequence[Coordinate] = (), offset: int = 0, shape: Sequence[int] | None = None
    ) -> tuple[Array, Array]:
        """The same, and which of them somebody has written: what only moves may be what nobody will use."""
        if (run := self._run(index, offset, shape)) is not None:
            values = self.data[..., run.start : run.stop].reshape(run.shape).copy()
            marks = np.ones((), np.bool_) if self.known is None else self.known[..., run.marks]
            return values, marks.reshape(run.shape) if marks.ndim else marks
        at, valid, is_whole = self._positions(index, offset, shape, "reads")
        if self.ledger is not None:
            self.ledger.load(*self._touched(index, at[-1], valid))
        values = self.data[at]
        if not is_whole:
            values[~valid] = np.zeros((), values.dtype)  # bits of zeros, also of a type without a zero
        if self.known is None:
            return values, np.ones((), np.bool_)
        return values, self.known[(*at[:-1], at[-1] * self.dtype.bytes)] | ~valid

    def store(
        self,
        values: Array,
        index: Sequence[Coordinate] = (),
        offset: int = 0,
        shape: Sequence[int] | None = None,
        add: bool = False,
        written: Array | np.bool_ = np.True_,
    ) -> None:
        """Put values where elements exist; with `add`, every value counts even where positions coincide.

        written: which of the values somebody has written; all that go to memory that outlives the launch.
        """
        if self.finish is not None:
            assert not add and shape is None, "an epilogue finishes a whole sum"
            values = self.finish.applied(values, index, self.dtype, written)
        run = self._run(index, offset, shape)
        if run is not None and (self.known is not None or written is np.True_):
            self._store_run(run, values, add, written)
            return
        at, valid, is_whole = self._positions(index, offset, shape, "writes")
        if self.ledger is not None:
            self.ledger.store(*self._touched(index, at[-1], valid))
        spread = np.broadcast_arrays(values, written, valid, *at)
        new, marks, *chosen = (
            a.reshape(-1) if is_whole else a[spread[2]] for a in (*spread[:2], *spread[3:])
        )
        chosen, new = tuple(chosen), new.astype(self.data.dtype)
        if self.known is not None:
            size = self.dtype.bytes
            self.known.reshape(*self.known.shape[:-1], -1, size)[chosen] = marks[..., None]
        elif not marks.all():
            raise Fault(f"stores what nobody has written to element {int(chosen[-1][~marks][0])} of a buffer")
        if not add and self.known is None:
            expect_single(chosen[-1], new)
        if add:
            np.add.at(self.data, chosen, new)
        else:
            self.data[chosen] = new

    def _run(self, index: Sequence[Coordinate], offset: int, shape: Sequence[int] | None) -> _Run | None:
        """Elements of a plain buffer that lie behind each other, as most accesses of registers are; None
        where they do not, or where the position of each is asked for.
        """
        if self.map is not None or index or self.ledger is not None:
            return None
        box = self.shape if shape is None else tuple(shape)
        end = offset + prod(box)
        if not 0 <= offset <= end <= self.data.shape[-1]:
            return None  # where the first one outside lies is for the others to say
        lead = () if self.items is None else (self.items,)
        return _Run(offset, end, self.dtype.bytes, lead + box)

    def _store_run(self, run: _Run, values: Array, add: bool, written: Array | np.bool_) -> None:
        region = self.data[..., run.start : run.stop]
        new = np.broadcast_to(values, run.shape).reshape(region.shape).astype(self.data.dtype)
        region[...] = region + new if add else new
        if self.known is not None:
            marks = np.broadcast_to(written, run.shape).reshape(region.shape)
            for byte in range(run.bytes):
                self.known[..., run.start * run.bytes + byte : run.stop * run.bytes : run.bytes] = marks

    def remaining(self, index: Sequence[Coordinate]) -> tuple[int, ...]:
        return self.shape[len(index) :]

    def _touched(self, index: Sequence[Coordinate], flat: Array, valid: Array) -> tuple[Array, Array | None]:
        """First bytes of the elements that exist, and the work item of each; None for all together."""
        at = self.start + flat[valid] * self.dtype.bytes
        if not any(np.ndim(i) for i in index):
            return at, None
        items = np.arange(flat.shape[0], dtype=np.int32).reshape(-1, *[1] * (flat.ndim - 1))
        return at, np.broadcast_to(items, flat.shape)[valid]

    def _positions(
        self, index: Sequence[Coordinate], offset: int, shape: Sequence[int] | None, does: str
    ) -> Places:
        """Where the elements lie, work items first."""
        coordinates = tuple(i.tobytes() if isinstance(i, np.ndarray) else i for i in index)
        taken = None if shape is None else tuple(shape)
        key = (self.map, self.shape, self.items, coordinates, offset, taken, self.data.shape[-1], does)
        if key not in _PLACES:
            if len(_PLACES) == MOST_PLACES:
                _PLACES.clear()
            at, valid = self._placed(index, offset, taken, does)
            _PLACES[key] = Places(at, valid, bool(valid.all()))
        return _PLACES[key]

    def _placed(
        self, index: Sequence[Coordinate], offset: int, shape: tuple[int, ...] | None, does: str
    ) -> tuple[Coordinates, Array]:
        expect_index(index, self.shape)
        rest = self.remaining(index) if shape is None else shape
        items = self.items or max((np.size(i) for i in index), default=1)
        by_item = self.items is not None or any(np.ndim(i) for i in index)
        lead = 1 if by_item else 0
        grid = [
            np.arange(n).reshape([-1 if j == i else 1 for j in range(len(rest))]) for i, n in enumerate(rest)
        ]
        column = (-1,) + (1,) * len(rest)
        if shape is None:
            fixed = [np.reshape(i, column) if np.ndim(i) else i for i in index]
            flat, valid = self._flat([*fixed, *(g[None] if lead else g for g in grid)])
        else:
            flat, valid = np.arange(prod(rest)).reshape((1,) * lead + rest), np.True_
        flat = np.asarray(flat + offset)
        own = (np.arange(items).reshape(column),) if self.items is not None else ()
        full = ((items,) if lead else ()) + rest
        positions = tuple(np.broadcast_to(a, full) for a in (*own, flat))
        exist = np.broadcast_to(valid, full)
        expect_inside(positions[-1], exist, self.data.shape[-1], does)
        return positions, exist

    def _flat(self, coords: Sequence[Any]) -> tuple[Any, Any]:
        """Row-major position of coordinates, 0 where there is none."""
        coords, sizes, valid = tuple(coords), self.shape, np.True_
        if self.map is not None:
            coords, valid = self.map.evaluate(coords)
            sizes = tuple(d.size for d in self.map.lower)
        flat: Any = 0
        for coord, size in zip(coords, sizes, strict=True):
            flat = flat * size + coord
        return np.where(valid, flat, 0), valid


@dataclass(frozen=True, slots=True)
class _Run:
    """Elements `start` to `stop` of a row, of so many bytes each, and their shape, work items first."""

    start: int
    stop: int
    bytes: int
    shape: tuple[int, ...]

    @property
    def marks(self) -> slice:
        """The first byte of each."""
        return slice(self.start * self.bytes, self.stop * self.bytes, self.bytes)


@dataclass(frozen=True)
class Finish:
    """An epilogue and its arrays, seen as the result is: those that it reads, then those that it stores."""

    epilogue: Epilogue
    arrays: tuple[View, ...]

    def seen_through(self, map: Map, shape: Sequence[int]) -> Finish:
        return Finish(self.epilogue, tuple(a.seen_through(map, shape) for a in self.arrays))

    def applied(
        self, x: Array, index: Sequence[Coordinate], dtype: DType, written: Array | np.bool_
    ) -> Array:
        """The values to store for sums x at an index, rounded as the result's type asks.

        Stores the pre-activation.
        """
        values = {"x": x.astype(np.float64)}
        for name, array in zip(self.epilogue.arrays, self.arrays, strict=False):
            values[name] = array.load(index).astype(np.float64)

        def made(epilogue: Epilogue) -> Array:
            found = np.broadcast_to(epilogue.evaluate(values), x.shape)
            return found if dtype.is_float else saturated(found, dtype)

        if (before := self.epilogue.before) is not None:
            self.arrays[-1].store(made(before), index, written=written)
        return made(self.epilogue)


@lru_cache(maxsize=4096)
def _chained(above: Map, below: Map) -> Map:
    """One chain of two that meet again and again; what it knows of itself stays with it."""
    return above.then(below)


def private(dtype: DType, shape: Sequence[int], items: int) -> View:
    """Registers: one row a work item, poisoned."""
    data = _poison((items, prod(shape)), dtype)
    return View(data, dtype, tuple(shape), None, items, known=_unknown(data))


def shared(dtype: DType, shape: Sequence[int], items: int) -> View:
    """LDS of one workgroup of so many work items, poisoned."""
    ledger = Ledger(prod(shape) * dtype.bytes, items)
    data = _poison((prod(shape),), dtype)
    return View(data, dtype, tuple(shape), ledger=ledger, known=_unknown(data))


def workspace(dtype: DType, shape: Sequence[int], zeroed: bool = False) -> View:
    """Global memory of a function, poisoned unless it starts as zeros."""
    if zeroed:
        return View(np.zeros(prod(shape), dtype.numpy), dtype, tuple(shape))
    data = _poison((prod(shape),), dtype)
    return View(data, dtype, tuple(shape), known=_unknown(data))


def _unknown(data: Array) -> Array:
    """No byte of it has been written."""
    return np.zeros((*data.shape[:-1], data.shape[-1] * data.itemsize), np.bool_)


def _poison(shape: tuple[int, ...], dtype: DType) -> Array:
    """All bits set: NaN in every float type."""
    raw = np.full((*shape[:-1], shape[-1] * dtype.bytes), 0xFF, np.uint8)
    return raw.view(dtype.numpy)
