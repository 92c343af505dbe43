"""Times: configurations of products and convolutions, chosen apart from each other, compiled by several
processes, and timed in turn on the GPU that is here.  A model is fitted to how those of one problem differ.

    a product -> its configurations, compiled (several processes) -> checked, then timed in turn (one process)

Laws: nothing is timed before its result is right.  What hangs or crashes costs its own configuration only:
the others of its product are timed again, each by itself.  A product and its seed decide what is chosen.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass, field, replace
from importlib import import_module
from random import Random
from types import UnionType
from typing import Any, Final, TypeAlias

from imbrex.bench.gpu.replay import Replay, recorded, replay_contest
from imbrex.bench.gpu.rotation import Rotation, rotation
from imbrex.config.candidates import Candidate, candidates
from imbrex.config.configuration import DIRECT, Configuration
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.halo.plan import WindowTuning
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Kernel, compile, target_of
from imbrex.problem import Gemm, parse_problem
from imbrex.run.host_machine import host_machine
from imbrex.run.isolated import Failed, Isolated
from imbrex.run.workers import Workers
from imbrex.tuner.campaign import request_of
from imbrex.tuner.worker import wrong_on_gpu

__all__ = ["Product", "Timed", "apart", "times"]

FARTHEST: Final = 1.6
"""Cycles over the pick's up to which configurations are chosen."""
BY_MODEL: Final = 0.5
"""The share of configurations that are the model's next; the others are chosen by lot."""
MATRIX_UNIT: Final = WarpgroupTuning | WindowTuning
VECTOR_UNIT: Final = GeneralTuning
"""Tunings of what multiplies: candidates are of the pick's."""
NEARER: Final = 3.0
"""The power of a number by lot that is a place among the others, the cheapest first."""
FAMILIES: Final = ("data_parallel", "split_k", "cluster_k")
"""Schedules that are a family of their own; those that deal all steps evenly are one together."""
PREPARE_S: Final = 180.0
TURN_S: Final = 15.0
"""Seconds until a process that compiles, or one that times, is taken to hang."""

Reasons: TypeAlias = dict[str, str]
"""What is wrong, by configuration; by "" of a product as a whole."""


@dataclass(frozen=True)
class Product:
    """A problem's text.  count: of the configurations to be timed.  seconds: of all of them in turn."""

    problem: str
    target: str
    count: int
    seed: int
    seconds: float


@dataclass(frozen=True)
class Prepared:
    """Configurations whose kernels lie in the cache, the model's pick first."""

    product: Product
    configurations: tuple[str, ...]
    refused: Reasons


@dataclass(frozen=True)
class Timed:
    """Microseconds by configuration, the model's pick first; why others have none."""

    product: Product
    microseconds: dict[str, float] = field(default_factory=dict[str, float])
    refused: Reasons = field(default_factory=dict[str, str])


def times(
    products: Sequence[Product], jobs: int, until: float, *, only_compile: bool = False
) -> Iterator[Timed]:
    """What came of each product, in the order in which they end; without those that have not ended at
    `until`, of time.monotonic's seconds.
    """
    with Workers[Product, Prepared](prepared, jobs, PREPARE_S) as workers, Isolated(timed) as gpu:
        waiting = {workers.submit(one): one for one in products}
        for future in _ended(waiting, until):
            found = future.result()
            if isinstance(found, Failed):
                yield Timed(waiting[future], refused={"": _reason(found)})
            elif only_compile:
                yield Timed(found.product, dict.fromkeys(found.configurations, 0.0), found.refused)
            else:
                yield _timed_by(gpu, found)


def _ended(
    waiting: Mapping[Future[Prepared | Failed], Product], until: float
) -> Iterator[Future[Prepared | Failed]]:
    try:
        for future in as_completed(waiting, max(0.0, until - time.monotonic())):
            if time.monotonic() >= until:
                return
            yield future
    except TimeoutError:
        return


def _timed_by(gpu: Isolated, found: Prepared) -> Timed:
    """Times of all in turn; where one of them breaks the process, of each alone."""
    limit_s = TURN_S + found.product.seconds
    together: Timed | Failed = gpu(found, limit_s)
    if isinstance(together, Timed):
        return together
    microseconds, refused = dict[str, float](), dict(found.refused)
    for each in found.configurations:
        alone: Timed | Failed = gpu(replace(found, configurations=(each,)), limit_s)
        if isinstance(alone, Failed):
            refused[each] = _reason(alone)
        else:
            microseconds |= alone.microseconds
            refused |= alone.refused
    return Timed(found.product, microseconds, refused)


