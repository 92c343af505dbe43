"""What a GPU computes before its loop over K: guards that the loop changes in few ways only.

A guard 0 <= u + v < size, where u is what the loop changes in all lanes alike (the place in a window, say)
and v is what a lane knows before the loop, takes as many answers as u has values.  Where those of all guards
of a load are few, a word of each lane holds them, one bit each, computed before the loop; in the loop, u
says which bit to look at.  For a convolution of 3 x 3 these are the nine places of its window.

Law: the kernel does what it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from math import gcd, prod
from typing import NamedTuple

from imbrex.dtype import I32
from imbrex.index.digits import row_major
from imbrex.index.expr import Lin, var
from imbrex.index.rule import Guard
from imbrex.lower.stmt import Alloc, Bit, Buffer, Fill, For, Kernel, Let, Mark, Move, Ref, Stmt, meets, walk

__all__ = ["WORD_BITS", "hoisted"]

WORD_BITS = 32


def hoisted(kernel: Kernel) -> Kernel:
    """The kernel with masks before its loops; run it before `named_once`."""
    masks = Masks(kernel.workitem, _names(kernel))
    return replace(kernel, body=_with_masks(kernel.body, masks))


def _with_masks(stmts: Sequence[Stmt], masks: Masks) -> tuple[Stmt, ...]:
    """The statements with masks before their loops over K; a loop over segments has its masks inside."""
    body: list[Stmt] = []
    for stmt in stmts:
        if isinstance(stmt, For) and any(isinstance(s, For) and meets(s) for s in stmt.body):
            before, masks.known = masks.known, {}
            body.append(replace(stmt, body=_with_masks(stmt.body, masks)))
            masks.known = before
        elif isinstance(stmt, For) and meets(stmt):
            inside = masks.block(stmt.body, stmt.var, ())
            body += [*masks.pending, replace(stmt, body=inside)]
            masks.pending.clear()
        else:
            body.append(stmt)
    return tuple(body)


class Split(NamedTuple):
    """The index of a guard: what a loop changes in all lanes alike, and the rest."""

    shared: Lin
    own: Lin


@dataclass(frozen=True)
class Axis:
    """A loop around a mask's statement: over choices, or over words."""

    var: str
    size: int

    @property
    def index(self) -> Lin:
        return var(self.var, self.size)


@dataclass
class Masks:
    """Masks of a kernel; `pending` are the statements for those that no loop has been given yet.

    Guards that are equal, but for the names of the loops around them, share a mask.
    """

    workitem: str
    names: set[str]
    pending: list[Stmt] = field(default_factory=lambda: list[Stmt]())
    known: dict[str, Buffer] = field(default_factory=lambda: dict[str, Buffer]())

    def block(self, body: Sequence[Stmt], loop: str, inner: tuple[For, ...]) -> tuple[Stmt, ...]:
        """The statements of the loop over `loop`; `inner` are the loops in it that are around them."""
        done: list[Stmt] = []
        for stmt in body:
            match stmt:
                case For():
                    done.append(replace(stmt, body=self.block(stmt.body, loop, (*inner, stmt))))
                case Move() if stmt.source.buffer.space == "global":
                    done.append(replace(stmt, source=self._source(stmt.source, loop, inner)))
                case _:
                    done.append(stmt)
        return tuple(done)

    def _source(self, ref: Ref, loop: str, inner: tuple[For, ...]) -> Ref:
        """The reference with a bit in place of the guards that the loop changes in few ways."""
        parts = {g: _split(g, loop, self.workitem) for g in ref.guards}
        changing = _few([s.shared for s in parts.values() if s is not None and s.shared.mentions(loop)])
        if not changing:
            return ref
        choices = {u: Axis(self._named(f"choice_{i}"), _values(u)) for i, u in enumerate(changing)}
        kept: list[Guard] = []
        inside: list[Guard] = []
        for guard, split in parts.items():
            if split is None or (split.shared.mentions(loop) and split.shared not in choices):
                kept.append(guard)
            elif (choice := choices.get(split.shared)) is not None:
                inside.append(Guard(_value(split.shared, choice.index) + split.own, guard.size))
            else:
                inside.append(guard)
        words = [Axis(f.var, f.count) for f in inner if any(g.index.mentions(f.var) for g in inside)]
        bit = row_major([(u - u.bounds[0]) // _step(u) for u in changing], [_values(u) for u in changing])
        buffer = self._mask(tuple(inside), words, list(choices.values()))
        return replace(ref, guards=tuple(kept), missing=Bit(buffer, _row_major(words), bit))

    def _mask(self, guards: tuple[Guard, ...], words: Sequence[Axis], choices: Sequence[Axis]) -> Buffer:
        """The words of which a bit is set where a guard fails."""
        axes = {a.var: var(f"axis_{i}", a.size) for i, a in enumerate((*words, *choices))}
        key = str(([(g.index.subs(axes), g.size) for g in guards], list(axes.values()), len(words)))
        if key not in self.known:
            buffer = Buffer(self._fresh("missing"), I32, prod(a.size for a in words), "private")
            body: Stmt = Mark(Ref(buffer, _row_major(words)), _row_major(choices), guards)
            for axis in reversed((*words, *choices)):
                body = For(axis.var, axis.size, (body,)) if axis.size > 1 else body
            self.pending += [Alloc(buffer), Fill(buffer, 0), body]
            self.known[key] = buffer
        return self.known[key]

    def _named(self, name: str) -> str:
        while name in self.names:
            name += "_"
        return name

    def _fresh(self, hint: str) -> str:
        found = chain([hint], (f"{hint}_{i}" for i in count(2)))
        name = next(n for n in found if n not in self.names)
        self.names.add(name)
        return name


def _split(guard: Guard, loop: str, workitem: str) -> Split | None:
    """The parts of a guard; None where a term of it mixes what the loop changes and what a lane knows."""
    shared = sum((Lin(((a, c),), 0) for a, c in guard.index.terms if loop in a.variables), start=Lin((), 0))
    if shared.mentions(workitem):
        return None
    return Split(shared, guard.index - shared)


def _few(indices: Sequence[Lin]) -> tuple[Lin, ...]:
    """As many of these, those of fewest values first, as a word has bits for all their values together."""
    found: list[Lin] = []
    for one in sorted(dict.fromkeys(indices), key=_values):
        if prod(map(_values, (*found, one))) <= WORD_BITS:
            found.append(one)
    return tuple(u for u in dict.fromkeys(indices) if u in found)


def _step(shared: Lin) -> int:
    """The distance that divides all differences of values of an index."""
    return gcd(*(c for _, c in shared.terms))


def _value(shared: Lin, choice: Lin) -> Lin:
    """The index where it has its value of this number."""
    return choice * _step(shared) + shared.bounds[0]


def _values(shared: Lin) -> int:
    """How many values an index may have."""
    low, high = shared.bounds
    return (high - low) // _step(shared) + 1


def _row_major(axes: Sequence[Axis]) -> Lin:
    return row_major([a.index for a in axes], [a.size for a in axes])


def _names(kernel: Kernel) -> set[str]:
    """The names that the kernel gives."""
    found = {kernel.workgroup, kernel.workitem, *(b.name for b in kernel.arguments)}
    for stmt in walk(kernel.body):
        match stmt:
            case For():
                found.add(stmt.var)
            case Alloc():
                found.add(stmt.buffer.name)
            case Let():
                found.add(stmt.name)
            case _:
                pass
    return found
