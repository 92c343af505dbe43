"""Scales of blocks of a call: of each 32 neighbours along k of its matrices, as a kernel reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DTYPES, E8M0, SCALED, DType, dtype, microscaled, product_of
from imbrex.function.array import Laid, computed, laid, shared_element
from imbrex.function.memory import Memory

__all__ = ["element_of", "laid_blocks", "scales_of"]


def scales_of(given: object) -> tuple[Any, ...]:
    """The two arrays that a call gives, or none; bytes of NumPy's are seen as what they stand for."""
    if given is None:
        return ()
    if not isinstance(given, tuple | list):
        raise TypeError("'block_scales' should be two arrays, those of 'a' and those of 'b'")
    arrays = cast("tuple[Any, ...] | list[Any]", given)
    if len(arrays) != 2:
        raise TypeError(
            f"'block_scales' should be two arrays, those of 'a' and those of 'b', got {len(arrays)}"
        )
    return tuple(_seen(array) for array in arrays)


def _seen(array: Any) -> Any:
    """The array, bytes of NumPy's as scales."""
    if not isinstance(array, np.ndarray):
        return array
    found = cast("Any", array)
    return found.view(E8M0.numpy) if found.dtype == np.uint8 else found


def element_of(arrays: Mapping[str, Laid], compute: object, blocks: tuple[Any, ...]) -> DType:
    """The type of a product of these arrays, with scales of blocks or without; TypeError where there is
    none.
    """
    element = computed(_of_two(arrays) or shared_element(arrays), compute)
    found = microscaled(element) if blocks else element
    if found is None:
        known = ", ".join(t.element.numpy.name for t in DTYPES.values() if t.is_microscaled)
        raise TypeError(f"'block_scales' are of {known}, and 'a' has dtype {element.numpy}")
    if not found.is_operand:
        raise TypeError(f"products of {found} have scales of blocks; give 'block_scales'")
    return found


def _of_two(arrays: Mapping[str, Laid]) -> DType | None:
    """The type of a product of arrays whose types differ; None where they are alike, or not multiplied."""
    names = [array.type_name for array in arrays.values()]
    try:
        a, b = (dtype(name) for name in names)
    except (Diagnostic, ValueError):
        return None
    return None if a == b else product_of(a, b)


def laid_blocks(blocks: Sequence[Any], shape: tuple[int, ...], k: int, memory: Memory) -> tuple[Any, ...]:
    """The arrays row-major, copied where they lie otherwise.  shape: of the result."""
    found: list[Any] = []
    for name, value, rows in zip(("block_scales[0]", "block_scales[1]"), blocks, shape[-2:], strict=False):
        array = laid(value, name, memory)
        if array.type_name != E8M0.numpy.name:
            raise TypeError(f"'{name}' should have dtype {E8M0.numpy.name}, got {array.type_name}")
        wanted = (*shape[:-2], rows, -(-k // SCALED))
        if array.shape != wanted:
            raise ValueError(f"'{name}' should have shape {wanted}, got {array.shape}")
        is_plain = array.order == tuple(range(len(wanted)))
        found.append(array.array if is_plain else memory.contiguous(array.as_indexed()))
    return tuple(found)
