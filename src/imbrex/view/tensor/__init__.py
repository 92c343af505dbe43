"""Tensor maps: an operand's map as what the Tensor Memory Accelerator of NVIDIA Hopper is asked for."""

from imbrex.view.tensor.access import access
from imbrex.view.tensor.form import Box, Piece, Refused, TensorMap, Walk
from imbrex.view.tensor.store import store_access

__all__ = ["Box", "Piece", "Refused", "TensorMap", "Walk", "access", "store_access"]
