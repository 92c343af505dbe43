"""Results of ops: their shapes and how they lie, in the words that kernels and torch's tracers share.

Law: one function makes the result of a kernel and that of its fake, so a graph traced with the one runs with
the other.  A result is channels_last where one of the two factors is and nothing else fits it, as torch's is.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from imbrex.dtype import DTYPES

__all__ = ["images", "matrices", "spans", "sums_type"]

torch: Any = import_module("torch")


def spans(
    sizes: Sequence[int],
    filters: Sequence[int],
    stride: Sequence[int],
    pads: Sequence[int],
    dilation: Sequence[int],
) -> list[int]:
    """Height and width of a convolution's result.  pads: top, bottom, left, right."""
    around = (pads[0] + pads[1], pads[2] + pads[3])
    rows = zip(sizes, filters, stride, around, dilation, strict=True)
    return [(size + pad - d * (y - 1) - 1) // s + 1 for size, y, s, pad, d in rows]


def images(shape: Sequence[int], one: Any, other: Any) -> Any:
    """An array of four dimensions for the convolution of two others."""
    is_last = _is_channels_last(one) or _is_channels_last(other)
    lying = torch.channels_last if is_last else torch.contiguous_format
    return torch.empty(shape, dtype=sums_type(one.dtype), device=one.device, memory_format=lying)


def matrices(a: Any, b: Any) -> Any:
    """An array for the product of two others, of two dimensions or of three."""
    return a.new_empty((*a.shape[:-1], b.shape[-1]), dtype=sums_type(a.dtype))


def _is_channels_last(array: Any) -> bool:
    return bool(array.is_contiguous(memory_format=torch.channels_last) and not array.is_contiguous())


def sums_type(of: Any) -> Any:
    """The type of a result, by that of the factors, of which that of a byte is too narrow."""
    return _SUMS.get(of, of)


_SUMS: Final = {
    getattr(torch, one.array_name): getattr(torch, one.output.array_name)
    for one in DTYPES.values()
    if one.is_operand and one.pack == 1 and hasattr(torch, one.array_name)
}
