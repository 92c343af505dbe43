"""limit: what TMA can be told, from CUDA's driver API (cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from imbrex.chip import VECTOR_BYTES
from imbrex.numeral import counted
from imbrex.view.tensor.form import Box, Walk

__all__ = ["MOST_BOX", "beyond_limits"]

MOST_SIZE: Final = 1 << 31
"""Largest size of a dim whose coordinates, signed words, a kernel counts; the driver takes twice as many."""
MOST_STRIDE_BYTES: Final = 1 << 40
MOST_DIMS: Final = 5
MOST_BOX: Final = 256
"""Elements of a box along one dim."""
MOST_STEP: Final = 8
MOST_CHANNELS: Final = 256
MOST_PIXELS: Final = 1024
CORNERS: Final = range(-128, 128)
"""Range of the corners of a window of two dims, beyond the image's own."""
MOST_OFFSET: Final = 255


def beyond_limits(form: Box | Walk, element_bytes: int) -> str | None:
    """Which limit of TMA a form exceeds, or None."""
    own = _of_box(form) if isinstance(form, Box) else _of_walk(form)
    return next(_common(form, element_bytes), None) or next(own, None)


def _common(form: Box | Walk, element_bytes: int) -> Iterator[str]:
    if (first := form.base * element_bytes) % VECTOR_BYTES:
        yield f"the first element is {counted(first, 'byte')} into the array, not a multiple of 16"
    for size, stride in zip(form.sizes[1:], form.strides, strict=True):
        if stride * element_bytes % VECTOR_BYTES:
            yield f"a stride of {counted(stride * element_bytes, 'byte')} is not a multiple of 16"
        if stride * element_bytes >= MOST_STRIDE_BYTES:
            yield f"an axis of {size}, {stride * element_bytes} bytes apart, is too long"
    if max(form.sizes) > MOST_SIZE:
        yield f"an axis of {max(form.sizes)} has more than 2^31 elements"
    row = (form.box[0] if isinstance(form, Box) else form.channels) * element_bytes
    if row % VECTOR_BYTES or row > (form.swizzle or row):
        yield f"{row} bytes are not a row of the swizzle, {form.swizzle} bytes"
    if max(form.steps) > MOST_STEP:
        yield f"a stride of {max(form.steps)} elements is more than {MOST_STEP}"


def _of_box(box: Box) -> Iterator[str]:
    if len(box.sizes) > MOST_DIMS:
        yield f"a box of {len(box.sizes)} dims has more than {MOST_DIMS}"
    if max(box.box) > MOST_BOX:
        yield f"a box of {max(box.box)} elements along one dim has more than {MOST_BOX}"


def _of_walk(walk: Walk) -> Iterator[str]:
    if walk.channels > MOST_CHANNELS or walk.pixels > MOST_PIXELS:
        yield f"{walk.channels} channels of {walk.pixels} pixels are more than TMA walks over"
    if far := [x for x in (*walk.lower, *walk.upper) if x not in CORNERS]:
        yield f"a window that begins or ends {far[0]} pixels from the image's edge is too far from it"
    taps = [x.bounds for p in walk.pieces for x in p.offsets]
    if (most := max(high for _, high in taps)) > MOST_OFFSET or min(low for low, _ in taps) < 0:
        yield f"a tap {most} pixels from the window's first one is not within {MOST_OFFSET}"
