"""The epilogue of a call: its expression, the arrays that it reads, and how these have to lie.

Law: without an expression of its own, a call multiplies the sums by the scales that it is given, and adds the
rest; an array that the expression does not read, and one that it reads and is not given, are mistakes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, assert_never

from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.dtype import DType
from imbrex.function.array import KERNELS, Laid, laid
from imbrex.problem import epilogue as language
from imbrex.problem.epilogue import Epilogue
from imbrex.problem.epilogue_array import ARRAYS, Along, Array

__all__ = ["epilogue_of", "further", "laid_further", "stored"]

_NONE: Mapping[Array, Any] = {}


def further(bias: Any, residual: Any, scales: Mapping[str, Any] | None) -> Mapping[Array, Any]:
    """Operands that are given, by name, in the order in which kernels take them."""
    if bias is None and residual is None and not scales:
        return _NONE
    names = [name for name, array in ARRAYS.items() if array.is_scale]
    if unknown := [name for name in scales or () if name not in names]:
        hint = did_you_mean(str(unknown[0]), names) or f"known: {', '.join(names)}"
        raise TypeError(f"there is no scale '{unknown[0]}'; {hint}")
    given = {"bias": bias, "residual": residual, **(scales or {})}
    return {name: given[name] for name in ARRAYS if given.get(name) is not None}


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
    result: Laid,
    out: Any,
    *,
    is_filled: bool = False,
) -> tuple[Any, ...]:
    """The arrays as a kernel reads them, a residual as the result lies; copied where they lie otherwise, or
    where they are written: by a kernel whose `out` they are, or before it when the result is filled.

    types: of the operands and of the result.  extents: rows and channels of the result.
    """
    memory = result.memory
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
        found.append(memory.copied(lying) if is_filled or value is out else lying)
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


def stored(epilogue: Epilogue | None, element: DType) -> DType:
    """The type of a result of `element`'s products."""
    return (epilogue and epilogue.result) or element.output
