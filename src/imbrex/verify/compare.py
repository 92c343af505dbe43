"""Compare: a kernel's result against the reference, element by element, each with its own bound.

Law: an element is right if |got - want| <= bound; if both are NaN; if both are the same infinity; or if the
true result lies beyond the largest finite value, allowing for the bound, and got is that infinity.  A
result that must be exact has bound 0 against `want` rounded once to its own type.  One wrong element is a
failure: there is no norm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from imbrex.dtype import F32, F64, DType, dtype, saturated
from imbrex.numeral import counted
from imbrex.problem import Conv2d, Gemm, Operand
from imbrex.verify.bound import Data, Tolerance, tolerance
from imbrex.verify.data import Operands, problem_before
from imbrex.verify.epilogue import Finished
from imbrex.verify.poison import is_poison
from imbrex.verify.reference import Reference
from imbrex.verify.unit import Unit, unit_of

__all__ = [
    "Comparison", "Mismatch", "bound_of", "compare", "compare_arrays", "compare_results", "law_of",
]  # fmt: skip

Float = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Mismatch:
    """A wrong element; `coordinates` are (dimension name, index), outermost first.  array: the one that it is
    of, where that is not the result.
    """

    coordinates: tuple[tuple[str, int], ...]
    got: float
    want: float
    bound: float
    is_unwritten: bool
    array: str = ""

    def __str__(self) -> str:
        named = (f"{name}={index}" for name, index in self.coordinates)
        where = " ".join((self.array, *named) if self.array else named)
        got = "nothing written" if self.is_unwritten else f"got {self.got:.9g}"
        return f"{where}: {got}, want {self.want:.9g}, bound {self.bound:.3g}"


@dataclass(frozen=True)
class Comparison:
    """elements, wrong, unwritten: counts (the unwritten are wrong, too); gap_writes: of elements in the
    array's gaps that were written.

    max_error_ratio: the largest |got - want| / bound of all elements; above 1 is wrong, inf where the bound
    is 0. first: the first wrong element in memory order.  unbounded: elements that may be anything, as a
    quotient by what may be 0; is_judged: are not all elements of an array such?
    """

    elements: int
    wrong: int
    unwritten: int
    max_error_ratio: float
    is_exact: bool
    first: Mismatch | None
    gap_writes: int = 0
    unbounded: int = 0
    is_judged: bool = True

    @property
    def is_right(self) -> bool:
        return self.wrong == 0 and self.gap_writes == 0 and self.is_judged

    def joined(self, array: str, other: Comparison) -> Comparison:
        """Both in one, the other one of an array of that name."""
        first = self.first or (other.first and replace(other.first, array=array))
        return Comparison(
            elements=self.elements + other.elements,
            wrong=self.wrong + other.wrong,
            unwritten=self.unwritten + other.unwritten,
            max_error_ratio=max(self.max_error_ratio, other.max_error_ratio),
            is_exact=self.is_exact and other.is_exact,
            first=first,
            gap_writes=self.gap_writes + other.gap_writes,
            unbounded=self.unbounded + other.unbounded,
            is_judged=self.is_judged and other.is_judged,
        )

    def __str__(self) -> str:
        if self.gap_writes:
            whole = "" if self.first is None else f"; {replace(self, gap_writes=0)}"
            return f"wrong: {counted(self.gap_writes, 'element')} written in the gaps of the result{whole}"
        if self.first is None and not self.is_judged:
            elements = counted(self.elements, "element")
            return f"not judged: {self.unbounded} of {elements} may be anything by the epilogue"
        if self.first is None:
            margin = (
                "all equal" if self.is_exact else f"largest error {self.max_error_ratio:.2g} of its bound"
            )
            beyond = f", {self.unbounded} may be anything" if self.unbounded else ""
            return f"right: {counted(self.elements, 'element')}, {margin}{beyond}"
        unwritten = f" ({self.unwritten} never written)" if self.unwritten else ""
        return f"wrong: {self.wrong} of {counted(self.elements, 'element')}{unwritten}; first at {self.first}"


def compare(
    problem: Conv2d | Gemm,
    got: npt.NDArray[Any],
    truth: Reference,
    *,
    is_exact: bool = False,
    data: Data = "any",
    unit: Unit | None = None,
) -> Comparison:
    """`got`, the written array of `problem`, against its reference.

    is_exact: the operands are such that no sum rounds (`verify.data`), so that only equality will do.
    data: what is known of the operands otherwise.  unit: what added the products; a plain one where nobody
    says.  ValueError where `got` has another shape than the operand.
    """
    operand = _written(problem)
    if got.shape != operand.shape:
        raise ValueError(f"'{operand.role}' must have shape {operand.shape}, got {got.shape}")
    bound = bound_of(problem, truth, is_exact=is_exact, data=data, unit=unit)
    return compare_arrays(got, truth.want, bound, operand.layout)


def bound_of(
    problem: Conv2d | Gemm,
    truth: Reference,
    *,
    is_exact: bool = False,
    data: Data = "any",
    unit: Unit | None = None,
) -> Float:
    """How far each element of the result may be from its reference; as of `compare`."""
    operand = _written(problem)
    if is_exact or (truth.finished is None and not problem.dtype.is_float):
        return np.zeros(operand.shape)
    law = law_of(problem, data, unit)
    if truth.finished is not None:
        return _finished_bound(truth, truth.finished, law, operand.dtype)
    return law.bound(truth.want, truth.magnitude, truth.scaled, truth.lost)


def _written(problem: Conv2d | Gemm) -> Operand:
    return next(operand for operand in problem.operands if operand.is_written)


def compare_results(
    problem: Conv2d | Gemm,
    got: Sequence[npt.NDArray[Any]],
    truth: Reference,
    operands: Operands,
    unit: Unit | None = None,
) -> Comparison:
    """All arrays that `problem` writes, in the order of its operands, against the reference on these.

    A pre-activation is the result of the problem that ends with it.
    """
    found = compare(problem, got[0], truth, is_exact=operands.is_exact, data=operands.data, unit=unit)
    before = problem_before(problem)
    if before is None or truth.before is None:
        return found
    is_exact = operands.is_exact_before
    kept = compare(before, got[1], truth.before, is_exact=is_exact, data=operands.data, unit=unit)
    return found.joined(problem.operands[-1].role, kept)


def law_of(problem: Conv2d | Gemm, data: Data, unit: Unit | None = None) -> Tolerance:
    """The bound of a problem's results on operands of which that much is known."""
    return tolerance(
        problem.dtype,
        problem.terms,
        data=data,
        elements=problem.result.elements,
        unit=unit or unit_of(None, problem.dtype),
        alpha=problem.alpha if isinstance(problem, Gemm) else 1.0,
    )


