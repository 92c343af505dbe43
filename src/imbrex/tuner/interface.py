"""What Python calls: `imbrex.tune(problems)`, and `imbrex.compile(problem, tune="quick")`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from imbrex.argument import each, positive, text, truth, whole, word
from imbrex.kernel import Kernel
from imbrex.kernel import compile as compiled
from imbrex.kernel.target import Emulate, target_or_named
from imbrex.kernel.tuned import EFFORTS, Effort, expect_effort, tune_first
from imbrex.problem import Problem
from imbrex.run.cpu import thread_count

if TYPE_CHECKING:  # what tunes, and the compiler; a warm call goes without
    from imbrex.build.cache import Cache
    from imbrex.config.configuration import Configuration
    from imbrex.config.tiles import TileSchedule
    from imbrex.config.tuning import Tuning
    from imbrex.kernel import Target
    from imbrex.tuner.outcome import Tuned

__all__ = ["compile", "tune"]


def tune(
    problems: Problem | str | Iterable[Problem | str],
    target: str | Target = "cpu",
    *,
    emulate: Emulate = False,
    threads: int | None = None,
    effort: Effort = "normal",
    trials: int | None = None,
    budget_s: float | None = None,
    devices: Sequence[int] = (),
    jobs: int | None = None,
    ray: str | None = None,
) -> list[Tuned]:
    """The fastest configuration of each problem, measured here and kept for every later call (docs/tune.md).

    - problems: one or several, or texts of some; one that stands several times counts as often.
    - target, emulate, threads: as `compile` takes them; a code object that is executed here has no times.
    - effort: "quick", "normal" or "full": 8, 50 or all configurations of each problem; trials: so many
      instead. budget_s: seconds for all problems together.
    - devices: GPUs by number. jobs: processes that compile. ray: the address of a Ray cluster, whose nodes
      build and time instead of this host.

    One `Tuned` a problem: its `winner`, and `gain`, the model's pick's time over the winner's, 1 where the
    pick stays; times end in `_ns`. A Diagnostic where one of the problems cannot be tuned, after the others
    were.
    """
    from imbrex.database import open_user
    from imbrex.kernel.warm import builders_of, problems_of
    from imbrex.tuner.campaign import Plan, Tuner, weighted
    from imbrex.tuner.cluster import hosts_at
    from imbrex.tuner.outcome import Tuned

    where, count = target_or_named(target, emulate), thread_count(threads)
    word("effort", effort, EFFORTS)
    gpus = [whole("devices", one, 0) for one in each("devices", devices, "numbers of GPUs")]
    processes = None if jobs is None else whole("jobs", jobs, 1)
    plan = Plan(
        weighted(problems_of(problems)), where, count, effort,
        None if trials is None else whole("trials", trials, 1),
        None if budget_s is None else positive("budget_s", budget_s),
        tuple(gpus), processes or builders_of(where),
    )  # fmt: skip
    if ray is not None:
        text("ray", ray, "the address of a cluster")
    with hosts_at(ray, plan, jobs) as hosts:
        found = Tuner(plan, open_user, _unwatched, _unwatched, hosts=hosts).run()
    for one in found:
        if not isinstance(one, Tuned):
            raise one.reason
    return [one for one in found if isinstance(one, Tuned)]


def compile(
    problem: Problem | str,
    target: str | Target = "cpu",
    tuning: Tuning | str | None = None,
    *,
    tune: Effort | None = None,
    emulate: Emulate = False,
    threads: int | None = None,
    algorithm: str | None = None,
    name: str | None = None,
    cache: Cache | None = None,
    schedule: TileSchedule | str | None = None,
    config: Configuration | str | None = None,
    untuned: bool = False,
) -> Kernel:
    """The kernel of `problem` for `target`, from the cache where it is there.

    - problem: a `Conv2d` or `Gemm`, or the text of one (docs/commands.md).
    - target: "cpu"; a level of a CPU's instructions such as "avx2"; a GPU such as "gfx942" or "sm_90a", whose
      kernels run on such a GPU only; or what `imbrex.kernel.target_of` gives.
    - emulate: True runs a GPU's schedule lane by lane on this CPU (docs/emulate.md), AArch64's library in
      QEMU, AMX with tiles in software (docs/cpu.md); "isa" executes AMD's code object itself (docs/amd.md).
      The target "emulate" is that of gfx942.
    - threads: of a CPU, for which the schedule is chosen and which a call uses; all usable cores by default.
    - tuning, algorithm, schedule: parts of what is chosen, each taken as it is or refused with the reasons:
      a tuning's text (docs/tuning.md); how the problem becomes products, such as "channels_last" (the table
      of docs/commands.md); how workgroups share output tiles, "stream_k:64" say, or "auto", the model's
      choice (docs/mapping.md). config: all of them at once, as `Kernel.configuration` has it.
    - untuned: True lets the model choose what is not said. By default, where nothing is said, what was
      measured is used (docs/database.md).
    - tune: "quick", "normal" or "full", the effort with which the problem is tuned on this machine first,
      where that was not done before; then nothing else may be chosen.
    - name: stem of the files; `imbrex_` before it makes the entry point.
    - cache: another than the user's.

    A Diagnostic where the text is no single problem, or no kernel of the target serves it.
    """
    said = {"tuning": tuning, "algorithm": algorithm, "schedule": schedule, "config": config}
    expect_effort(tune, **said, untuned=True if truth("untuned", untuned) else None)
    if tune is not None:
        from imbrex.kernel.warm import problems_of

        for one in problems_of(problem):
            tune_first(one, target_or_named(target, emulate), threads, tune)
    return compiled(
        problem, target, tuning, emulate=emulate, threads=threads, algorithm=algorithm, name=name,
        cache=cache, schedule=schedule, config=config, untuned=untuned,
    )  # fmt: skip


def _unwatched(*events: object) -> None:
    """Nobody looks at the progress."""
