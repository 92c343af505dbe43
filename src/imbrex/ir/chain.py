"""A chain of transforms as one map."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from imbrex.index.map import Dim, Layer, Map, identity, layer_over
from imbrex.index.rule import PassThrough
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


def named_map(value: SSAValue, names: Sequence[str]) -> Map:
    """The map with its upper dims named as their place from the last one says; there are names enough."""
    _, map = map_of(value)
    shape = [s for s in shape_of(value) if s is not None]
    wanted = names[-len(shape) :]
    if map is None:
        return identity([Dim(n, s) for n, s in zip(wanted, shape, strict=True)])
    steps = ((PassThrough(), new, old.name) for new, old in zip(wanted, map.upper, strict=True))
    return Map((layer_over(map.upper, *steps), *map.layers))


def names_of(value: SSAValue) -> tuple[str, ...]:
    """Names of a view's dims; d0, d1 ... for a plain buffer."""
    if isinstance(value.owner, TransformOp):
        return value.owner.names
    return tuple(f"d{i}" for i in range(len(shape_of(value))))
