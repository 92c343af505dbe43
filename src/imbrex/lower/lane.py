"""What one work item of a GPU schedule does: copies as vector moves, products as multiply-adds in registers
or as matrix instructions of its wave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from imbrex.chip import VECTOR_BYTES
from imbrex.index.digits import row_major
from imbrex.index.expr import Lin, lin, var
from imbrex.index.map import Dim, Map
from imbrex.index.query import moves_as_vector
from imbrex.ir.chain import finish_of, names_of
from imbrex.ir.ops.matrix import MfmaOp
from imbrex.ir.ops.standard import SSAValue
from imbrex.ir.ops.thread import ThreadwiseCopyOp, ThreadwiseGemmOp
from imbrex.ir.shape import GLOBAL, LDS, PRIVATE, space_of
from imbrex.ir.source import InvalidOp
from imbrex.lower.finish import finished
from imbrex.lower.reader import Reader, element_type, number, sizes
from imbrex.lower.stmt import Alloc, Buffer, For, MatrixMultiply, Move, MulAdd, Ref, Stmt
from imbrex.view.mma import wave
from imbrex.view.stage.lds import pack_of


@dataclass(frozen=True)
class Side:
    """One end of a copy: a view at an index, or a run of a plain buffer."""

    reader: Reader
    value: SSAValue
    index: list[Lin]
    start: int
    is_run: bool

    def at(self, coords: Sequence[Lin], box: Sequence[int]) -> Ref:
        if self.is_run:
            return self.reader.run(self.value, row_major(coords, box), self.start)
        ref = self.reader.ref(self.value, [*self.index, *coords])
        return Ref(ref.buffer, ref.offset + self.start, ref.guards)


def copy(op: ThreadwiseCopyOp, reader: Reader) -> list[Stmt]:
    """Loops over the copied box, innermost over vectors."""
    if number(op.turned, False):
        return _turned(op, reader)
    ends = [_side(op, "source", reader), _side(op, "dest", reader)]
    shapes = [sizes(end.value)[len(end.index) :] for end in ends]
    box_end = 1 if ends[0].is_run else 0
    box = shapes[box_end]
    names = [reader.fresh(n) for n in names_of(ends[box_end].value)[len(ends[box_end].index) :]]
    widest = min(number(op.vector, 1), *(_widest(end) for end in ends))
    along, width = _vector(ends, names, box, widest)
    method, direct = number(op.store_method, "set"), number(op.direct, False)
    scale: dict[str, Any] = {"alpha": number(op.alpha, 1.0), "beta": number(op.beta, 0.0)}
    if [space_of(end.value) for end in ends] == [GLOBAL, PRIVATE] and scale == {"alpha": 1.0, "beta": 0.0}:
        loaded = _vector(ends[:1], names, box, widest)
        if loaded[1] > width:
            return _scattered(ends, names, box, loaded)
    counts, coords = _blocks(names, box, along, width)
    source, dest = (end.at(coords, box) for end in ends)
    move = Move(dest, source, width, method, direct=direct, **scale)
    finish = finish_of(op.dest)
    if finish is None:
        return [*_loops(names, counts, (move,))]

    def at(lane: Lin) -> list[Lin]:
        return [*ends[1].index, *(x + lane if i == along else x for i, x in enumerate(coords))]

    done = finished(move, finish, at, reader)
    return [*done.buffers, *_loops(names, counts, done.body)]


def _turned(op: ThreadwiseCopyOp, reader: Reader) -> list[Stmt]:
    """What 16 lanes read for each other.  The source is a fragment: (workitem, .., slot)."""
    dims = [Dim(n, s) for n, s in zip(names_of(op.source), sizes(op.source), strict=True)]
    width, slots = number(op.vector, 1), dims[-1].size
    if len(op.source_index) != len(dims) - 1:
        raise InvalidOp(op, f"a copy that transposes takes one fragment, a row of {slots} slots", "turned")
    count, lane, name = slots // width, var("lane", width), reader.fresh("read")
    index, read = reader.index(op.source_index), var(name, count)
    coords, _ = Map(wave.turned(dims, width)).at([*index, read, lane])
    source, dest = reader.ref(op.source, coords), _side(op, "dest", reader).at([read * width], [slots])
    if not moves_as_vector(source.offset, source.guards, lane, width):
        raise InvalidOp(op, f"{width} lanes' elements are no neighbours in LDS: {source.offset}", "turned")
    first = Ref(source.buffer, source.offset.subs({"lane": lin(0)}))
    return [*_loops([name], [count], (Move(dest, first, width, turned=True),))]


def _scattered(
    ends: Sequence[Side], names: Sequence[str], box: Sequence[int], vector: tuple[int, int]
) -> list[Stmt]:
    """Vectors of memory whose elements are no neighbours in the registers where they belong."""
    (source, dest), (along, width), reader = ends, vector, ends[0].reader
    held = Buffer(reader.fresh("thread_vector"), element_type(source.value), width, "private")
    counts, first = _blocks(names, box, along, width)
    lane = reader.fresh("lane")
    coords = [c + var(lane, width) if i == along else c for i, c in enumerate(first)]
    taken = Move(dest.at(coords, box), Ref(held, var(lane, width)))
    load = Move(Ref(held, lin(0)), source.at(first, box), width)
    return [Alloc(held), *_loops(names, counts, (load, For(lane, width, (taken,))))]


def _blocks(names: Sequence[str], box: Sequence[int], along: int, width: int) -> tuple[list[int], list[Lin]]:
    """How many vectors there are in each dim of a box, and where one of them begins."""
    counts, coords = list(box), [var(n, s) for n, s in zip(names, box, strict=True)]
    if width > 1:
        counts[along] //= width
        coords[along] = var(names[along], counts[along]) * width
    return counts, coords


def _loops(names: Sequence[str], counts: Sequence[int], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Loops around some statements, the first name's outermost; none where there is one turn."""
    for name, count in reversed(list(zip(names, counts, strict=True))):
        if count > 1:
            body = (For(name, count, body),)
    return body


