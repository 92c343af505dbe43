"""Which gradients have phases that share the tiles of a product, see `view.conv.phase_tiles`."""

from __future__ import annotations

from typing import Final

from imbrex.ir.chain import finish_of
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.problem import Conv2dBwdDataOp, ConvOp
from imbrex.ir.passes.conv_to_gemm import convolution_of
from imbrex.ir.shape import element_of
from imbrex.view.conv.phase_tiles import phase_count

__all__ = ["shares_phases"]

LEAST_BYTES: Final = 2
"""Of an element that warpgroups store."""
PIECE_BYTES: Final = 128
"""Of a row of a tile on its way to memory: of all phases, of as many columns as an instruction has."""
COLUMNS: Final = 8


def shares_phases(op: ConvOp) -> str | None:
    """Why a convolution's phases do not; None where they do."""
    if not isinstance(op, Conv2dBwdDataOp):
        return "only backward data has phases"
    if op.strides.data[1] == 1 or op.input_layout.data[-1] != "wi":
        return "the phases of the input's gradient leave no gaps between columns"
    if finish_of(op.input) is not None:
        return "an epilogue is for sums of one phase"
    size, count = element_bytes(element_of(op.input)), phase_count(convolution_of(op))
    if count == 0:
        return "no tap of the filter meets a row of the input"
    if size < LEAST_BYTES:
        return f"elements of less than {LEAST_BYTES} bytes are not stored by warpgroups"
    if PIECE_BYTES % (COLUMNS * count * size):
        most = PIECE_BYTES // (COLUMNS * size)
        return f"{count} phases of {size} bytes do not share a tile, a power of two up to {most} do"
    return None
