"""Part: a digit of a tile's dimension; an instruction's layout as digits, read off its map.

A tile of several instructions and waves counts each of its dimensions in digits.  Each digit comes from one
of three counters, its origin:

    wave          which wave of the workgroup
    unroll        which instruction of the wave
    instruction   the coordinate inside the instruction's own tile

and is held by someone, its kind: a wave, one of the unrolled instructions, or, inside an instruction, its
lanes or its registers.  Registers that run along the dimension from its first coordinate on are `element`,
those that go on elsewhere are `outer`.  (IREE's data-tiled layouts tell the same apart; a wave is a subgroup
there.)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, Literal, NamedTuple, TypeAlias

from imbrex.index.atom import Atom, Div, Mod, Var
from imbrex.index.expr import Lin
from imbrex.index.map import Map

__all__ = ["KINDS", "Digit", "Kind", "Origin", "Part", "held_parts", "refined"]

Origin: TypeAlias = Literal["wave", "unroll", "instruction"]
Kind: TypeAlias = Literal["wave", "unroll", "outer", "lane", "element"]

KINDS: Final[tuple[Kind, ...]] = ("wave", "unroll", "outer", "lane", "element")


class Digit(NamedTuple):
    """`size` coordinates, `step` apart in what the origin counts."""

    origin: Origin
    size: int
    step: int = 1


class Part(NamedTuple):
    """A digit of the dimension `dim`, and who holds it.

    stride: how far apart its coordinates lie in the lane or register number; 0 outside the instruction.
    """

    dim: str
    kind: Kind
    digit: Digit
    stride: int = 0

    @property
    def size(self) -> int:
        return self.digit.size

    def __str__(self) -> str:
        return f"{self.dim}_{self.kind}={self.size}"


def held_parts(layout: Map, dim: str) -> tuple[Part, ...] | None:
    """The parts of an instruction's dimension, outermost first, from its map (lane, register) -> dims.

    None where the dimension is not a number in digits of the lane and of the register.
    """
    (position,) = [i for i, d in enumerate(layout.lower) if d.name == dim]
    index, size = layout.symbolic.coords[position], layout.lower[position].size
    parts: list[Part] = []
    for atom, step in sorted(index.terms, key=lambda term: term[1]):
        found = _digit_of(atom)
        if found is None or step != prod(p.size for p in parts):
            return None
        holder, stride, count = found
        count = min(count, size // step)  # lanes that hold nothing are beyond
        kind: Kind = "lane" if holder == "lane" else "element" if step == 1 else "outer"
        parts.append(Part(dim, kind, Digit("instruction", count, step), stride))
    complete = not index.const and prod(p.size for p in parts) == size
    return tuple(reversed(parts)) if complete else None


def refined(digit: Digit, parts: Sequence[Part]) -> tuple[Part, ...] | None:
    """A digit of the instruction's coordinate as the parts that hold it, outermost first.

    None where the digit cuts a part at a place that is no multiple.
    """
    found: list[Part] = []
    low, high = digit.step, digit.step * digit.size
    for part in parts:
        start = max(low, part.digit.step)
        stop = min(high, part.digit.step * part.size)
        if stop <= start:
            continue
        if stop % start or start % part.digit.step:
            return None
        stride = part.stride * (start // part.digit.step)
        found.append(Part(part.dim, part.kind, Digit("instruction", stop // start, start), stride))
    return tuple(found) if prod(p.size for p in found) == digit.size else None


def _digit_of(atom: Atom) -> tuple[str, int, int] | None:
    """(variable, stride, size) of a digit: `x`, `x / d`, `x % k` or `(x / d) % k`."""
    match atom:
        case Var(name, size):
            return name, 1, size
        case Div(Lin(((Var(name, _), 1),), 0), Lin((), d)):
            return name, d, atom.bounds[1] + 1
        case Mod(Lin(((Var(name, _), 1),), 0), Lin((), k)):
            return name, 1, k
        case Mod(Lin(((Div(Lin(((Var(name, _), 1),), 0), Lin((), d)), 1),), 0), Lin((), k)):
            return name, d, k
        case _:
            return None
