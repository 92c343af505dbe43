"""Sliding: one axis of a workgroup's windows, and which element a position and a tap meet.

    position p and tap x meet element (p * stride + x * dilation + shift) / up, where that is whole

`up` is 1, but for gradients of images under strides: what is read moves by a stride of positions, so that
neighbouring positions, up to `up` of them, are phases that meet different taps.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Sliding"]


@dataclass(frozen=True)
class Sliding:
    """`out` positions, `stride` apart, with taps `dilation` apart.  -up < shift <= 0: element 0 is the first
    that any position meets, or would with one tap more.
    """

    out: int
    taps: int
    stride: int
    dilation: int
    up: int = 1
    shift: int = 0

    @property
    def extent(self) -> int:
        """Elements up to the last one that windows show."""
        return ((self.out - 1) * self.stride + (self.taps - 1) * self.dilation + self.shift) // self.up + 1
