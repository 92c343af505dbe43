"""A chain of transforms as one map."""

from __future__ import annotations

from xdsl.ir import SSAValue

from imbrex.index.map import Layer, Map
from imbrex.ir.ops.view import TransformOp


def map_of(value: SSAValue) -> tuple[SSAValue, Map | None]:
    """The buffer that a chain of transforms views, and the map from the view's coordinates to the buffer's.

    None where the value is the buffer itself.
    """
    layers: list[Layer] = []
    while isinstance(value.owner, TransformOp):
        layers.append(value.owner.layer)
        value = value.owner.source
    return value, Map(tuple(layers)) if layers else None
