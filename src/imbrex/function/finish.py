"""The epilogue of a call: its expression, the arrays that it reads, and how these have to lie.

Law: without an expression of its own, a call adds what it is given to the sums; an array that the expression
does not read, and one that it reads and is not given, are mistakes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.function.array import KERNELS, Laid, laid
from imbrex.problem import epilogue as language
from imbrex.problem.epilogue import Epilogue

__all__ = ["epilogue_of", "further", "laid_further", "stored"]

_NONE: Mapping[str, Any] = {}


def further(bias: Any, residual: Any) -> Mapping[str, Any]:
    """Operands that are given, by name, in the order in which kernels take them."""
    if bias is None and residual is None:
        return _NONE
    given = {"bias": bias, "residual": residual}
    return {name: given[name] for name in language.ARRAYS if given[name] is not None}


def epilogue_of(expression: object, given: tuple[str, ...], element: DType) -> Epilogue | None:
    """The epilogue of sums of `element`'s products, in a call that is given these arrays."""
    if expression is not None and not isinstance(expression, str | Epilogue):
        raise TypeError(f"'epilogue' should be a text such as 'relu(x + bias)', got {expression!r}")
    if expression is None and not given:
        return None
    return _checked(expression or " + ".join(("x", *given)), given, element)


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
    given: Mapping[str, Any], channels: int, result: Laid, out: Any, *, is_filled: bool = False
) -> tuple[Any, ...]:
    """The arrays as a kernel reads them, a residual as the result lies; copied where they lie otherwise, or
    where they are written: by a kernel whose `out` they are, or before it when the result is filled.
    """
    memory = result.memory
    found: list[Any] = []
    for name, value in given.items():
        array = laid(value, name, memory)
        right = (channels,) if name == "bias" else result.shape
        if array.type_name != result.type_name:
            raise TypeError(f"'{name}' should have dtype {result.type_name}, got {array.type_name}")
        if array.shape != right:
            raise ValueError(f"'{name}' should have shape {right}, got {array.shape}")
        lying = array.array
        if name == "residual" and array.order != result.order:
            lying = memory.contiguous(memory.permuted(array.as_indexed(), result.order))
        found.append(memory.copied(lying) if is_filled or value is out else lying)
    return tuple(found)


def stored(epilogue: Epilogue | None, element: DType) -> DType:
    """The type of a result of `element`'s products."""
    return (epilogue and epilogue.result) or element.output
