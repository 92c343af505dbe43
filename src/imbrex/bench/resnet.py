"""ResNet-50 as the network has it: 23 convolutions, how often each occurs, and their three directions.

Law: the counts sum to the network's 53 convolutions.  Stride 2 stands in the 3x3 layers, as in the
torchvision model; images are 224 x 224.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from imbrex.problem import Conv2d
from imbrex.problem.conv import Direction

__all__ = ["LAYERS", "LAYOUTS", "Layer", "conv"]


@dataclass(frozen=True)
class Layer:
    """size: rows and columns of the input's images; window: of the filter."""

    name: str
    c: int
    k: int
    size: int
    window: int
    stride: int
    count: int


def _stage(stage: int, size: int, entering: int, inner: int, blocks: int) -> Iterator[Layer]:
    """`size`: of the stage's own images; the ones that enter are larger where the stage is not the first."""
    outer, before, down = 4 * inner, size * (1 if stage == 1 else 2), 1 if stage == 1 else 2
    way, head = ("s2" if down == 2 else ""), f"l{stage}"
    strided = down == 2
    yield Layer(f"{head}.1x1.{entering}-{inner}", entering, inner, before, 1, 1, 1)
    if strided:
        yield Layer(f"{head}.3x3{way}.{inner}", inner, inner, before, 3, 2, 1)
        yield Layer(f"{head}.1x1{way}.{entering}-{outer}", entering, outer, before, 1, 2, 1)
    yield Layer(f"{head}.3x3.{inner}", inner, inner, size, 3, 1, blocks - strided)
    yield Layer(f"{head}.1x1.{inner}-{outer}", inner, outer, size, 1, 1, blocks + (not strided))
    yield Layer(f"{head}.1x1.{outer}-{inner}", outer, inner, size, 1, 1, blocks - 1)


LAYERS: tuple[Layer, ...] = (
    Layer("conv1", 3, 64, 224, 7, 2, 1),
    *_stage(1, 56, 64, 64, 3),
    *_stage(2, 28, 256, 128, 4),
    *_stage(3, 14, 512, 256, 6),
    *_stage(4, 7, 1024, 512, 3),
)

LAYOUTS = {"nchw": ("KCYX", "NCHW", "NKHW"), "nhwc": ("KYXC", "NHWC", "NHWK")}
"""Layouts of filter, input and output, by the name of the images'."""


def conv(
    layer: Layer,
    direction: Direction,
    layout: str,
    *,
    dtype: str = "f16",
    batch: int = 128,
    epilogue: str | None = None,
) -> Conv2d:
    """The problem of a layer.  layout: a key of `LAYOUTS`."""
    filters, inputs, outputs = LAYOUTS[layout]
    return Conv2d(
        direction, batch, layer.c, layer.size, layer.size, layer.k, layer.window, layer.window,
        pad_h=layer.window // 2, pad_w=layer.window // 2, stride=layer.stride, dtype=dtype,
        filter_layout=filters, input_layout=inputs, output_layout=outputs, epilogue=epilogue,
    )  # fmt: skip
