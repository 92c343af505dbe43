"""Loads, reads of LDS and products that do not need each other: a header says in which order they are begun.

Law: a run of moves out of global memory or LDS, and products behind it whose registers none of these moves
writes; so any order of them is the same.  Writes to LDS may follow in the run, behind what turns them in
registers, and loads over what they wrote: these stay in order, behind the run's reads.  Each statement is a
nest of loops around one move or one product, and counts as so many accesses or products, numbered in the
order of the loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from imbrex.index.expr import Lin, var
from imbrex.index.map import Dim, Layer, Step
from imbrex.index.rule import Merge
from imbrex.lower.stmt import Alloc, Comment, For, Let, MatrixMultiply, Move, Stmt, View, walk

__all__ = ["Nest", "Woven", "global_load", "woven"]

Declared: TypeAlias = Comment | Let | Alloc | View


@dataclass(frozen=True)
class Nest:
    """Loops around one statement, outermost first, and what is declared in them."""

    loops: tuple[For, ...]
    body: tuple[Stmt, ...]

    @property
    def count(self) -> int:
        return prod(loop.count for loop in self.loops)

    def variables(self, number: str) -> Mapping[str, Lin]:
        """The loops' variables at the access or product whose number a variable of that name is."""
        loops = tuple(Dim(loop.var, loop.count) for loop in self.loops)
        names = tuple(dim.name for dim in loops)
        if not loops:
            return {}
        layer = Layer((Dim(number, self.count),), loops, (Step(Merge(), (number,), names),))
        return dict(zip(names, layer.at([var(number, self.count)]).coords, strict=True))


@dataclass(frozen=True)
class Woven:
    """Loads, reads and products; `declared` stands before them.  writes: and what stands among them."""

    declared: tuple[Declared, ...]
    loads: tuple[Nest, ...]
    reads: tuple[Nest, ...]
    writes: tuple[Nest, ...]
    products: tuple[Nest, ...]


def woven(body: Sequence[Stmt]) -> list[Stmt | Woven]:
    """The statements, runs that may be woven taken together."""
    found: list[Stmt | Woven] = []
    run: list[Stmt] = []
    products: list[Nest] = []

    def close() -> None:
        moves = [nest for nest in map(_nest, run) if nest is not None]
        last = max((index for index, nest in enumerate(moves) if _source(nest) == "lds"), default=-1)
        begun, writes = moves[: last + 1], moves[last + 1 :]
        if not any(map(_is_write, writes)):
            begun, writes = moves, []
        reads = tuple(nest for nest in begun if _source(nest) == "lds")
        if not (reads and products) or any(map(_is_write, begun)):
            found.extend([*run, *(_stmt(nest) for nest in products)])
        else:
            declared = tuple(s for s in run if isinstance(s, Comment | Let | Alloc | View))
            loads = tuple(nest for nest in begun if _source(nest) == "global")
            turned = tuple(_whole(nest) if _is_turn(nest) else nest for nest in writes)
            found.append(Woven(declared, loads, reads, turned, tuple(products)))
        run.clear()
        products.clear()

    for stmt in body:
        nest = _nest(stmt)
        is_product = nest is not None and isinstance(nest.body[-1], MatrixMultiply)
        is_move = nest is not None and (_source(nest) is not None or _is_write(nest) or _is_turn(nest))
        if nest is not None and is_product and _is_free(nest, run):
            products.append(nest)
        elif is_move or isinstance(stmt, Comment | Let | Alloc | View):
            if products:
                close()
            run.append(stmt)
        else:
            close()
            found.append(stmt)
    close()
    return found


def global_load(stmt: Stmt) -> Move | None:
    """The one move that a statement is, in loops or alone, where that is out of global memory."""
    nest = _nest(stmt)
    last = None if nest is None or _source(nest) != "global" else nest.body[-1]
    return last if isinstance(last, Move) else None


def _is_free(product: Nest, run: Sequence[Stmt]) -> bool:
    """Does a product need nothing that the moves of a run write?"""
    written = {s.dest.buffer.name for s in walk(tuple(run)) if isinstance(s, Move)}
    taken = {r.buffer.name for s in walk(product.body) if isinstance(s, MatrixMultiply) for r in s.read}
    return not written & taken


def _stmt(nest: Nest) -> Stmt:
    """The statement that the nest was."""
    return nest.loops[0] if nest.loops else nest.body[-1]


def _nest(stmt: Stmt) -> Nest | None:
    """The loops around a statement's one move or product; None where there is more in it."""
    loops, body = list[For](), (stmt,)
    names: list[Stmt] = []
    while True:
        inner = [s for s in body if not isinstance(s, Let | Comment)]
        names += [s for s in body if isinstance(s, Let)]
        if len(inner) != 1:
            return None
        match inner[0]:
            case For(end=None) as loop:
                loops.append(loop)
                body = loop.body
            case Move() | MatrixMultiply() as last:
                return Nest(tuple(loops), (*names, last))
            case _:
                return None


def _whole(nest: Nest) -> Nest:
    """The nest's statement as one."""
    return Nest((), (_stmt(nest),))


def _is_write(nest: Nest) -> bool:
    """Does a move go from registers to LDS?"""
    return _spaces(nest) == ("private", "lds")


def _is_turn(nest: Nest) -> bool:
    """Does a move set registers from registers?"""
    last = nest.body[-1]
    return _spaces(nest) == ("private", "private") and isinstance(last, Move) and not last.beta


def _spaces(nest: Nest) -> tuple[str, str] | None:
    """Where a move comes from and goes to; None for a product."""
    last = nest.body[-1]
    return (last.source.buffer.space, last.dest.buffer.space) if isinstance(last, Move) else None


def _source(nest: Nest) -> str | None:
    """Where a move to registers or to LDS comes from; None where that are registers, and of products."""
    last = nest.body[-1]
    if not isinstance(last, Move) or last.dest.buffer.space == "global":
        return None
    space = last.source.buffer.space
    return None if space == "private" else space
