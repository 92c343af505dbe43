"""Stores through an epilogue: the arrays that it reads come to registers, are combined, and are stored; so is
the pre-activation, on the way.

Each array is read where its own map says, as wide as it allows: a bias along the stored vector is one load, a
bias across it a single element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from imbrex.dtype import F32, DType
from imbrex.index.expr import Lin, lin, var
from imbrex.index.map import Map
from imbrex.index.query import moves_as_vector
from imbrex.ir.chain import Finish
from imbrex.ir.ops.standard import SSAValue
from imbrex.lower.cpu.packed import Finishing, Keeping
from imbrex.lower.reader import Reader
from imbrex.lower.stmt import Alloc, Buffer, Evaluate, For, Move, Ref, Stmt, Window
from imbrex.problem.epilogue import Call, Expression, Name, Number, parted

__all__ = ["OLD", "Stored", "finished", "finishing", "scaled"]

OLD = "old"
"""The name of what lay in the destination, where beta is not 0."""

Coords = Callable[[Lin], list[Lin]]
"""Coordinates of element `lane` of the vector that is stored."""


@dataclass(frozen=True)
class Finished:
    """Allocations, to stand before the loops around a store, and what takes the place of the store."""

    buffers: tuple[Alloc, ...]
    body: tuple[Stmt, ...]


def scaled(expression: Expression, alpha: float, beta: float) -> Expression:
    """The expression with x = alpha * x + beta * old; a factor of 0 does not read what it multiplies."""
    x: Expression = Name("x")
    if alpha == 0.0:
        x = Number(0.0)
    elif alpha != 1.0:
        x = Call("multiply", (Number(alpha), x))
    if beta != 0.0:
        x = Call("add", (x, Call("multiply", (Number(beta), Name(OLD)))))
    return _with_x(expression, x)


def finished(move: Move, finish: Finish, coords: Coords, reader: Reader) -> Finished:
    """`move`, which stores sums in registers to global memory, through an epilogue."""
    assert move.method == "set", f"what is added atomically is no whole sum: {move}"
    computed = move.source.buffer.dtype if move.source.buffer.dtype.bytes == 8 else F32
    expression = scaled(finish.epilogue.expression, move.alpha, move.beta)
    buffers: list[Alloc] = []
    body: list[Stmt] = []
    values: list[tuple[str, Ref, int]] = [("x", move.source, 1)]

    def held(name: str, dtype: DType) -> Buffer:
        made = Buffer(reader.fresh(name), dtype, move.width, "private")
        buffers.append(Alloc(made))
        return made

    if move.beta != 0.0:
        old = held(OLD, move.dest.buffer.dtype)
        body.append(Move(Ref(old, lin(0)), move.dest, move.width))
        values.append((OLD, Ref(old, lin(0)), 1))
    for name, (base, map) in zip(finish.epilogue.arrays, finish.arrays, strict=True):
        buffer = held(name, reader.buffers[base].dtype)

        loads, step = _loads(buffer, partial(_element, reader, base, map, coords), move.width, reader)
        body += loads
        values.append((name, Ref(buffer, lin(0)), step))
    result = move.dest.buffer.dtype

    def evaluated(name: str, of: Expression, kind: DType, stored: DType) -> Ref:
        """Registers with the expression's value."""
        made = Ref(held(name, kind), lin(0))
        body.append(Evaluate(made, of, tuple(values), stored, move.width))
        return made

    kept, expression = parted(expression)
    if kept is not None:
        ((name, (base, map)),) = zip(finish.epilogue.stored, finish.stored, strict=True)
        value = evaluated(name, kept, computed, result if result.is_float else computed)
        values.append((name, value, 1))
        rounded = value if result.is_float else evaluated(f"{name}_stored", Name(name), result, result)
        body += _stores(rounded, partial(_element, reader, base, map, coords), move.width, reader)
    made = evaluated("finished", expression, computed if result.is_float else result, result)
    body.append(replace(move, source=made, alpha=1.0, beta=0.0))
    return Finished(tuple(buffers), tuple(body))


@dataclass(frozen=True)
class Stored:
    """Where a CPU stores sums through a window.  axes: the variables of its rows and lanes.  dest: the
    element at these coordinates; where it does not exist, no array is asked for its own.
    """

    window: Window
    axes: tuple[str, str]
    dest: Ref
    coords: Sequence[Lin]

    def element(self, base: SSAValue, map: Map | None, reader: Reader) -> Ref | Buffer:
        """An array's element there: of the array alone where it lies as the one that is stored."""
        ref = reader.element(base, map, self.coords)
        guards = tuple(g for g in ref.guards if g not in self.dest.guards)
        lies_alike = not guards and ref.offset == self.dest.offset
        return ref.buffer if lies_alike else replace(ref, guards=guards)


def finishing(finish: Finish, to: Stored, scale: tuple[float, float], reader: Reader) -> Finishing:
    """What becomes of sums on their way to memory.  scale: alpha and beta of sums that are integers, which
    are scaled as floats, here.
    """
    window = to.window
    arrays: list[tuple[str, Ref | Buffer]] = [(OLD, to.dest.buffer)] if scale[1] else []
    read = zip(finish.epilogue.arrays, finish.arrays, strict=True)
    arrays += [(name, to.element(*array, reader)) for name, array in read]
    computed = window.computed if window.computed.bytes == 8 else F32
    kept, expression = parted(scaled(finish.epilogue.expression, *scale))
    stored = zip(finish.epilogue.stored, finish.stored, strict=True)
    keeping = None
    if kept is not None:
        ((name, array),) = stored
        keeping = Keeping(name, kept, to.element(*array, reader))
    return Finishing(expression, tuple(arrays), *to.axes, computed, window.buffer.dtype, keeping)


def _element(reader: Reader, base: SSAValue, map: Map | None, coords: Coords, lane: Lin) -> Ref:
    return reader.element(base, map, coords(lane))


def _loads(buffer: Buffer, at: Callable[[Lin], Ref], width: int, reader: Reader) -> tuple[list[Stmt], int]:
    """Moves to registers, and how far neighbours lie apart there: 0 where all elements are one."""
    first, lane = at(lin(0)), var("lane", width)
    if at(lane) == first:
        return [Move(Ref(buffer, lin(0)), first)], 0
    if moves_as_vector(at(lane).offset, at(lane).guards, lane, width):
        return [Move(Ref(buffer, lin(0)), first, width)], 1
    name = reader.fresh("element")
    element = var(name, width)
    return [For(name, width, (Move(Ref(buffer, element), at(element)),))], 1


def _stores(source: Ref, at: Callable[[Lin], Ref], width: int, reader: Reader) -> list[Stmt]:
    """Moves of registers to where neighbours belong, together if they lie together there, too."""
    first, lane = at(lin(0)), var("lane", width)
    if width == 1 or moves_as_vector(at(lane).offset, at(lane).guards, lane, width):
        return [Move(first, source, width)]
    name = reader.fresh("element")
    element = var(name, width)
    return [For(name, width, (Move(at(element), Ref(source.buffer, element)),))]


def _with_x(expression: Expression, x: Expression) -> Expression:
    match expression:
        case Name("x"):
            return x
        case Call(function, arguments):
            return Call(function, tuple(_with_x(a, x) for a in arguments))
        case _:
            return expression
