"""Options that several commands share, and the requests that they make."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, TypeVar

import click

from imbrex.cached import cached_property
from imbrex.chip import CPU_ISAS, WAVES, gpus
from imbrex.cli.progress import progress
from imbrex.cli.skipped import Skipped
from imbrex.cli.source import ProblemEntry, problems_of
from imbrex.config.algorithm.table import ALGORITHMS, Needs, row_of
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Emulate, Kernel, Target, compile, target_of
from imbrex.kernel.constraints import Constraints
from imbrex.kernel.options import CompileOptions, options_of
from imbrex.problem import problem_text
from imbrex.run.cpu import MOST_THREADS, thread_count

__all__ = [
    "Choices", "choices", "config_option", "emulate_option", "format_option", "keep_going_option", "seconds",
    "sources", "target_option", "untuned_option",
]  # fmt: skip


def _named(is_of_product: bool, *machines: Needs) -> str:
    """The algorithms of convolutions, or of products, that need this of a machine."""
    rows = (row for row in ALGORITHMS if (row.of == ("product",)) == is_of_product)
    return ", ".join(row.spelled for row in rows if row.machine in machines)


ALGORITHMS_HELP = (
    "How the problem becomes matrix products; the model chooses by default.  Of a convolution: "
    f"{_named(False, 'any')}; on CPUs also {_named(False, 'CPU')}; on GPUs also "
    f"{_named(False, 'GPU', 'matrix instructions')}; on sm_90a also {_named(False, 'warpgroups')}; on AMD's "
    f"GPUs also {_named(False, 'waves')}.  Of a product: {_named(True, 'any')}; on sm_90a also "
    f"{_named(True, 'warpgroups')}; on AMD's GPUs also {_named(True, 'waves')}."
)
SCHEDULES_HELP = (
    "How N workgroups share output tiles: data_parallel (default, one a tile), split_k, stream_k, two_tile, "
    "two_tile_dp_first, on AMD GPUs reduce_k, scatter_k; auto lets a model choose.  "
    "cluster_k:N on sm_90a: a cluster of 2, 4 or 8 for each "
    "tile.  Ending in /wgm=N, /along=n, /xcd=N: in which order."
)
F = TypeVar("F", bound=Callable[..., Any])

format_option = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", help="How to print the result."
)


def _skipped(ctx: click.Context, param: click.Parameter, value: bool) -> Skipped:
    return Skipped(value)


keep_going_option = click.option(
    "--keep-going",
    "skipped",
    is_flag=True,
    callback=_skipped,
    help="Skip lines that cannot be read or served, and list them at the end.",
)


def seconds(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """A callback for a time, 0 or more."""
    if not 0 <= value < math.inf:
        raise click.BadParameter(f"{value} is no number of seconds", ctx, param)
    return value


sources = click.argument("sources", nargs=-1, required=True, metavar="PROBLEM...")


@dataclass(frozen=True)
class Choices:
    """What the command line says about every kernel.  target_names: None where it says nothing."""

    target_names: str | None
    emulate: Emulate
    threads: int
    layout: str | None
    said: Constraints
    untuned: bool = False

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """One for each target that is named."""
        default = "emulate" if self.emulate else "cpu"
        words = dict.fromkeys((default if self.target_names is None else self.target_names).split(","))
        return tuple(target_of(word, self.emulate) for word in words)

    @property
    def target(self) -> Target:
        """Target of a command that takes one."""
        one, *others = self.targets
        if others:
            message = f"--target takes one name here, got '{self.target_names}'"
            raise Diagnostic(message, hint="'build' takes several, but for --library")
        return one

    def problems(self, given: Sequence[str], skipped: Skipped | None = None) -> list[ProblemEntry]:
        """Problems as these targets have them, each once.  skipped: takes those that cannot be read."""
        chips = {target.chip for target in self.targets}
        return problems_of(given, self.layout, chips, skipped or Skipped())

    def kernel(self, entry: ProblemEntry, name: str | None = None, target: Target | None = None) -> Kernel:
        """Compiled, or from the cache.  target: of several."""
        wanted = target or self.target
        with progress(f"compiling {problem_text(entry.problem)} for {wanted}"):
            return compile(
                entry.problem,
                wanted,
                threads=self.threads,
                name=name or entry.name,
                untuned=self.untuned,
                **self.constraints(entry).said,
            )

    def options(self, entry: ProblemEntry) -> CompileOptions:
        """What its kernel is compiled by."""
        said = self.constraints(entry)
        return options_of(entry.problem, self.target, said, self.threads, entry.name, self.untuned)

    def constraints(self, entry: ProblemEntry) -> Constraints:
        """What is said, with the algorithm of the option, or of the problem's line, unless it is of another
        direction only: so it serves a line of three directions.
        """
        wanted = entry.algorithm if self.said.algorithm is self.said.config is None else self.said.algorithm
        direction = getattr(entry.problem, "direction", None)
        row = row_of(wanted)
        is_elsewhere = row is not None and row.of != ("product",) and direction not in row.of
        return replace(self.said, algorithm=None if direction and is_elsewhere else wanted)


def choices(function: F) -> F:
    """--target, --emulate, --tuning, --threads, --layout, --algorithm, --schedule, --config, --untuned, as
    one argument `chosen`.
    """

    @wraps(function)
    def command(
        target: str | None,
        emulate: Emulate,
        tuning: str | None,
        threads: int | None,
        layout: str | None,
        algorithm: str | None,
        schedule: str | None,
        config: str | None,
        untuned: bool,
        **rest: Any,
    ) -> Any:
        said = Constraints(tuning, algorithm, schedule, config)
        chosen = Choices(target, emulate, _threads(threads), layout, said, untuned)
        return function(chosen=chosen, **rest)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command  # type: ignore[return-value]


target_option = click.option(
    "--target",
    metavar="NAME",
    help=f"cpu (default), {', '.join((*gpus(), *CPU_ISAS))}; emulate is {WAVES.name} with --emulate.",
)
EMULATIONS: dict[str | None, Emulate] = {None: False, "lanes": True, "isa": "isa"}


def _emulation(ctx: click.Context, param: click.Parameter, value: str | None) -> Emulate:
    return EMULATIONS[value]


emulate_option = click.option(
    "--emulate",
    type=click.Choice(["lanes", "isa"]),
    metavar="[=isa]",
    callback=_emulation,
    help=(
        "A GPU's schedule, lane by lane, on this CPU, or another CPU's library, in QEMU or with "
        "tiles in software; =isa: AMD's code object, instruction by instruction."
    ),
)
config_option = click.option(
    "--config",
    metavar="TEXT",
    help="All that may be chosen, as 'run' and 'explain' print it: v2:v4r4+...",
)
untuned_option = click.option(
    "--untuned", is_flag=True, help="Leave what was measured before aside; the model chooses."
)
_OPTIONS = (
    target_option,
    emulate_option,
    click.option(
        "--tuning", metavar="TEXT", help='A tuning, such as "v1:cpu:8,48,...", instead of the chosen one.'
    ),
    click.option(
        "--threads",
        type=click.IntRange(max=MOST_THREADS),
        metavar="N",
        help="Threads; all usable cores by default.",
    ),
    click.option(
        "--layout",
        metavar="ORDER",
        help="Order of the images' dimensions, such as NHWC; filter and result follow.",
    ),
    click.option("--algorithm", metavar="NAME", help=ALGORITHMS_HELP),
    click.option("--schedule", metavar="MODE[:N][/...]", help=SCHEDULES_HELP),
    config_option,
    untuned_option,
)


def _threads(given: int | None) -> int:
    try:
        return thread_count(given)
    except ValueError as error:
        raise Diagnostic(str(error)) from None
