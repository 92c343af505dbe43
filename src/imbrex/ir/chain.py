"""A chain of views as one map, and the epilogue on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from xdsl.ir import SSAValue

from imbrex.index.map import Dim, Layer, Map, identity, layer_over
from imbrex.index.rule import PassThrough
from imbrex.ir.ops.finish import FinishOp
from imbrex.ir.ops.view import TransformOp
from imbrex.ir.shape import shape_of
from imbrex.problem.epilogue import Epilogue


@dataclass(frozen=True)
class Finish:
    """An epilogue, and each of its arrays as a buffer and the map from the view's coordinates to it.

    arrays: those that are read; stored: those that are written.
    """

    epilogue: Epilogue
    arrays: tuple[tuple[SSAValue, Map | None], ...]
    stored: tuple[tuple[SSAValue, Map | None], ...] = ()


def map_of(value: SSAValue) -> tuple[SSAValue, Map | None]:
    """The buffer that a chain of views views, and the map from the view's coordinates to the buffer's.

    None where the value is the buffer itself.
    """
    layers: list[Layer] = []
    for op in _views(value):
        value = op.source
        if isinstance(op, TransformOp):
            layers.append(op.layer)
    return value, _map(tuple(layers)) if layers else None


@lru_cache(maxsize=4096)
def _map(layers: tuple[Layer, ...]) -> Map:
    """The map of views that every level of the IR repeats: checked, and evaluated at its names, once."""
    return Map(layers)


def finish_of(value: SSAValue) -> Finish | None:
    """The epilogue through which a view is stored; None where there is none."""
    above: list[Layer] = []
    for op in _views(value):
        if isinstance(op, FinishOp):
            arrays = tuple(_below(above, array) for array in op.arrays)
            read = len(op.epilogue.arrays)
            return Finish(op.epilogue, arrays[:read], arrays[read:])
        above.append(op.layer)
    return None


def epilogue_of(value: SSAValue) -> Epilogue | None:
    """The epilogue of a view that is stored through one."""
    found = finish_of(value)
    return None if found is None else found.epilogue


def named_map(value: SSAValue, names: Sequence[str]) -> Map:
    """The map with its upper dims named as their position from the last one says; there are names enough."""
    _, map = map_of(value)
    shape = [s for s in shape_of(value) if s is not None]
    wanted = names[-len(shape) :]
    if map is None:
        return identity([Dim(n, s) for n, s in zip(wanted, shape, strict=True)])
    return named_under(map, names)


def named_under(map: Map, names: Sequence[str]) -> Map:
    """A map with its upper dims named so."""
    wanted = names[-len(map.upper) :]
    steps = ((PassThrough(), new, old.name) for new, old in zip(wanted, map.upper, strict=True))
    return Map((layer_over(map.upper, *steps), *map.layers))


def names_of(value: SSAValue) -> tuple[str, ...]:
    """Names of a view's dims; d0, d1 ... for a plain buffer."""
    if isinstance(value.owner, TransformOp):
        return value.owner.names
    return tuple(f"d{i}" for i in range(len(shape_of(value))))


def _views(value: SSAValue) -> Iterator[TransformOp | FinishOp]:
    """The views above a buffer, from this one down."""
    while isinstance(op := value.owner, TransformOp | FinishOp):
        yield op
        value = op.source


def _below(above: list[Layer], array: SSAValue) -> tuple[SSAValue, Map | None]:
    base, map = map_of(array)
    layers = (*above, *(map.layers if map is not None else ()))
    return base, Map(layers) if layers else None
