"""Rules: how some upper coordinates give some lower coordinates, one law each.

Upper is what is asked (gemm coordinates, workgroup, lane, loop step); lower is nearer to memory.
A rule keeps no sizes: they belong to the dimensions that it connects.  Only `Pad` and `Prefix` make guards.
Laws, with u upper, l lower, U and L their sizes:

    PassThrough   l = u                               Merge      l_i = digit i of u in radix (L_1..L_n)
    Pad           l = u - before, if 0 <= l < L       Unmerge    l = ((u_1 U_2 + u_2) U_3 + ...) + u_n
    Slice         l = u + begin                       Unfold     Merge over dims that are contiguous below
    Prefix        l = u, if u < count
    Embed         l = offset + sum coef_i u_i         Broadcast  u is dropped
    Quotient      l = (u - offset) / coef, exact      Fixed      l = value
    Sunder        l = u_s + sum(U_i for i < s)        Xor        (r, c) -> (r, c ^ (r / rows_per_step) % C)
    Group         u walks the columns of `rows` rows, then those of the next rows; the last rows may be fewer
    Deal          u is dealt to `ways` hands in turn, the hands laid end to end; the first may hold one more
    Ungroup       undoes Group                        Undeal     undoes Deal

Names and laws follow rocMLIR's transforms (Merge, Unmerge, Pad, ...) and rocRoller's Sunder, its workgroup
mapping (Group) and remap of workgroups to XCDs (Deal), the last two on grids of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, NamedTuple, TypeAlias, assert_never

from imbrex.index import digits, order
from imbrex.index.atom import Div
from imbrex.index.expr import Index, Lin, divide, lin, param, xor

Sizes: TypeAlias = Sequence[int]

COUNT: Final = "count"
"""How many coordinates of a `Prefix` exist: the one run-time size of a kernel."""


@dataclass(frozen=True)
class Guard:
    """The condition `0 <= index < size`; the size may be a multiple of the run-time one."""

    index: Lin
    size: Index

    def __str__(self) -> str:
        return f"0 <= {self.index} < {self.size}"


@dataclass(frozen=True)
class PassThrough:
    """The same coordinate."""


@dataclass(frozen=True)
class Pad:
    """`before` and `after` coordinates that are not there."""

    before: int
    after: int


@dataclass(frozen=True)
class Prefix:
    """The first `count` coordinates, a run-time quantity from `least` to the size of the dimension."""

    least: int


@dataclass(frozen=True)
class Slice:
    """The coordinates from `begin` up to, not including, `end`."""

    begin: int
    end: int


@dataclass(frozen=True)
class Embed:
    """A sliding window, or any strided view: `offset + sum(coef * upper)`."""

    coefs: tuple[int, ...]
    offset: int = 0


@dataclass(frozen=True)
class Quotient:
    """The inverse of `Embed((coef,), offset)`: defined where the division is exact."""

    coef: int
    offset: int = 0


@dataclass(frozen=True)
class Unmerge:
    """Several upper dims index one lower dim, last fastest (expand_shape; rocRoller's Tile)."""


@dataclass(frozen=True)
class Merge:
    """One upper dim runs over several lower dims, last fastest (rocRoller's Flatten)."""


@dataclass(frozen=True)
class Unfold:
    """`Merge` over lower dims that lie next to one another in memory, so that no carry is needed."""


@dataclass(frozen=True)
class Broadcast:
    """An upper dim that no lower dim depends on: stride 0."""


@dataclass(frozen=True)
class Fixed:
    """A lower dim held at one coordinate."""

    value: int


@dataclass(frozen=True)
class Sunder:
    """Pieces of unequal size laid end to end; the last upper dim selects the piece (rocRoller)."""


@dataclass(frozen=True)
class Xor:
    """Permutes the columns of a power of two by the row: an LDS layout without bank conflicts."""

    rows_per_step: int = 1


@dataclass(frozen=True)
class Group:
    """One upper dim runs over (row, column), column by column within groups of `rows` rows.

    rows: a number, or a runtime quantity; more rows than there are make one group.
    """

    rows: Index


@dataclass(frozen=True)
class Ungroup:
    """The place of (row, column) in the order that `Group` walks."""

    rows: Index


@dataclass(frozen=True)
class Deal:
    """A permutation of one dim: coordinates that are equal modulo `ways` become neighbours."""

    ways: int


@dataclass(frozen=True)
class Undeal:
    """The permutation that undoes `Deal`."""

    ways: int


Rule: TypeAlias = (
    PassThrough | Pad | Prefix | Slice | Embed | Quotient | Unmerge | Merge | Unfold | Broadcast | Fixed
    | Sunder | Xor | Group | Ungroup | Deal | Undeal
)  # fmt: skip


class Lowered(NamedTuple):
    """Lower coordinates, and the conditions under which they exist."""

    coords: tuple[Lin, ...]
    guards: tuple[Guard, ...] = ()


def lower(rule: Rule, u: Sequence[Lin], upper: Sizes, lower: Sizes) -> Lowered:
    """Apply a rule's law to upper coordinates `u`; `upper` and `lower` are the sizes of its dims."""
    match rule:
        case PassThrough():
            return Lowered((u[0],))
        case Pad(before, _):
            x = u[0] - before
            return Lowered((x if lower[0] > 1 else lin(0),), _guards(x, lower[0]))
        case Prefix(least):
            return Lowered((u[0],), _below(u[0], param(COUNT, least, lower[0])))
        case Slice(begin, _):
            return Lowered((u[0] + begin,))
        case Embed(coefs, offset):
            return Lowered((sum((x * c for x, c in zip(u, coefs, strict=True)), lin(offset)),))
        case Quotient(coef, offset):
            x, rest = divide((u[0] - offset) * (1 if coef > 0 else -1), abs(coef))
            return Lowered((x,), _guards(rest, 1) + _guards(x, lower[0]))
        case Unmerge():
            return Lowered((digits.row_major(u, upper),))
        case Merge() | Unfold():
            return Lowered(digits.digits(u[0], lower))
        case Broadcast():
            return Lowered(())
        case Fixed(value):
            return Lowered((lin(value),))
        case Sunder():
            return Lowered((digits.piece(u, upper),))
        case Xor(rows_per_step):
            row, column = u  # below a Pad, both may be negative where they do not exist
            return Lowered((row, xor(column % upper[1], (row // rows_per_step) % upper[1])))
        case Group(rows):
            return Lowered(order.grouped(u[0], lin(rows), lower))
        case Ungroup(rows):
            return Lowered((order.ungrouped(u[0], u[1], lin(rows), upper),))
        case Deal(ways):
            return Lowered((order.dealt(u[0], ways, lower[0]),))
        case Undeal(ways):
            return Lowered((order.undealt(u[0], ways, lower[0]),))
        case _:
            assert_never(rule)


def upper_sizes(rule: Rule, lower: Sizes) -> tuple[int, ...] | None:
    """Sizes of the upper dims where the lower sizes settle them; None where they must be given."""
    match rule:
        case PassThrough() | Prefix() | Xor() | Deal() | Undeal():
            return tuple(lower)
        case Pad(before, after):
            return (lower[0] + before + after,)
        case Slice(begin, end):
            return (end - begin,)
        case Merge() | Unfold() | Group():
            return (prod(lower),)
        case Fixed():
            return ()
        case Embed() | Quotient() | Unmerge() | Broadcast() | Sunder() | Ungroup():
            return None
        case _:
            assert_never(rule)


def arity(rule: Rule) -> tuple[int | None, int | None]:
    """How many upper and lower dims a rule connects; None means one or more."""
    match rule:
        case PassThrough() | Pad() | Prefix() | Slice() | Quotient() | Deal() | Undeal():
            return 1, 1
        case Embed(coefs, _):
            return len(coefs), 1
        case Unmerge() | Sunder():
            return None, 1
        case Merge() | Unfold():
            return 1, None
        case Broadcast():
            return 1, 0
        case Fixed():
            return 0, 1
        case Xor():
            return 2, 2
        case Group():
            return 1, 2
        case Ungroup():
            return 2, 1
        case _:
            assert_never(rule)


def flaw(rule: Rule, upper: Sizes, lower: Sizes) -> str | None:
    """Why these sizes break the rule's law, or None."""
    for have, want, side in ((upper, arity(rule)[0], "upper"), (lower, arity(rule)[1], "lower")):
        if (want is None and not have) or (want is not None and len(have) != want):
            of = f"{side} dimension" + "s" * (want != 1)
            return f"takes {'one or more' if want is None else want} {of}, got {len(have)}"
    if (implied := upper_sizes(rule, lower)) is not None and implied != tuple(upper):
        return f"makes upper size {list(implied)} of lower size {list(lower)}, got {list(upper)}"
    match rule:
        case Pad(before, after) if min(before, after) < 0:
            return f"needs non-negative pads, got {before} and {after}"
        case Prefix(least) if not 1 <= least <= lower[0]:
            return f"needs at least one coordinate and at most {lower[0]}, got {least}"
        case Slice(begin, end) if not 0 <= begin < end <= lower[0]:
            return f"takes [{begin}, {end}) of a dimension of size {lower[0]}"
        case Unmerge() | Ungroup() if prod(upper) != lower[0]:
            return f"makes lower size {prod(upper)} of upper size {list(upper)}, got {lower[0]}"
        case Fixed(value) if not 0 <= value < lower[0]:
            return f"holds coordinate {value} of a dimension of size {lower[0]}"
        case Sunder() if len(upper) < 2 or upper[-1] != len(upper) - 1 or sum(upper[:-1]) != lower[0]:
            return f"needs pieces that add up to {lower[0]} and a selector over them, got {list(upper)}"
        case Xor(rows_per_step) if upper[1] & (upper[1] - 1) or rows_per_step < 1:
            return f"needs a power of two columns and a positive step, got {upper[1]} and {rows_per_step}"
        case Group(rows) | Ungroup(rows) if lin(rows).bounds[0] < 1:
            return f"needs at least one row in a group, got {rows}"
        case Deal(ways) | Undeal(ways) if ways < 1:
            return f"needs at least one way to deal, got {ways}"
        case Quotient(coef, _) if coef == 0:
            return "needs a coefficient other than 0"
        case _:
            return _embed_flaw(rule, upper, lower[0]) if isinstance(rule, Embed) else None


def inverse(rule: Rule, upper: Sizes, lower: Sizes) -> Rule | None:
    """The rule that goes back from every lower point, or None where several upper points may share one, or
    none has it."""
    match rule:
        case PassThrough() | Xor():
            return rule
        case Pad(before, _):
            return Slice(before, before + lower[0])
        case Slice(begin, end):
            return Pad(begin, lower[0] - end)
        case Merge() | Unfold():
            return Unmerge()
        case Unmerge():
            return Merge()
        case Group(rows):
            return Ungroup(rows)
        case Ungroup(rows):
            return Group(rows)
        case Deal(ways):
            return Undeal(ways)
        case Undeal(ways):
            return Deal(ways)
        case Embed((coef,), offset) if coef:
            return Quotient(coef, offset)
        case Quotient(coef, offset) if not _embed_flaw(Embed((coef,), offset), lower, upper[0]):
            return Embed((coef,), offset)
        case Broadcast() if upper[0] == 1:
            return Fixed(0)
        case Fixed(0) if lower[0] == 1:
            return Broadcast()
        case Prefix() | Embed() | Quotient() | Broadcast() | Fixed() | Sunder():
            return None
        case _:
            assert_never(rule)


def _guards(x: Lin, size: Index) -> tuple[Guard, ...]:
    low, high = x.bounds
    return () if low >= 0 and high < lin(size).bounds[0] else (Guard(x, size),)


def _below(x: Lin, size: Lin) -> tuple[Guard, ...]:
    """The guard `x < size`; of y + z / d < size, where y * d + z < size * d, of what is divided."""
    match [atom for atom, step in x.terms if step == 1 and isinstance(atom, Div) and atom.den.is_constant]:
        case [Div(num, den) as atom]:
            return _below((x - Lin(((atom, 1),), 0)) * den.const + num, size * den.const)
        case _:
            return _guards(x, size)


def _embed_flaw(rule: Embed, upper: Sizes, size: int) -> str | None:
    reach = [c * (s - 1) for c, s in zip(rule.coefs, upper, strict=True)]
    low = rule.offset + sum(min(r, 0) for r in reach)
    high = rule.offset + sum(max(r, 0) for r in reach)
    return f"reaches [{low}, {high}] of a dimension of size {size}" if low < 0 or high >= size else None
