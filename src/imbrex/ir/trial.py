"""A trial: a module executed by its meaning, on operands that are drawn or given, beside another module.

Drawn operands are whole numbers from -3 to 3, so that sums are exact and right modules give equal results.
Operands go by position: those of two modules are the same where their types are, whatever their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.ir.element import BY_MLIR_NAME
from imbrex.ir.literal import suggest
from imbrex.ir.meaning import execute
from imbrex.ir.meaning.run import function_of
from imbrex.ir.shape import element_of, shape_of, shape_text
from imbrex.ir.source import InvalidOp

Array = npt.NDArray[Any]

WIDEST: Final = 3
UNITS: Final = 16
"""How many units in the last place two results may differ where operands are no whole numbers."""


@dataclass(frozen=True)
class Operand:
    """An argument of the function, before and after."""

    name: str
    dtype: DType
    origin: str
    before: Array
    after: Array

    @property
    def is_written(self) -> bool:
        return self.before.tobytes() != self.after.tobytes()

    def __str__(self) -> str:
        kind = f"{shape_text(self.after.shape)}x{self.dtype.mlir_name}"
        if not self.is_written:
            return f"{self.name}: {kind}, {self.origin}, as it was"
        values = self.after.astype(np.float64)
        return f"{self.name}: {kind}, written, {values.min():g} to {values.max():g}, sum {values.sum():g}"


def tried(
    module: ModuleOp, function: str | None, seed: int, given: Mapping[str, Path]
) -> tuple[Operand, ...]:
    """Execute a function of a module; InvalidOp at the operation that may not be executed."""
    found = function_of(module, function)
    names = _names(found.args)
    if unknown := [name for name in given if name not in names]:
        raise Diagnostic(f"there is no operand '{unknown[0]}'{suggest(unknown[0], names)}")
    made: list[tuple[DType, str, Array]] = []
    for position, (name, argument) in enumerate(zip(names, found.args, strict=True)):
        dtype, shape = _typed(found, name, argument)
        if name in given:
            made.append((dtype, f"from {given[name]}", _loaded(name, given[name], dtype, shape)))
        else:
            made.append((dtype, "drawn", _drawn(dtype, shape, [seed, position])))
    after = [array.copy() for _, _, array in made]
    with np.errstate(all="ignore"):
        execute(module, after, found.sym_name.data)
    rows = zip(names, made, after, strict=True)
    return tuple(Operand(name, dtype, origin, array, new) for name, (dtype, origin, array), new in rows)


def difference(own: Sequence[Operand], other: Sequence[Operand], tolerance: float | None) -> str | None:
    """Where two modules' operands differ first; None where they agree.

    Equality where all numbers are whole; else within `tolerance`, or UNITS of the type's unit, of the larger
    one or of the root mean square of the array, whichever is more.
    """
    kinds = [[(o.dtype, o.after.shape) for o in side] for side in (own, other)]
    if kinds[0] != kinds[1]:
        types = (", ".join(f"{shape_text(s)}x{d.mlir_name}" for d, s in side) for side in kinds)
        raise Diagnostic("the functions take {}; and {}".format(*types))
    for a, b in zip(own, other, strict=True):
        x, y = (o.after.astype(np.float64) for o in (a, b))
        far = _far(x, y, a.dtype, tolerance)
        if far.any():
            first = tuple(int(i) for i in np.argwhere(far)[0])
            where = f"[{', '.join(map(str, first))}]"
            count = f"{int(far.sum())} of {far.size} elements differ"
            return f"'{a.name}' differs first at {where}: {x[first]:.9g} here, {y[first]:.9g} there; {count}"
    return None


def saved(operands: Sequence[Operand], wanted: Mapping[str, Path]) -> None:
    """Write arrays as they are afterwards."""
    by_name = {o.name: o for o in operands}
    for name, path in wanted.items():
        if name not in by_name:
            raise Diagnostic(f"there is no operand '{name}'{suggest(name, by_name)}")
        try:
            with path.open("wb") as file:
                np.save(file, by_name[name].after)
        except OSError as error:
            raise Diagnostic(f"cannot write '{path}': {error.strerror}") from None


def _names(arguments: Sequence[SSAValue]) -> tuple[str, ...]:
    return tuple(a.name_hint or f"arg{i}" for i, a in enumerate(arguments))


def _typed(function: FuncOp, name: str, argument: SSAValue) -> tuple[DType, tuple[int, ...]]:
    """Element type and shape of an operand, both known."""
    if not isinstance(argument.type, MemRefType) or str(element_of(argument)) not in BY_MLIR_NAME:
        raise InvalidOp(function, f"'{name}' is no array of elements that kernels compute with")
    sizes = [s for s in shape_of(argument) if s is not None]
    if len(sizes) != len(shape_of(argument)):
        raise InvalidOp(function, f"the sizes of '{name}' are not known; run 'specialise' first")
    return BY_MLIR_NAME[str(element_of(argument))], tuple(sizes)


def _drawn(dtype: DType, shape: tuple[int, ...], seed: Sequence[int]) -> Array:
    return np.random.default_rng(seed).integers(-WIDEST, WIDEST + 1, shape).astype(dtype.numpy)


def _loaded(name: str, path: Path, dtype: DType, shape: tuple[int, ...]) -> Array:
    """An array from a file; one of a type that NumPy does not know is kept as raw bytes."""
    try:
        array = np.load(path, allow_pickle=False)
    except OSError as error:
        raise Diagnostic(f"cannot read '{path}': {error.strerror or error}") from None
    except (ValueError, EOFError) as error:
        raise Diagnostic(f"'{path}' is no .npy file: {error}") from None
    if array.dtype.kind == "V" and array.dtype.itemsize == dtype.numpy.itemsize:
        array = array.view(dtype.numpy)
    have, want = f"{shape_text(array.shape)} of {array.dtype}", f"{shape_text(shape)} of {dtype.numpy}"
    if array.shape != shape or array.dtype != dtype.numpy:
        raise Diagnostic(f"'{path}' holds {have}, but '{name}' is {want}")
    return np.ascontiguousarray(array)


def _far(x: Array, y: Array, dtype: DType, tolerance: float | None) -> Array:
    """Where two arrays are not the same number; NaN is the same as NaN."""
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    whole = all(bool(np.all(np.isnan(v) | (v == np.rint(v)))) for v in (x, y))
    if tolerance is None:
        tolerance = 0.0 if whole or not dtype.is_float else UNITS * 2.0**-dtype.significand_bits
    if not tolerance:
        return ~same
    finite = x[np.isfinite(x)]
    usual = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
    with np.errstate(invalid="ignore"):
        near = np.abs(x - y) <= tolerance * np.maximum(np.maximum(np.abs(x), np.abs(y)), usual)
    return ~(same | near)