def _reason(failed: Failed) -> str:
    return f"{failed.kind}: {failed.message}"


def prepared(product: Product) -> Prepared:
    """Chooses and compiles: what a process of its own does."""
    (problem,) = parse_problem(product.problem)
    target = target_of(product.target)
    algorithm = DIRECT if isinstance(problem, Gemm) else None
    request = replace(request_of(problem, target, 1, host_machine()), algorithm=algorithm)
    chosen = apart(candidates(request).ranked, product.count, Random(product.seed))
    refused = dict[str, str]()
    for each in chosen:
        text = str(each.configuration)
        try:
            compile(problem, target, config=text)
        except Diagnostic as error:
            refused[text] = error.message
    texts = [str(each.configuration) for each in chosen]
    return Prepared(product, tuple(text for text in texts if text not in refused), refused)


def apart(ranked: Sequence[Candidate], count: int, random: Random) -> list[Candidate]:
    """So many of a problem's candidates up to FARTHEST: the pick, the cheapest of each algorithm and family
    of schedules, the cheapest of other tiles, and others by lot, cheaper ones rather.
    """
    unit = MATRIX_UNIT if _is_of(ranked[0], MATRIX_UNIT) else VECTOR_UNIT
    near = [one for one in ranked if _is_of(one, unit) and one.cycles <= FARTHEST * ranked[0].cycles]
    kinds = dict[Any, Candidate]()
    for one in near:
        kinds.setdefault((*_tile(one), _family(one), _cluster(one)), one)
    every = list(kinds.values())
    firsts = {_family(one): one for one in reversed(every)}
    chosen = dict.fromkeys([*every[:1], *sorted(firsts.values(), key=every.index)][:count])
    known = {(_tile(one), _family(one)) for one in chosen}
    for one in every:
        if len(chosen) >= BY_MODEL * count:
            break
        if (_tile(one), _family(one)) not in known:
            known.add((_tile(one), _family(one)))
            chosen[one] = None
    left = [one for one in every if one not in chosen]
    while left and len(chosen) < count:
        chosen[left.pop(int(random.random() ** NEARER * len(left)))] = None
    return list(chosen)


def _is_of(one: Candidate, unit: type | UnionType) -> bool:
    """Does it have a product of this unit?  Convolutions have candidates of neither, as well."""
    return any(isinstance(each.tuning, unit) for each in one.configuration.products)


def _tile(one: Candidate) -> tuple[Any, ...]:
    tuning = one.configuration.products[0].tuning
    if not isinstance(tuning, WarpgroupTuning):
        return _algorithm(one), tuning
    return _algorithm(one), tuning.m_per_block, tuning.n_per_block, tuning.swapped


def _cluster(one: Candidate) -> tuple[int, int, bool] | None:
    tuning = one.configuration.products[0].tuning
    if not isinstance(tuning, WarpgroupTuning):
        return None
    return tuning.cluster_m, tuning.cluster_n, tuning.pingpong


def _family(one: Candidate) -> tuple[Configuration, str]:
    mode = one.configuration.products[0].schedule.mode
    return _algorithm(one), mode if mode in FAMILIES else "even"


def _algorithm(one: Candidate) -> Configuration:
    """How the problem becomes products, whatever multiplies them."""
    return replace(one.configuration, products=())


def timed(found: Prepared) -> Timed:
    """Checks and times: what the process that has the GPU does."""
    torch: Any = import_module("torch")
    product = found.product
    (problem,) = parse_problem(product.problem)
    kernels = {each: compile(problem, product.target, config=each) for each in found.configurations}
    wrong = {each: reason for each, kernel in kernels.items() if (reason := wrong_on_gpu(kernel))}
    turning = rotation(problem, torch.device("cuda"))
    replays = {each: _replay(kernel, turning) for each, kernel in kernels.items() if each not in wrong}
    contest = replay_contest(replays, product.seconds) if replays else {}
    microseconds = {each: contest[each].median_ns / 1e3 for each in replays}
    del replays, turning
    torch.cuda.empty_cache()
    return Timed(product, microseconds, found.refused | wrong)


def _replay(kernel: Kernel, turning: Rotation) -> Replay:
    arrays = [[tensors[o.role] for o in kernel.problem.operands] for tensors in turning.sets]
    return recorded([lambda mine=mine: kernel(*mine) for mine in arrays])
