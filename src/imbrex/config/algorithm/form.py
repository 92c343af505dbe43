"""GemmForm: how a convolution's digits and phases are laid out in its products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["GemmForm", "Phases"]

Phases: TypeAlias = Literal["in place", "apart", "shared", "added"]
"""A gradient's phases: stored where they belong; in workspaces, from which a launch fills the result; those
of one residue of rows as one product; or no phases, one product whose sums are added in memory."""


@dataclass(frozen=True)
class GemmForm:
    """taps_first: of gemmK, in forward and backward data; of gemmN, in backward weight where the input has
    its channels last.  channel_multiple: what the channels of each tap are counted up to; see `view.conv`.
    images_last: of gemmK, in backward weight.  abreast: so many images as the fastest digit of gemmN, of
    a raster whose taps are views of one another, in forward and backward data; 0: pixels as the result lies.
    """

    taps_first: bool = False
    channel_multiple: int = 1
    phases: Phases = "in place"
    images_last: bool = False
    abreast: int = 0
