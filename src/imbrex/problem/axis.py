"""Axis: one spatial dimension of a convolution.

Law: output position o and window position p meet the input at o * stride + p * dilation - pad[0]; there are
as many outputs as windows that fit into the padded input.
"""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.diagnostic import Diagnostic
from imbrex.problem.field import Pair

__all__ = ["Axis"]


@dataclass(frozen=True)
class Axis:
    """Sizes along one axis; `name` and `window_name` are the problem's own (`h` and `y`, `w` and `x`)."""

    name: str
    window_name: str
    size: int
    window: int
    pad: Pair
    stride: int
    dilation: int

    @property
    def padded(self) -> int:
        return self.size + sum(self.pad)

    @property
    def reach(self) -> int:
        """Input elements from the window's first to its last, both counted."""
        return self.dilation * (self.window - 1) + 1

    @property
    def outputs(self) -> int:
        return (self.padded - self.reach) // self.stride + 1

    def check(self) -> None:
        """Raise where not a single window fits."""
        if self.reach <= self.padded:
            return
        spread = f" (dilated by {self.dilation} to {self.reach})" if self.dilation > 1 else ""
        raise Diagnostic(
            f"window {self.window_name} = {self.window}{spread} is larger than the padded input: "
            f"{self.name} = {self.size} + pads {self.pad[0]} + {self.pad[1]} = {self.padded}",
            subject=self.window_name,
        )
