"""The epilogue of a call: its expression, the arrays that it reads, and how these have to lie.

Law: without an expression of its own, a call multiplies the sums by the scales that it is given, and adds the
rest; an array that the expression does not read, and one that it reads and is not given, are mistakes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, assert_never, cast

from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.dtype import DType, dtype
from imbrex.function.array import KERNELS, Laid, as_output, expect_apart, laid
from imbrex.numeral import shown
from imbrex.problem import epilogue as language
from imbrex.problem.epilogue import Epilogue
from imbrex.problem.epilogue_array import ARRAYS, Along, Array

__all__ = ["each_out", "epilogue_of", "first_out", "further", "laid_further", "results_of", "stored"]

_NONE: Mapping[Array, Any] = {}


def further(bias: Any, residual: Any, scales: Mapping[str, Any] | None) -> Mapping[Array, Any]:
    """Operands that are given, by name, in the order in which kernels take them."""
    if bias is None and residual is None and scales is None:
        return _NONE
    if not isinstance(scales, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"'scales' should be a dict of arrays by their names, got {shown(scales)}")
    names = [name for name, array in ARRAYS.items() if array.is_scale]
    if unknown := [name for name in scales or () if name not in names]:
        hint = did_you_mean(str(unknown[0]), names) or f"known: {', '.join(names)}"
        raise TypeError(f"there is no scale '{unknown[0]}'; {hint}")
    given = {"bias": bias, "residual": residual, **(scales or {})}
    return {name: given[name] for name in ARRAYS if given.get(name) is not None} or _NONE


def epilogue_of(expression: object, given: tuple[str, ...], element: DType) -> Epilogue | None:
    """The epilogue of sums of `element`'s products, in a call that is given these arrays."""
    if expression is not None and not isinstance(expression, str | Epilogue):
        raise TypeError(f"'epilogue' should be a text such as 'relu(x + bias)', got {expression!r}")
    if expression is None and not given:
        return None
    return _checked(expression or _usual(given), given, element)


def _usual(given: tuple[str, ...]) -> str:
    """What is meant where nothing is said: scale_c is that of the result."""
    factors = [name for name, row in ARRAYS.items() if row.is_scale and name in given and name != "scale_c"]
    terms = [name for name in given if name not in (*factors, "scale_c")]
    sum_ = " + ".join((" * ".join(("x", *factors)), *terms))
    return f"({sum_}) * scale_c" if "scale_c" in given else sum_


@lru_cache(maxsize=KERNELS)
def _checked(expression: str | Epilogue, given: tuple[str, ...], element: DType) -> Epilogue | None:
    try:
        found = language.wanted(expression, element)
    except Diagnostic as error:
        hint = f"; {error.hint}" if error.hint else ""
        raise ValueError(f"'epilogue' is '{expression}': {error.message}{hint}") from None
    reads = found.arrays if found else ()
    for name in reads:
        if name not in given:
            raise TypeError(f"the epilogue '{found}' reads '{name}', which is not given")
    for name in given:
        if name not in reads:
            raise TypeError(f"'{name}' is given, and the epilogue '{found}' does not read it")
    return found


def laid_further(
    given: Mapping[Array, Any],
    types: tuple[DType, DType],
    extents: tuple[int, int],
    results: tuple[Laid, ...],
    out: Any,
) -> tuple[Any, ...]:
    """The arrays as a kernel reads them, a residual as the result lies; copied where they lie otherwise, or
    share memory with the caller's `out`, of which results are made.

    types: of the operands and of the result.  extents: rows and channels of the result.
    """
    result, *_ = results
    memory, written = result.memory, () if out is None else tuple([one.array for one in results])
    found: list[Any] = []
    for name, value in given.items():
        array = laid(value, name, memory)
        wanted = ARRAYS[name].dtype(*types).numpy.name
        if array.type_name != wanted:
            raise TypeError(f"'{name}' should have dtype {wanted}, got {array.type_name}")
        right = _shapes(ARRAYS[name].along, extents, result)
        if array.shape not in right:
            raise ValueError(f"'{name}' should have shape {right[0]}, got {array.shape}")
        lying = array.array if array.shape == right[0] else array.array.reshape(right[0])
        if name == "residual" and array.order != result.order:
            lying = memory.contiguous(memory.permuted(array.as_indexed(), result.order))
        is_written = any(memory.shares_memory(lying, one) for one in written)
        found.append(memory.copied(lying) if is_written else lying)
    return tuple(found)


def _shapes(along: Along, extents: tuple[int, int], result: Laid) -> tuple[tuple[int, ...], ...]:
    """Shapes that such an array may have, the kernel's first."""
    rows, channels = extents
    match along:
        case "result":
            return (result.shape,)
        case "channels":
            return (channels,), (1, channels)
        case "rows":
            return (rows,), (rows, 1)
        case "nothing":
            return (1,), (), (1, 1)
        case _:
            assert_never(along)


def each_out(out: Any) -> tuple[Any, ...]:
    """The arrays of `out`: a pair where it is one of two results."""
    return cast("tuple[Any, ...]", out) if isinstance(out, tuple) else (out,)


def first_out(out: Any, epilogue: Epilogue | None) -> Any:
    """Where the result goes; None where the call makes it."""
    keeps = epilogue is not None and bool(epilogue.stored)
    if keeps and out is not None and len(each_out(out)) != 2:
        raise TypeError("'out' should be two arrays, (result, pre_activation), as the epilogue stores both")
    return each_out(out)[0] if keeps else out


def results_of(
    result: Laid, epilogue: Epilogue | None, out: Any, read: Mapping[str, Laid], like: Any
) -> tuple[tuple[Laid, ...], Any]:
    """The result and, where it is stored, its pre-activation, which lies as the result does; and what the
    caller gets, of the kind of `like`: one of them, or both.  read: what neither may share memory with.
    """
    memory, found = result.memory, (result,)
    if out is not None:
        expect_apart(result, read)
    if epilogue is not None and epilogue.stored:
        found = (result, _beside(result, None if out is None else out[1], {**read, "result": result}))
    made = each_out(out)
    if out is None:
        made = tuple([memory.returned(_indexed(one), like) for one in found])
    return found, made if len(found) == 2 else made[0]


def _indexed(one: Laid) -> Any:
    return one.array if one.order == tuple(range(one.array.ndim)) else one.as_indexed()


def _beside(result: Laid, out: Any, read: Mapping[str, Laid]) -> Laid:
    """A second result: `out`, or a new array."""
    memory, element = result.memory, dtype(result.type_name)
    if out is None:
        return result._replace(array=memory.empty(tuple(result.array.shape), element))
    found = as_output(out, result.shape, element, memory)
    if found.order != result.order:
        raise ValueError("'out' has two arrays, which should lie in one order of their dimensions")
    expect_apart(found, read)
    return found


def stored(epilogue: Epilogue | None, element: DType) -> DType:
    """The type of a result of `element`'s products."""
    return (epilogue and epilogue.result) or element.output
