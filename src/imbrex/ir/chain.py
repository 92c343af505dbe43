"""A chain of transforms as one map."""

from __future__ import annotations

from xdsl.ir import SSAValue

from imbrex.index.map import Layer, Map
from imbrex.ir.ops.view import TransformOp
from imbrex.ir.shape import shape_of


def map_of(value: SSAValue) -> tuple[SSAValue, Map | None]:
    """The buffer that a chain of transforms views, and the map from the view's coordinates to the buffer's.

    None where the value is the buffer itself.
    """
    layers: list[Layer] = []
    while isinstance(value.owner, TransformOp):
        layers.append(value.owner.layer)
        value = value.owner.source
    return value, Map(tuple(layers)) if layers else None


def names_of(value: SSAValue) -> tuple[str, ...]:
    """Names of a view's dims; d0, d1 ... for a plain buffer."""
    if isinstance(value.owner, TransformOp):
        return value.owner.names
    return tuple(f"d{i}" for i in range(len(shape_of(value))))
