"""Loops over k tiles that go two at a time, where the first tile and their count are known when they run.

    pairs      first + 2 * ((count - 1) // 2) - 1  the loop runs while a tile and two after it are there
    whole      first + count - 1                   the loop runs while a tile and one after it are there
    rest       first + count - 2, at least 0       where it leaves two
    even, odd  1 where count is
    turns      first + n * (count // n)            the end of a loop in steps of n
    more       1 where count % n is more than first
    lesser     of two numbers

Law: the loop from `first` below `pairs` in steps of two, then the two tiles from `rest` on where the count is
even, or the one at `whole` where it is odd, meet each tile once, for any count of at least 1.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, assert_never, get_args

from imbrex.index.expr import Lin, lin, select

Bound: TypeAlias = Literal["pairs", "whole", "rest", "even", "odd", "turns", "more", "lesser"]
BOUNDS: Final = get_args(Bound)


def bound(name: Bound, first: Lin, count: Lin, turn: int = 2) -> Lin:
    """The bound, of at least one tile.  turn: n."""
    match name:
        case "pairs":
            return first + (count + 1) // 2 * 2 - 3
        case "whole":
            return first + count - 1
        case "rest":
            before = first + count - 2
            return select(before, before, lin(0))
        case "even":
            return 1 - count % 2
        case "odd":
            return count % 2
        case "turns":
            return first + count // turn * turn
        case "more":
            return select(count % turn - first - 1, lin(1), lin(0))
        case "lesser":
            return select(count - first, first, count)
        case _:
            assert_never(name)


def size(name: Bound, k_tiles: int) -> int:
    """One more than the greatest value, of the tiles of a product."""
    match name:
        case "whole" | "lesser":
            return k_tiles
        case "pairs" | "rest":
            return max(k_tiles - 1, 1)
        case "even" | "odd" | "more":
            return 2
        case "turns":
            return k_tiles + 1
        case _:
            assert_never(name)
