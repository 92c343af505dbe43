"""Stores through an epilogue: the arrays that it reads come to registers, are combined, and are stored.

Each array is read where its own map says, as wide as it allows: a bias along the stored vector is one load, a
bias across it a single element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from imbrex.dtype import F32, DType
from imbrex.index.expr import Lin, lin, var
from imbrex.index.map import Map
from imbrex.index.query import moves_as_vector
from imbrex.ir.chain import Finish
from imbrex.ir.ops.standard import SSAValue
from imbrex.lower.reader import Reader
from imbrex.lower.stmt import Alloc, Buffer, Evaluate, For, Move, Ref, Stmt
from imbrex.problem.epilogue import Call, Expression, Name, Number

__all__ = ["OLD", "finished", "finished_tile", "scaled"]

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
    made = held("finished", computed if result.is_float else result)
    body.append(Evaluate(Ref(made, lin(0)), expression, tuple(values), result, move.width))
    body.append(replace(move, source=Ref(made, lin(0)), alpha=1.0, beta=0.0))
    return Finished(tuple(buffers), tuple(body))


def finished_tile(
    tile: Ref,
    shape: tuple[int, int],
    dest: Ref,
    finish: Finish,
    scale: Mapping[str, float],
    coords: Sequence[Lin],
    reader: Reader,
) -> tuple[list[Stmt], Ref]:
    """The row-major tile (m, n) of sums on a CPU, each element finished, and where: in its place, or, of
    integers, in a tile of floats.

    coords: of element (m, n) in the view that is stored, whose last two are the variables of the loops.
    """
    *_, m, n = coords
    own = Ref(tile.buffer, tile.offset + m * shape[1] + n)
    made, done = tile, list[Stmt]()
    if not tile.buffer.dtype.is_float:
        made = Ref(Buffer(reader.fresh("finished"), F32, shape[0] * shape[1], "private"), lin(0))
        done.append(Alloc(made.buffer))
    expression = scaled(finish.epilogue.expression, scale["alpha"], scale["beta"])
    values = [("x", own, 1), *([(OLD, dest, 1)] if scale["beta"] else [])]
    arrays = zip(finish.epilogue.arrays, finish.arrays, strict=True)
    values += [(name, reader.element(base, map, coords), 1) for name, (base, map) in arrays]
    result = Ref(made.buffer, made.offset + m * shape[1] + n)
    body: tuple[Stmt, ...] = (Evaluate(result, expression, tuple(values), dest.buffer.dtype),)
    for x, size in ((n, shape[1]), (m, shape[0])):
        body = (For(str(x), size, body),) if size > 1 else body
    return [*done, *body], made


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


def _with_x(expression: Expression, x: Expression) -> Expression:
    match expression:
        case Name("x"):
            return x
        case Call(function, arguments):
            return Call(function, tuple(_with_x(a, x) for a in arguments))
        case _:
            return expression