def product(op: ThreadwiseGemmOp, reader: Reader) -> list[Stmt]:
    """c[m][n] += a[k][m] * b[k][n] for a part of three register tiles, or for those that indices leave."""
    if op.instruction is not None:
        raise InvalidOp(op, "work items multiply their registers one by one", "instruction")
    if op.a_index:
        return _indexed(op, reader)
    (k, pitch_a), (_, pitch_b), (rows, pitch_c) = (sizes(v) for v in (op.a, op.b, op.c))
    m = number(op.m_per_thread, pitch_a if op.m_per_thread is None else 0)
    n = number(op.n_per_thread, pitch_b if op.n_per_thread is None else 0)
    assert m <= rows, "a product's rows lie in its tile"
    names = [reader.fresh(x) for x in ("k_thread", "m_thread", "n_thread")]
    ik, im, i_n = (var(name, size) for name, size in zip(names, (k, m, n), strict=True))
    a = reader.run(op.a, ik * pitch_a + im, op.start("a"))
    b = reader.run(op.b, ik * pitch_b + i_n, op.start("b"))
    c = reader.run(op.c, im * pitch_c + i_n, op.start("c"))
    return [*_loops(names, (k, m, n), (MulAdd(c, a, b),))]


def _indexed(op: ThreadwiseGemmOp, reader: Reader) -> list[Stmt]:
    """The same on views of registers."""
    (k, m), n = sizes(op.a)[len(op.a_index) :], sizes(op.b)[-1]
    names = [reader.fresh(x) for x in ("k_thread", "m_thread", "n_thread")]
    ik, im, i_n = (var(name, size) for name, size in zip(names, (k, m, n), strict=True))
    operands = ((op.c, op.c_index, (im, i_n)), (op.a, op.a_index, (ik, im)), (op.b, op.b_index, (ik, i_n)))
    c, a, b = (reader.ref(value, [*reader.index(at), *rest]) for value, at, rest in operands)
    return [*_loops(names, (k, m, n), (MulAdd(c, a, b),))]


def matrix_multiply(op: MfmaOp, reader: Reader) -> list[Stmt]:
    """One matrix instruction on the registers that the indices leave."""
    operands = ((op.c, op.c_index), (op.a, op.a_index), (op.b, op.b_index))
    c, a, b = (_registers(value, reader.index(index), reader) for value, index in operands)
    if op.scale_a is None or op.scale_b is None:
        return [MatrixMultiply(op.matrix, c, a, b)]
    further = ((op.scale_a, op.scale_a_index), (op.scale_b, op.scale_b_index))
    scales = tuple(_registers(value, reader.index(index), reader) for value, index in further)
    count = prod(sizes(op.scale_a)[len(op.scale_a_index) :])
    return [MatrixMultiply(op.matrix, c, a, b, scales, count, number(op.scale_place, 0))]


def _registers(value: SSAValue, index: Sequence[Lin], reader: Reader) -> Ref:
    """The first of the elements that an index leaves, which are neighbours."""
    rest = sizes(value)[len(index) :]
    element = var("element'", prod(rest))
    coords, above = [lin(0)] * len(rest), element
    for axis in reversed(range(len(rest))):
        coords[axis], above = above % rest[axis], above // rest[axis]
    ref = reader.ref(value, [*index, *coords])
    first = ref.offset.subs({"element'": lin(0)})
    assert ref.offset == first + element, f"registers of {ref.buffer.name} are not neighbours: {ref.offset}"
    return Ref(ref.buffer, first, ref.guards)


def _side(op: ThreadwiseCopyOp, which: str, reader: Reader) -> Side:
    value, index = (op.source, op.source_index) if which == "source" else (op.dest, op.dest_index)
    start = op.source_start if which == "source" else op.dest_start
    is_plain = reader.root(value)[2] is None
    return Side(reader, value, reader.index(index), start, is_plain and not index)


def _widest(end: Side) -> int:
    """Elements of one access; registers are not accessed."""
    size, many, space = element_type(end.value).bytes, 1 << 30, space_of(end.value)
    if space == PRIVATE:
        return many
    return pack_of(many, size) if space == LDS else VECTOR_BYTES // size


def _vector(ends: Sequence[Side], names: Sequence[str], box: Sequence[int], widest: int) -> tuple[int, int]:
    """The dim of the box, and the width, of the widest move that is legal at both ends."""
    best = (len(box) - 1, 1)
    for along in reversed(range(len(box))):
        width = widest
        while width > best[1]:
            if box[along] % width == 0 and _is_legal(ends, names, box, along, width):
                best = (along, width)
                break
            width //= 2
    return best


def _is_legal(ends: Sequence[Side], names: Sequence[str], box: Sequence[int], along: int, width: int) -> bool:
    lane = var("lane", width)
    coords = [var(n, s) for n, s in zip(names, box, strict=True)]
    coords[along] = var("block", box[along] // width) * width + lane
    refs = [end.at(coords, box) for end in ends]
    return all(moves_as_vector(r.offset, r.guards, lane, width) for r in refs)
