"""Arguments: what callers of the functions give, refused with one message where it is none of theirs.

Law: a mistake has the same message with gradients and without, in graphs and outside, for it is met before
torch's dispatcher, which has a message of its own for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, cast

from imbrex.function.batches import Batches, expect_batches
from imbrex.function.window import Pair, integers
from imbrex.numeral import MOST, counted, must_be, shown

__all__ = [
    "Pair",
    "expect_broadcast",
    "expect_factors",
    "expect_fit",
    "expect_further",
    "expect_product",
    "expect_rank",
    "expect_tensors",
    "is_dense",
    "kernels",
    "number",
    "pads",
    "pair",
    "whole",
]  # fmt: skip

torch: Any = import_module("torch")
_DENSE: Final = torch.strided


def is_dense(tensor: Any) -> bool:
    """Has each dimension one size, and each element a place in memory?"""
    return tensor.layout is _DENSE and not tensor.is_nested


def expect_tensors(first: str, one: Any, second: str, other: Any) -> None:
    """TypeError and ValueError for what are no two dense tensors of one device, each after its name."""
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        name, found = (second, other) if isinstance(one, torch.Tensor) else (first, one)
        raise TypeError(f"'{name}' should be a torch.Tensor, got {type(found).__name__}")
    if not (is_dense(one) and is_dense(other)):
        name, found = (second, other) if is_dense(one) else (first, one)
        got = f"{'a nested one of ' if found.is_nested else ''}layout {found.layout}"
        raise TypeError(f"'{name}' should be a dense tensor, got {got}")
    if one.device != other.device:
        raise ValueError(f"'{second}' is on {other.device}, and '{first}' on {one.device}")


def expect_factors(first: str, one: Any, second: str, other: Any) -> None:
    """The same of what is multiplied, of one type where no region of autocast makes it so."""
    expect_tensors(first, one, second, other)
    if one.dtype != other.dtype and not torch.is_autocast_enabled(one.device.type):
        kinds = f"{_kind(one)} and {_kind(other)}"
        raise TypeError(f"'{first}' and '{second}' should have the same dtype, got {kinds}")


def expect_product(first: str, one: Any, second: str, other: Any) -> None:
    """ValueError for matrices, or batches of them, that have no product."""
    if one.shape[-1] != other.shape[-2]:
        shapes = f"{tuple(one.shape)} and {tuple(other.shape)}"
        raise ValueError(f"'{first}' and '{second}' do not fit, of shapes {shapes}")


def _kind(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def expect_further(input: Any, **given: Any) -> None:
    """The same of what may be None, and goes with `input`."""
    for name, tensor in given.items():
        if tensor is not None:
            expect_tensors("input", input, name, tensor)


def expect_rank(rank: int, name: str, tensor: Any) -> None:
    """ValueError for a tensor of another number of dimensions."""
    if tensor.dim() != rank:
        raise ValueError(f"'{name}' should have {counted(rank, 'dimension')}, got {tensor.dim()}")


def expect_fit(name: str, tensor: Any, shape: Sequence[int], why: str = "") -> None:
    """ValueError for a tensor of another shape; None is none."""
    if tensor is not None and tuple(tensor.shape) != tuple(shape):
        raise ValueError(f"'{name}' should have shape {tuple(shape)}{why}, got {tuple(tensor.shape)}")


def expect_broadcast(name: str, tensor: Any, shape: tuple[int, int]) -> None:
    """ValueError for a tensor that does not broadcast to this shape."""
    rank = tensor.dim()
    if rank > 2 or any(size not in (1, to) for size, to in zip(tensor.shape, shape[2 - rank :], strict=True)):
        raise ValueError(f"'{name}' should broadcast to shape {tuple(shape)}, got {tuple(tensor.shape)}")


def number(name: str, value: Any) -> float:
    """A number as a float; TypeError for what is none, ValueError for an integer beyond floats."""
    if not isinstance(value, int | float):
        raise TypeError(f"'{name}' should be a number, got {value!r}")
    if type(value) is int and abs(value) >= 1 << 1023:
        raise ValueError(f"'{name}' should be a finite number, got {shown(value)}")
    return float(value)


def kernels(fallback: Any, batches: Batches | None) -> tuple[bool, Batches]:
    """Which kernels answer; where `batches` is not said, a graph meets other numbers without a new trace."""
    if not isinstance(fallback, bool):
        raise TypeError(f"'fallback' should be True or False, got {fallback!r}")
    if batches is None:
        return fallback, "any" if torch.compiler.is_compiling() else "each"
    expect_batches(batches)
    return fallback, batches


def whole(name: str, value: Any, least: int) -> int:
    """An integer from `least` on; TypeError and ValueError."""
    found = value if type(value) is int else integers(name, (value,))[0]
    if found < least:
        raise ValueError(f"'{name}' should be at least {least}, got {found}")
    if found > MOST:
        raise ValueError(must_be(f"'{name}'", found, least))
    return found


def pair(name: str, value: Any, least: int) -> tuple[int, ...]:
    """Height and width, of one number, one in a sequence, or two."""
    if isinstance(value, tuple) and _is_two(cast("tuple[Any, ...]", value), least):  # as layers have them
        return cast("tuple[int, int]", value)
    is_several = hasattr(cast("object", value), "__iter__") and not isinstance(value, str | bytes)
    if isinstance(value, bool) or not (is_several or isinstance(value, int)):
        raise TypeError(f"'{name}' should be one integer or two, got {value!r}")
    found: tuple[Any, ...] = (value,) if isinstance(value, int) else tuple(cast("Sequence[Any]", value))
    if not 1 <= len(found) <= 2:
        raise ValueError(f"'{name}' should be one integer or two, got {len(found)}")
    return tuple([whole(name, one, least) for one in (found if len(found) == 2 else found * 2)])


def _is_two(value: tuple[Any, ...], least: int) -> bool:
    if len(value) != 2:
        return False
    height, width = value
    are_whole = type(height) is int and type(width) is int
    return are_whole and least <= height <= MOST and least <= width <= MOST


def pads(padding: Any, weight: Any, stride: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """Top, bottom, left, right; of "same" the odd one comes after."""
    if not isinstance(padding, str):
        height, width = pair("padding", padding, 0)
        return (height, height, width, width)
    if padding == "valid":
        return (0, 0, 0, 0)
    if padding != "same":
        raise ValueError(f"'padding' should be numbers, 'same' or 'valid', got '{padding}'")
    if tuple(stride) != (1, 1):
        raise ValueError(f"padding 'same' needs a stride of 1, got {stride}")
    total = [d * (size - 1) for d, size in zip(dilation, weight.shape[2:], strict=True)]
    return (total[0] // 2, total[0] - total[0] // 2, total[1] // 2, total[1] - total[1] // 2)
