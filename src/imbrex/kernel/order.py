"""Order: a problem and all that the caller may choose about its kernel, checked before it is compiled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.kernel.goal import ARCHITECTURES, Goal
from imbrex.problem import Conv2d, Gemm, Problem, parse_problem
from imbrex.problem.conv import Direction
from imbrex.run.cpu import thread_count
from imbrex.run.machine import machine

if TYPE_CHECKING:  # the compiler's own module; a warm start goes without
    from imbrex.schedule.tiles import TileSchedule
    from imbrex.schedule.tuning import Tuning

__all__ = ["ALGORITHMS", "Order", "default_name", "ordered"]

ALGORITHMS: Mapping[str, tuple[Direction, ...]] = {
    "v4r4": ("forward", "backward_weight"),
    "v4r1": ("backward_data",),
    "v1r1": ("backward_data",),
    "interleaved": ("backward_data",),
    "shared_phases": ("backward_data",),
    "shared_phases_last": ("backward_data",),
    "channels_last": ("forward", "backward_data", "backward_weight"),
    "input_last": ("backward_weight",),
    "output_last": ("backward_weight",),
    "all_last": ("forward", "backward_data", "backward_weight"),
    "merged_groups": ("forward", "backward_data", "backward_weight"),
    "window_rows": ("forward", "backward_weight"),
    "whole_images": ("forward", "backward_data", "backward_weight"),
    "channel_vectors": ("forward", "backward_data", "backward_weight"),
    "halo": ("forward", "backward_data", "backward_weight"),
}
"""Of convolutions, with the directions that each is of."""
PACKING = (
    "channels_last",
    "input_last",
    "output_last",
    "all_last",
    "channel_vectors",
    "merged_groups",
    "window_rows",
)
"""Those that copy for matrix instructions."""
COUNTED = ("merged_groups", "whole_images", "halo")
"""With a colon and a number, of groups or of positions."""
ALIGNED = "aligned"
DATA_TILED = "data_tiled"
"""Alone, or with a colon and the name of a tile kernel."""
PRODUCTS = ("direct", ALIGNED, DATA_TILED)
"""Of products."""


@dataclass(frozen=True)
class Order:
    """tuning: its text; None lets the model choose.  algorithm: None leaves it to the compiler.

    schedule: of output tiles, its text; None for one workgroup a tile.
    """

    problem: Problem
    goal: Goal
    tuning: str | None
    threads: int
    algorithm: str | None
    name: str
    schedule: str | None = None

    @property
    def text(self) -> str:
        """The options in a line; with the sizes of this CPU's caches, by which the model chooses for it."""
        here = machine()
        caches = f" l2={here.l2_bytes} l3={here.l3_bytes}" if self.goal.target == "cpu" else ""
        chosen = f"tuning={self.tuning} algorithm={self.algorithm} schedule={self.schedule}"
        return f"target={self.goal} {chosen} threads={self.threads} name={self.name}{caches}"


def ordered(
    problem: Problem | str,
    goal: Goal,
    tuning: Tuning | str | None,
    threads: int | None,
    algorithm: str | None,
    name: str | None,
    schedule: TileSchedule | str | None = None,
) -> Order:
    """The order of these words; a Diagnostic for what cannot be."""
    given = _one(problem)
    return Order(
        given, goal, _text(tuning), thread_count(threads), _algorithm(given, goal, algorithm),
        _identifier(name or default_name(given)), None if schedule is None else str(schedule),
    )  # fmt: skip


def default_name(problem: Problem) -> str:
    """`conv2d_forward`, `gemm`: what the entry point is called unless told otherwise."""
    return f"conv2d_{problem.direction}" if isinstance(problem, Conv2d) else "gemm"


def _one(problem: Problem | str) -> Problem:
    if not isinstance(problem, str):
        return problem
    found = parse_problem(problem)
    if len(found) != 1:
        raise Diagnostic(
            f"the text holds {len(found)} problems, and a kernel computes one",
            hint="name one direction with -F 1, -F 2 or -F 4, or compile each of parse_problem(text)",
        )
    return found[0]


def _text(tuning: Tuning | str | None) -> str | None:
    if tuning is None or isinstance(tuning, str):
        return tuning
    from imbrex.schedule.tuning import text

    return text(tuning)


def _of_product(problem: Problem, goal: Goal, wanted: str) -> str:
    word = wanted.partition(":")[0]
    if not isinstance(problem, Gemm):
        raise Diagnostic(f"algorithm '{wanted}' is one of a product, this is a convolution")
    if word == ALIGNED and not goal.is_cuda:
        message = f"algorithm '{wanted}' copies for tensor maps, and target '{goal}' has none"
        raise Diagnostic(message, hint=f"name {' or '.join(ARCHITECTURES)}, or leave the algorithm out")
    if word == DATA_TILED and goal.chip is None:
        message = f"algorithm '{wanted}' packs for matrix instructions, and target '{goal}' has none"
        raise Diagnostic(message, hint="name a GPU such as gfx942, or emulate")
    return wanted


def _algorithm(problem: Problem, goal: Goal, wanted: str | None) -> str | None:
    if wanted is None:
        return None
    if wanted in PRODUCTS or wanted.partition(":")[0] == DATA_TILED:
        return _of_product(problem, goal, wanted)
    word, _, count = wanted.partition(":")
    if word not in ALGORITHMS or bool(count) != (word in COUNTED):
        known = (*ALGORITHMS, *PRODUCTS)
        hint = did_you_mean(wanted, known) or f"known: {', '.join(known)}"
        raise Diagnostic(f"unknown algorithm '{wanted}'", hint=hint)
    if not isinstance(problem, Conv2d) or problem.direction not in ALGORITHMS[word]:
        raise _elsewhere(problem, word)
    if word in PACKING and goal.chip is None:
        message = f"algorithm '{wanted}' packs for matrix instructions, and target '{goal}' has none"
        raise Diagnostic(message, hint="name a GPU such as gfx942, or emulate")
    if wanted == "v1r1" and problem.dtype.output != problem.dtype.accumulator:
        raise Diagnostic(
            f"algorithm 'v1r1' adds products in memory, where every sum would be rounded to {problem.dtype}",
            hint="v4r1 sums in registers",
        )
    return wanted


def _elsewhere(problem: Problem, wanted: str) -> Diagnostic:
    """An algorithm of other problems."""
    own = ALGORITHMS[wanted]
    if not isinstance(problem, Conv2d):
        of = own[0] if len(own) == 1 else "a convolution"
        return Diagnostic(f"algorithm '{wanted}' is one of {of.replace('_', ' ')}, this is a product")
    words = [direction.replace("_", " ") for direction in (*own, problem.direction)]
    message = f"algorithm '{wanted}' is one of {' and '.join(words[:-1])}, this is {words[-1]}"
    there = ", ".join(word for word, of in ALGORITHMS.items() if problem.direction in of)
    return Diagnostic(message, hint=f"there are {there}")


def _identifier(name: str) -> str:
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        return name
    raise Diagnostic(f"'{name}' cannot name a function of C; use letters, digits and _")
