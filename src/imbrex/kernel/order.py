"""Order: a problem and all that the caller may choose about its kernel, checked before it is compiled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from imbrex.chip import gpus
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.kernel.goal import Goal
from imbrex.problem import Conv2d, Gemm, Problem, parse_problem
from imbrex.problem.conv import Direction
from imbrex.run.cpu import thread_count

if TYPE_CHECKING:  # the compiler's own module; a warm start goes without
    from imbrex.config.tiles import TileSchedule
    from imbrex.config.tuning import Tuning

__all__ = ["ALGORITHMS", "Order", "default_name", "expected_algorithm", "ordered"]

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
PLAIN = ("v4r4", "v4r1", "v1r1")
"""Those that every target has."""
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
HOPPER = (
    "halo", "interleaved", "shared_phases", "shared_phases_last", "input_last", "output_last", "whole_images",
)  # fmt: skip
"""Those of warpgroups only."""
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "reads in place": ("v4r4", "v4r1", "v1r1", "halo", "whole_images", "interleaved", "shared_phases"),
    "packs what it reads": (
        "channels_last", "input_last", "output_last", "channel_vectors", "merged_groups", "window_rows",
        "shared_phases_last",
    ),
    "packs the result, too": ("all_last",),
}  # fmt: skip
"""Of convolutions, by what is copied."""
COUNTED = ("merged_groups", "whole_images", "halo")
"""With a colon and a number, of groups or of positions."""
ALIGNED = "aligned"
DATA_TILED = "data_tiled"
"""Alone, or with a colon and the name of a tile kernel."""
PRODUCTS = ("direct", ALIGNED, DATA_TILED)
"""Of products."""
_EXECUTED_PER_SECOND: Final = 5e7
"""Multiply-adds that the emulator of instructions executes in a second, measured with f16 and f32."""
_MOST_EXECUTED_S: Final = 600
MOST_LETTERS: Final = 160
"""Of a name, to which files and kernels add some."""


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
        """What is asked for, in a line: how source is written, for which chip, under which name."""
        chosen = f"tuning={self.tuning} algorithm={self.algorithm} schedule={self.schedule}"
        return f"source={self.goal.source} chip={self.goal.chip} {chosen} name={self.name}"


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
    if goal.is_executed:
        _expect_small(given)
    return Order(
        given, goal, _text(tuning), thread_count(threads), expected_algorithm(given, goal, algorithm),
        _identifier(name or default_name(given)), None if schedule is None else str(schedule),
    )  # fmt: skip


def _expect_small(problem: Problem) -> None:
    """A Diagnostic where a code object would be executed for longer than anybody waits."""
    seconds = problem.flops / 2 / _EXECUTED_PER_SECOND
    if seconds > _MOST_EXECUTED_S:
        message = f"executing its instructions would take about {seconds / 60:.0f} minutes"
        hint = f"a smaller problem shows the same; {_MOST_EXECUTED_S // 60} minutes are the most"
        raise Diagnostic(message, hint=f"{hint}, and --emulate alone is faster")


def default_name(problem: Problem) -> str:
    """`conv2d_forward`, `gemm`: what a kernel is called unless told otherwise."""
    return f"conv2d_{problem.direction}" if isinstance(problem, Conv2d) else "gemm"


def _one(problem: Problem | str) -> Problem:
    if isinstance(problem, Conv2d | Gemm):
        return problem
    if not isinstance(problem, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"'problem' should be a problem or the text of one, got {type(problem).__name__}")
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
    from imbrex.config.tuning import Tuning, text

    if not isinstance(tuning, Tuning):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"'tuning' should be a tuning or the text of one, got {type(tuning).__name__}")
    return text(tuning)


def _of_product(problem: Problem, goal: Goal, wanted: str) -> str:
    word = wanted.partition(":")[0]
    if not isinstance(problem, Gemm):
        raise Diagnostic(f"algorithm '{wanted}' is one of a product, this is a convolution")
    if word == ALIGNED and not goal.is_of_nvidia:
        message = f"algorithm '{wanted}' copies for tensor maps, and target '{goal}' has none"
        raise Diagnostic(message, hint=f"name {' or '.join(gpus('NVIDIA'))}, or leave the algorithm out")
    if word == DATA_TILED and goal.chip is None:
        message = f"algorithm '{wanted}' packs for matrix instructions, and target '{goal}' has none"
        raise Diagnostic(message, hint="name a GPU such as gfx942, or emulate")
    if word == DATA_TILED and goal.is_of_nvidia:
        message = f"algorithm '{wanted}' packs tiles for AMD's matrix instructions, '{goal}' has tensor maps"
        raise Diagnostic(message, hint="leave the algorithm out, and matrices are read where they are")
    return wanted


def expected_algorithm(problem: Problem, goal: Goal, wanted: str | None) -> str | None:
    """`wanted`; a Diagnostic where the problem or the target has no such algorithm."""
    if wanted is None:
        return None
    if wanted in PRODUCTS or wanted.partition(":")[0] == DATA_TILED:
        return _of_product(problem, goal, wanted)
    word, _, count = wanted.partition(":")
    if word not in ALGORITHMS or bool(count) != (word in COUNTED):
        hint = did_you_mean(wanted, (*ALGORITHMS, *PRODUCTS)) or _there(problem, goal)
        raise Diagnostic(f"unknown algorithm '{wanted}'", hint=hint)
    if not isinstance(problem, Conv2d) or problem.direction not in ALGORITHMS[word]:
        raise _elsewhere(problem, word, goal)
    if word in PACKING and goal.chip is None:
        message = f"algorithm '{wanted}' packs for matrix instructions, and target '{goal}' has none"
        raise Diagnostic(message, hint="name a GPU such as gfx942, or emulate")
    if wanted == "v1r1" and problem.dtype.output != problem.dtype.accumulator:
        raise Diagnostic(
            f"algorithm 'v1r1' adds products in memory, where every sum would be rounded to {problem.dtype}",
            hint="v4r1 sums in registers",
        )
    return wanted


def _elsewhere(problem: Problem, wanted: str, goal: Goal) -> Diagnostic:
    """An algorithm of other problems."""
    own = ALGORITHMS[wanted]
    if not isinstance(problem, Conv2d):
        of = own[0] if len(own) == 1 else "a convolution"
        return Diagnostic(f"algorithm '{wanted}' is one of {of.replace('_', ' ')}, this is a product")
    words = [direction.replace("_", " ") for direction in (*own, problem.direction)]
    message = f"algorithm '{wanted}' is one of {' and '.join(words[:-1])}, this is {words[-1]}"
    return Diagnostic(message, hint=_there(problem, goal))


def _there(problem: Problem, goal: Goal) -> str:
    """What there is for a problem on a target, by what it does."""
    if isinstance(problem, Gemm):
        more = f", {ALIGNED}" if goal.is_cuda else f", {DATA_TILED}[:TILE_KERNEL]" if goal.chip else ""
        return f"a product on {goal} has direct{more}"
    found: list[str] = []
    for what, names in GROUPS.items():
        if what != "reads in place" and goal.chip is None:
            continue
        own = [
            f"{name}:COUNT" if name in COUNTED else name
            for name in names
            if problem.direction in ALGORITHMS[name] and (goal.is_cuda or name not in HOPPER)
        ]
        found += [f"{what}: {', '.join(own)}"] if own else []
    return f"{problem.direction.replace('_', ' ')} on {goal} has, by what it does, {'; '.join(found)}"


def _identifier(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise Diagnostic(f"'{name}' cannot name a function of C; use letters, digits and _")
    if len(name) > MOST_LETTERS:
        message = f"a name of {len(name)} letters is too long for files; use {MOST_LETTERS} at most"
        raise Diagnostic(message)
    return name
