"""Convolutions of few channels, whose window rows are copied as one stretch; see `view.conv.window_rows`."""

from __future__ import annotations

from typing import Final

from imbrex.config.algorithm.task import ConvTask
from imbrex.view.conv.window_rows import MOST_BYTES, WindowRows, window_rows

__all__ = ["NOT_SERVED", "rows_of"]

NOT_SERVED: Final = (
    f"only channels of up to {MOST_BYTES} bytes and taps side by side serve, "
    "in backward data filters, without strides"
)


def rows_of(task: ConvTask) -> WindowRows | None:
    """How a convolution is copied; None where it cannot be."""
    return window_rows(task.conv, task.dtype.bytes, "output" if task.is_backward_data else "input")