def _finished_bound(truth: Reference, finished: Finished, law: Tolerance, result: DType) -> Float:
    """Bound of what an epilogue, computed in f32 or wider, made of a sum.

    An integer is right between those that the ends of the value's own bound become: where both ends are
    beyond the same end of the type, only that one is.
    """
    unit = F64.unit_roundoff if result == F64 else F32.unit_roundoff
    x = finished.values["x"]
    of_x = law.bound(x, truth.magnitude, truth.scaled, truth.lost) - np.abs(x) * law.of_want
    error = finished.error(of_x, unit)
    if result.is_float:
        own = np.where(np.isfinite(finished.want), finished.want, 0.0)
        return error + np.abs(own) * result.unit_roundoff + result.smallest_subnormal
    with np.errstate(invalid="ignore"):  # of a value that is certain, infinity or NaN, there is no error
        error = np.where(np.isfinite(finished.want), np.nan_to_num(error, nan=np.inf), 0.0)
        own = saturated(finished.want, result)
        ends = [saturated(finished.want + side, result) for side in (-error, error)]
    return np.maximum(*(np.abs(end - own) for end in ends))


def compare_arrays(
    got: npt.NDArray[Any], want: npt.NDArray[Any], bound: Float, names: tuple[str, ...]
) -> Comparison:
    """`got` against `want` with a bound for every element; `names` are those of the dimensions."""
    element = dtype(got.dtype)
    rounded = _rounded(want, element)
    target = np.where(bound == 0.0, rounded, want.astype(np.float64))
    value = got.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = np.abs(value - target)
        same = (value == target) | (np.isnan(value) & np.isnan(target))
        beyond = np.abs(target) + bound >= element.largest
        same |= np.isinf(value) & (np.sign(value) == np.sign(target)) & beyond
        right = same | (error <= bound) | (np.isinf(bound) & ~is_poison(got))
        ratio = np.where(same, 0.0, error / bound)
    unwritten = is_poison(got) & ~right
    unbounded = int(np.count_nonzero(np.isinf(bound) & ~same))
    wrong = int(np.count_nonzero(~right))
    return Comparison(
        elements=got.size,
        wrong=wrong,
        unwritten=int(np.count_nonzero(unwritten)),
        max_error_ratio=float(np.max(np.where(np.isnan(ratio), math.inf, ratio), initial=0.0)),
        is_exact=not np.any(bound),
        first=_first(value, target, bound, right, unwritten, names) if wrong else None,
        unbounded=unbounded,
        is_judged=unbounded < max(1, got.size),
    )


def _rounded(want: npt.NDArray[Any], element: DType) -> Float:
    """`want` rounded to nearest once in the result's type; integers wrap, as two's complement does."""
    with np.errstate(over="ignore", invalid="ignore"):
        return want.astype(element.numpy).astype(np.float64)


def _first(
    value: Float,
    target: Float,
    bound: Float,
    right: npt.NDArray[np.bool_],
    unwritten: npt.NDArray[np.bool_],
    names: tuple[str, ...],
) -> Mismatch:
    at = tuple(int(i) for i in np.unravel_index(int(np.argmin(right)), right.shape))
    return Mismatch(
        tuple(zip(names, at, strict=True)),
        got=float(value[at]),
        want=float(target[at]),
        bound=float(bound[at]),
        is_unwritten=bool(unwritten[at]),
    )
