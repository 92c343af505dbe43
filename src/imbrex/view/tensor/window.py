"""Path and Window: how the rows of a tile move along one axis of an image.

A path is `step` times a digit of the row's number, and a rest that does not move with the rows.  A window is
a path as TMA has it: the start pixels of the window's first tap,

    lower, lower + step, ..   up to   size - 1 + upper,

and a tap `offset` further on, never negative; the rest of the path is lower + offset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from imbrex.index.atom import Atom, Div, Mod, Var
from imbrex.index.expr import Lin, lin, var
from imbrex.index.query import separate
from imbrex.view.tensor.space import Axis

__all__ = ["Path", "Window", "path", "window"]


@dataclass(frozen=True)
class Path:
    """digit counts on with every `every`-th row, through `count` places, then anew; None: without end."""

    axis: Axis
    digit: Lin
    every: int
    count: int | None
    step: int
    rest: Lin

    def ended(self, count: int) -> tuple[Path, Lin]:
        """The path with its end, and how often it has been walked before."""
        return replace(self, digit=self.digit % count, count=count), self.digit // count


@dataclass(frozen=True)
class Window:
    """start: the start pixel as an index over the upper dims; offset: the tap, likewise."""

    size: int
    stride: int
    lower: int
    upper: int
    step: int
    start: Lin
    offset: Lin


def path(axis: Axis, rows: str) -> Path | None:
    """How an axis moves with the upper dim `rows`; None where it does so in another way."""
    parts = separate(axis.coordinate, frozenset((rows,)))
    match parts:
        case None:
            return None
        case (rest, Lin((), 0)):
            return Path(axis, lin(0), 1, 1, 1, rest)
        case (rest, Lin(((atom, step),), 0)) if step > 0 and (pace := _pace(atom)):
            return Path(axis, Lin(((atom, 1),), 0), *pace, step, rest)
        case _:
            return None


def _pace(atom: Atom) -> tuple[int, int | None] | None:
    """(a, b) of `(rows / a) % b`."""
    match atom:
        case Var():
            return 1, None
        case Div(Lin(((Var(), 1),), 0), Lin((), every)):
            return every, None
        case Mod(Lin(((Var(), 1),), 0), Lin((), count)):
            return 1, count
        case Mod(Lin(((Div(Lin(((Var(), 1),), 0), Lin((), every)), 1),), 0), Lin((), count)):
            return every, count
        case _:
            return None


def window(path: Path, inner: str, size: int) -> Window:
    """inner: the upper dim that the tap is a digit of, and its size."""
    assert path.count is not None
    lower, _ = path.rest.subs({inner: var(inner, size)}).bounds
    last = lower + (path.count - 1) * path.step
    return Window(
        path.axis.size, path.axis.stride,
        lower, last - (path.axis.size - 1), path.step,
        path.digit * path.step + lower, path.rest - lower,
    )  # fmt: skip
