"""Tensor maps: an operand's map as what the Tensor Memory Accelerator of NVIDIA Hopper is asked for."""

from imbrex.view.tensor.access import access
from imbrex.view.tensor.form import Box, Piece, Refused, TensorMap, Walk
from imbrex.view.tensor.halo import Halo, halo_access, line_access
from imbrex.view.tensor.pixels import Product
from imbrex.view.tensor.planes import Planes, plane_access
from imbrex.view.tensor.store import store_access

__all__ = [
    "Box",
    "Halo",
    "Piece",
    "Planes",
    "Product",
    "Refused",
    "TensorMap",
    "Walk",
    "access",
    "halo_access",
    "line_access",
    "plane_access",
    "store_access",
]
