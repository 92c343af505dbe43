"""Digits: one number for several coordinates, and several for one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from imbrex.index.expr import Lin, divide, lin, select

__all__ = ["digits", "piece", "row_major"]


def row_major(u: Sequence[Lin], sizes: Sequence[int]) -> Lin:
    """Element offset of coordinates in a compact row-major array of these sizes."""
    x = lin(0)
    for coord, size in zip(u, sizes, strict=True):
        x = x * size + coord
    return x


def digits(x: Lin, sizes: Sequence[int]) -> tuple[Lin, ...]:
    """The digits of x in the mixed radix of the sizes, the last one fastest.

    The first dim of more than one element is unbounded, so that coordinates that are not there go on in equal
    steps; dims of one element before it have no other coordinate, and their steps, which no element knows,
    part no neighbours.
    """
    alone = tuple(lin(0) for _ in takewhile(lambda size: size == 1, sizes))
    if len(alone) == len(sizes):
        return alone
    out: list[Lin] = []
    for size in reversed(sizes[len(alone) + 1 :]):
        x, digit = divide(x, size)
        out.append(digit)
    return (*alone, x, *reversed(out))


def piece(u: Sequence[Lin], sizes: Sequence[int]) -> Lin:
    """A coordinate of one of several pieces laid end to end, which the last one selects."""
    *pieces, selector = u
    starts = [sum(sizes[:i]) for i in range(len(pieces))]
    x = pieces[-1] + starts[-1]
    for i in reversed(range(len(pieces) - 1)):
        x = select(i - selector, pieces[i] + starts[i], x)
    return x
