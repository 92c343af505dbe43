"""Array: what an epilogue reads and stores besides, one row each, and how it lies beside the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never

from imbrex.dtype import F32, F64, DType
from imbrex.problem.operand import Operand

__all__ = ["ARRAYS", "Along", "Array", "Further", "lies_along"]

Array: TypeAlias = Literal[
    "bias", "residual", "scale_a", "scale_b", "scale_c", "row_scale", "channel_scale", "pre_activation"
]  # fmt: skip
Along: TypeAlias = Literal["channels", "result", "rows", "nothing"]


@dataclass(frozen=True)
class Further:
    """along: what it has an element for: each of the result's channels (n of a product, k of a convolution),
    each element of the result, each of its rows (m of a product), or nothing, and so one.  is_scale: a
    factor, in the type of the arithmetic, f32 or f64; others have the result's type.  is_stored: it is
    written, not read.
    """

    along: Along
    is_scale: bool = False
    is_stored: bool = False

    def dtype(self, operand: DType, result: DType) -> DType:
        """Element type of the array, beside sums of `operand`'s products that are stored as `result`."""
        return (F64 if operand.accumulator == F64 else F32) if self.is_scale else result


ARRAYS: Final[Mapping[Array, Further]] = {
    "bias": Further("channels"),
    "residual": Further("result"),
    "scale_a": Further("nothing", is_scale=True),
    "scale_b": Further("nothing", is_scale=True),
    "scale_c": Further("nothing", is_scale=True),
    "row_scale": Further("rows", is_scale=True),
    "channel_scale": Further("channels", is_scale=True),
    "pre_activation": Further("result", is_stored=True),
}
"""Arrays by name, in the order in which kernels take them."""

ONE: Final = (("one",), (1,))


def lies_along(
    along: Along, result: Operand, channel: str, row: str
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Dimensions and shape of such an array beside `result`, whose channels and rows have these names."""
    sizes = dict(zip(result.layout, result.shape, strict=True))
    match along:
        case "channels":
            return (channel,), (sizes[channel],)
        case "rows":
            return (row,), (sizes[row],)
        case "result":
            return result.layout, result.shape
        case "nothing":
            return ONE
        case _:
            assert_never(along)
