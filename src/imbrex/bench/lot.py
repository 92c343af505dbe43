"""Lots: problems that a seed draws, of every kind that a table lists.

What nobody has seen nobody has fitted: the share of a new lot's problems that lose to a library is what to
expect of one's own.

Law: a lot is drawn from its table and its seed by `random.random` alone, which gives the same numbers on
every machine and version of Python.  No kind has a problem twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any, Final, NamedTuple, TypeVar

from imbrex.bench.resnet import LAYOUTS
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.dtype import F16
from imbrex.problem import Conv2d, Problem
from imbrex.problem.conv import DIRECTIONS, Direction

__all__ = ["Drawn", "Found", "Kind", "Windows", "drawn_lot", "one"]

Found = Iterator[tuple[str, Problem, int]]
"""Titles, problems, and how often each is asked for."""
T = TypeVar("T")

MOST_BYTES: Final = 2e9
"""Arrays of one problem."""


@dataclass(frozen=True)
class Kind:
    """count: problems of it in a lot."""

    count: int
    draw: Callable[[Random], Found]
    peers: tuple[str, ...] = ("torch",)


class Drawn(NamedTuple):
    """One problem of a lot: its kind's name, its own title, and who computes it, too."""

    kind: str
    title: str
    problem: Problem
    peers: tuple[str, ...]


def drawn_lot(kinds: Mapping[str, Kind], seed: int, names: Iterable[str] | None = None) -> Iterator[Drawn]:
    """The problems of one lot, of the kinds of these names or of all.  A Diagnostic for a kind that there is
    not.
    """
    wanted = set(kinds if names is None else names)
    for word in sorted(wanted - set(kinds)):
        hint = did_you_mean(word, kinds) or f"known: {', '.join(kinds)}"
        raise Diagnostic(f"a lot has no kind '{word}'", hint=hint)
    return (
        Drawn(name, title, problem, kind.peers)
        for number, (name, kind) in enumerate(kinds.items())
        if name in wanted
        for problem, title in islice(_distinct(kind.draw(Random(1000 * seed + number))), kind.count)
    )


def _distinct(found: Found) -> Iterator[tuple[Problem, str]]:
    seen = set[Problem]()
    for title, problem, _ in found:
        if problem not in seen:
            seen.add(problem)
            yield problem, title


def one(random: Random, of: Sequence[T]) -> T:
    """A member by lot."""
    return of[int(random.random() * len(of))]


@dataclass(frozen=True)
class Windows:
    """Draws convolutions of a layout, each in a direction, a batch and an image by lot."""

    batches: Sequence[int]
    images: Sequence[int]
    most_flops: float
    dtype: str = F16.name
    directions: Sequence[Direction] = DIRECTIONS

    def one(
        self,
        random: Random,
        layout: str,
        c: int,
        k: int,
        window: tuple[int, int],
        *,
        groups: int = 1,
        dilation: int = 1,
        stride: int | None = None,
        pads: int | None = None,
    ) -> Found:
        """One problem, or none where it would be too large or the window too wide."""
        n, size = one(random, self.batches), one(random, self.images)
        direction = one(random, self.directions)
        strides = stride or 1 + (random.random() < 0.2)
        filters, inputs, outputs = LAYOUTS[layout]
        y, x = window
        if size <= dilation * max(window):
            return
        pad_h, pad_w = (dilation * (length // 2) if pads is None else pads for length in window)
        layouts: dict[str, Any] = {
            "filter_layout": filters,
            "input_layout": inputs,
            "output_layout": outputs,
        }
        conv = Conv2d(
            direction, n, c, size, size, k, y, x, pad_h=pad_h, pad_w=pad_w, stride=strides, dilation=dilation,
            groups=groups, dtype=self.dtype, **layouts,
        )  # fmt: skip
        if conv.flops <= self.most_flops and conv.bytes <= MOST_BYTES:
            spread = f", dilation {dilation}" if dilation > 1 else ""
            grouped = f", {groups} groups" if groups > 1 else ""
            yield f"{n}x{c}@{size} to {k}, {y}x{x} / {strides}{spread}{grouped} {direction}", conv, 1
