"""What a GPU computes before its loop over K: guards that the loop changes in few ways only.

A guard 0 <= u + v < size, where u is what the loop changes in all lanes alike (the place in a window, say)
and v is what a lane knows before the loop, takes as many answers as u has values.  Where those of all guards
of a load are few, a word of each lane holds them, one bit each, computed before the loop; in the loop, u
says which bit to look at.  For a convolution of 3 x 3 these are the nine places of its window.

Loads behind the loop, of steps that it leaves, look at the same words, at the bits of their places: guards of
their own, which are those before the loop again, would be kept through it in scalar registers.

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
from imbrex.index.expr import Lin, lin, var
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
    loop: int | None = None  # where the masks of the loop before stand
    for stmt in (*stmts, None):
        meet = isinstance(stmt, For) and meets(stmt)
        if loop is not None and (meet or stmt is None):
            body[loop:loop] = masks.statements()
            loop = None
        if isinstance(stmt, For) and any(isinstance(s, For) and meets(s) for s in stmt.body):
            before, masks.known = masks.known, {}
            body.append(replace(stmt, body=_with_masks(stmt.body, masks)))
            masks.known = before
        elif isinstance(stmt, For) and meet:
            loop = len(body)
            body.append(replace(stmt, body=masks.block(stmt.body, stmt.var, ())))
        elif stmt is not None:
            body += (stmt,) if loop is None else masks.block((stmt,), None, ())
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
class Mask:
    """Words of which a bit is set where a guard fails.  words: loops over them; choices: over their bits."""

    buffer: Buffer
    guards: tuple[Guard, ...]
    words: Sequence[Axis]
    choices: list[Axis]

    @property
    def statements(self) -> tuple[Stmt, ...]:
        body: Stmt = Mark(Ref(self.buffer, _row_major(self.words)), _row_major(self.choices), self.guards)
        for axis in reversed((*self.words, *self.choices)):
            body = For(axis.var, axis.size, (body,)) if axis.size > 1 else body
        return Alloc(self.buffer), Fill(self.buffer, 0), body

    def found(self, ref: Ref, words: Sequence[Axis]) -> Ref | None:
        """A reference behind the loop with the bit of its guards, for which there may be one more value of
        the first choice than the loop has; None where they are no others of these.
        """
        if [w.size for w in words] != [w.size for w in self.words]:
            return None
        named = {own.var: other.index for own, other in zip(self.words, words, strict=True)}
        places: dict[str, int] = {}
        left = list(ref.guards)
        for guard in self.guards:
            of = next((c.var for c in self.choices if guard.index.mentions(c.var)), None)
            met = next((g for g in left if _place(guard, g, of, named, places)), None)
            if met is None:
                return None
            left.remove(met)
        if places.keys() != {c.var for c in self.choices}:
            return None
        first, *others = self.choices
        more = max(first.size, places[first.var] + 1)
        if any(places[c.var] >= c.size for c in others) or more * prod(c.size for c in others) > WORD_BITS:
            return None
        self.choices[0] = Axis(first.var, more)
        bit = row_major([lin(places[c.var]) for c in self.choices], [c.size for c in self.choices])
        return replace(ref, guards=tuple(left), missing=Bit(self.buffer, _row_major(words), bit))


@dataclass
class Masks:
    """Masks of a kernel; `pending` are those that no loop has been given yet.

    Guards that are equal, but for the names of the loops around them, share a mask.
    """

    workitem: str
    names: set[str]
    pending: list[Mask] = field(default_factory=lambda: list[Mask]())
    known: dict[str, Buffer] = field(default_factory=lambda: dict[str, Buffer]())

    def statements(self) -> list[Stmt]:
        """What stands before a loop; nothing is pending then."""
        found = [stmt for mask in self.pending for stmt in mask.statements]
        self.pending.clear()
        return found

    def block(self, body: Sequence[Stmt], loop: str | None, inner: tuple[For, ...]) -> tuple[Stmt, ...]:
        """The statements of the loop over `loop`, or behind it; `inner` are the loops that are around them,
        in it.
        """
        done: list[Stmt] = []
        for stmt in body:
            match stmt:
                case For():
                    done.append(replace(stmt, body=self.block(stmt.body, loop, (*inner, stmt))))
                case Move() if stmt.source.buffer.space == "global":
                    source = stmt.source
                    found = self._behind(source, inner) if loop is None else self._source(source, loop, inner)
                    done.append(replace(stmt, source=found))
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

    def _behind(self, ref: Ref, inner: tuple[For, ...]) -> Ref:
        """The reference with a bit of what is pending in place of its guards, where one has them."""
        words = [Axis(f.var, f.count) for f in inner if any(g.index.mentions(f.var) for g in ref.guards)]
        found = (mask.found(ref, words) for mask in self.pending)
        return next((one for one in found if one is not None), ref)

    def _mask(self, guards: tuple[Guard, ...], words: Sequence[Axis], choices: Sequence[Axis]) -> Buffer:
        """The words of which a bit is set where a guard fails."""
        axes = {a.var: var(f"axis_{i}", a.size) for i, a in enumerate((*words, *choices))}
        key = str(([(g.index.subs(axes), g.size) for g in guards], list(axes.values()), len(words)))
        if key not in self.known:
            buffer = Buffer(self._fresh("missing"), I32, prod(a.size for a in words), "private")
            self.pending.append(Mask(buffer, guards, words, list(choices)))
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


def _place(
    held: Guard, guard: Guard, choice: str | None, named: dict[str, Lin], places: dict[str, int]
) -> bool:
    """Is that guard the held one, or what it is at some value of its choice?  named: what loops are called
    there.  places: values of choices, which the answer adds to.
    """
    if held.size != guard.size:
        return False
    if choice is None:
        return held.index.subs(named) == guard.index
    first = held.index.subs({**named, choice: lin(0)})
    apart = guard.index - first
    each = (held.index.subs({**named, choice: lin(1)}) - first).const
    place = apart.const // each
    if apart.terms or apart.const % each or place < 0 or places.get(choice, place) != place:
        return False
    places[choice] = place
    return True


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
