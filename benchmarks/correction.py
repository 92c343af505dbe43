"""Fits the correction of warpgroup tunings (`imbrex.config.warpgroup.correction`) to times of a GPU.

    python benchmarks/correction.py TIMES...
    python benchmarks/correction.py TIMES... --left-out 5
    python benchmarks/correction.py TIMES... -o src/imbrex/config/warpgroup/correction.json

TIMES: tables of benchmarks/times.py and of tests/unit/config/warpgroup/data, databases of `imbrex tune`, or
texts of `imbrex db export` (`imbrex.tuner.time_table`).  It prints how much slower picks are than the fastest
that was timed, by the model alone, by the networks in use (which have seen the tables that their file names),
and with `--left-out N` by networks of N fits, each to all but a part of the problems, on that part.  A fit
needs PyTorch; those of N parts are one, of N times the networks.

What is fitted are differences: of the errors of one problem's tunings the mean is taken off, in the loss
itself, so that networks need not know what a problem as a whole takes.
"""

from __future__ import annotations

import argparse
import json
import sys
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from math import inf, log
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from imbrex.chip import WARPGROUPS
from imbrex.config.algorithm.choice import plain_of
from imbrex.config.algorithm.cost import in_all
from imbrex.config.algorithm.product import Products
from imbrex.config.configuration import DIRECT, Configuration
from imbrex.config.context import GemmContext
from imbrex.config.legal import check
from imbrex.config.outline import outline
from imbrex.config.products import products
from imbrex.config.request import Request
from imbrex.config.tiles import DATA_PARALLEL, TileSchedule
from imbrex.config.warpgroup.correction import (
    FARTHEST,
    FILE,
    NEARLY,
    Networks,
    inputs,
    is_corrected,
    known_of,
    networks_of,
)
from imbrex.config.warpgroup.cost import Scheduled, cycles_of
from imbrex.config.warpgroup.plan import WarpgroupPlan, WarpgroupTuning
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.warpgroup.terms import Terms, terms
from imbrex.diagnostic import Diagnostic
from imbrex.problem import Conv2d, parse_problem
from imbrex.tuner.time_table import Time, times_in

SINCE = {"split_k": "2026-11-30"}
"""Since when kernels of a schedule are as they are: their times before that are left out."""
PADDED_SINCE = "2026-12-01"
"""Since when tiles are stored in rows of 64 bytes, and as many clusters are launched as there are units."""
MOST_COPIED = 0.6
"""The share of a convolution's time that the model's copies may be."""
NEAR_BEST = 6.0
"""The power of its time by which a tuning counts less than the fastest of its problem."""
ALL_COUNT = 0.05
"""What even the slowest counts, where the fastest counts 1 more."""
FITTED = 2.0
"""Cycles over the fewest up to which tunings are fitted."""
NETWORKS, UNITS = 6, 48
"""Of each hidden layer."""
EPOCHS, BATCH = 160, 96
"""Passes over all problems, and problems of a step."""
RATE, DECAY = 3e-3, 9e-2
"""Of AdamW: its highest rate, by one cycle, and its decay of weights."""
BAG = 0.7
"""The share of a step's problems that each network sees."""
ANCHOR = 0.05
"""What the mean of what is said of a problem costs, against the differences."""
LEAST_SCALE, LAST_SCALE = 1e-3, 0.02
"""Of an input, and of the last layer's weights at first."""
PER_CENT = 100
DIGITS = 6
"""Of a mean and a scale."""
LARGE = log(1.1)
"""A regret worth telling of."""


@dataclass(frozen=True)
class Series:
    """One problem's tunings with the logarithms of their times."""

    source: str
    problem: str
    plans: tuple[tuple[WarpgroupPlan, TileSchedule], ...]
    times: np.ndarray[Any, Any]

    @cached_property
    def rows(self) -> np.ndarray[Any, Any]:
        """What networks know of each tuning."""
        return np.concatenate([inputs(terms(Scheduled.of(*pair))) for pair in self.plans])

    @cached_property
    def model(self) -> np.ndarray[Any, Any]:
        """Logarithms of the model's cycles."""
        return np.log(cycles_of(self.plans))

    @cached_property
    def is_fitted(self) -> np.ndarray[Any, Any]:
        """Which are fitted."""
        return np.asarray(self.model <= self.model.min() + log(FITTED))

    @property
    def weights(self) -> np.ndarray[Any, Any]:
        """What each of those counts: the root of the number of the fast ones, in all."""
        times = self.times[self.is_fitted]
        found = np.exp(-NEAR_BEST * (times - times.min())) + ALL_COUNT
        return np.asarray(found * np.sqrt(np.sum(found > 2 * ALL_COUNT)) / found.sum())

    def regret(self, correction: np.ndarray[Any, Any]) -> float:
        """How much slower the pick is than the fastest, as a logarithm."""
        is_near = self.model <= self.model.min() + log(NEARLY)
        least, most = (
            log(each * rates_of(WARPGROUPS).clock_hz) for each in known_of(self.plans[0][0]).seconds
        )
        used = np.where(is_near & (least <= self.model) & (self.model <= most), correction, 0.0)
        return float(self.times[(self.model + used).argmin()] - self.times.min())


def series_of(path: Path) -> Iterator[Series]:
    """All problems of a table or a database that have two tunings and more which are corrected.  A
    convolution's tunings are of all its algorithms, without what those copy.
    """
    timed = defaultdict[tuple[str, int, str], dict[tuple[WarpgroupPlan, TileSchedule], float]](dict)
    for one in times_in(path):
        plan, copied_us = _plan(one)
        if plan is not None and is_corrected(plan) and copied_us <= MOST_COPIED * one.us:
            known, key = timed[one.problem, one.run, one.kind], (plan, one.schedule)
            known[key] = min(one.us - copied_us, known.get(key, inf))
    source = path.name.partition(".")[0]
    for (problem, _, kind), times in timed.items():
        if len(times) > 1:
            name = f"{source}, {kind}" if kind else source
            yield Series(name, problem, tuple(times), np.log([*times.values()]))


def _plan(one: Time) -> tuple[WarpgroupPlan | None, float]:
    """Its plan, None where it is of no interest or not legal today, and the microseconds of its copies."""
    if not isinstance(one.tuning, WarpgroupTuning) or one.when < SINCE.get(one.schedule.mode, ""):
        return None, 0.0
    product = _product(one.problem, one.outlined)
    if product is None or check(one.tuning, product.context, WARPGROUPS):
        return None, 0.0
    plan = one.tuning.plan(product.context)
    if one.when < PADDED_SINCE and has_changed(plan, one.schedule):
        return None, 0.0
    return plan, product.copied_us


def has_changed(plan: WarpgroupPlan, schedule: TileSchedule) -> bool:
    """Was its kernel another one before PADDED_SINCE?"""
    surely = plan.machine.clusters_at_a_time(plan.tuning.cluster)
    is_dealt = schedule.mode == DATA_PARALLEL.mode and surely < plan.clusters
    return is_dealt or plan.b_tile.d != plan.tuning.n_per_block


@dataclass(frozen=True)
class Product:
    """The one product that a problem comes to.  copied_us: what the model says of the copies beside it."""

    context: GemmContext
    copied_us: float


@cache
def _product(text: str, outlined: Configuration | None) -> Product | None:
    """outlined: None for what becomes of a problem where nothing is copied."""
    (problem,) = parse_problem(text)
    request = Request(problem, WARPGROUPS, WARPGROUPS.name)
    of = outlined or outline(request, plain_of(problem) if isinstance(problem, Conv2d) else DIRECT)
    made = products(problem, of, WARPGROUPS)
    if not isinstance(made, Products) or len(made.products) != 1:
        return None
    (found,) = made.products
    copied = in_all(request, of.algorithm, made, 0.0) / rates_of(WARPGROUPS).clock_hz
    return Product(found.context, copied * 1e6)


def fitted(series: Iterable[Series], folds: int = 0, seed: int = 0) -> list[Networks]:
    """Networks of two hidden layers, fitted side by side: to all, and to all but each part of the series."""
    try:
        torch = import_module("torch")
    except ImportError:
        raise Diagnostic("this needs PyTorch", hint="pip install torch") from None
    known = [of for of in series if of.is_fitted.sum() > 1]
    rows = np.concatenate([of.rows[of.is_fitted] for of in known])
    mean, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), LEAST_SCALE)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    drawn, random = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    batches = [of for _ in range(EPOCHS) for of in _batches(random.permutation(len(known)))]
    part = torch.tensor([part_of(of.problem, folds) for of in known])
    seen = torch.stack([part != out for out in (-1, *range(folds)) for _ in range(NETWORKS)])
    hidden, last = _initial(torch, (len(seen), rows.shape[1]), drawn, device)
    biases = [of for _, of in hidden]
    groups = [
        {"params": [*(of for of, _ in hidden), last], "weight_decay": DECAY},
        {"params": biases, "weight_decay": 0.0},
    ]
    descent = torch.optim.AdamW(groups, lr=RATE)
    rate = torch.optim.lr_scheduler.OneCycleLR(descent, RATE, total_steps=len(batches) + 1, pct_start=0.1)
    timed = [_timed(torch, of, mean, scale, device) for of in known]
    for batch in batches:
        is_seen = seen[:, batch] & (torch.rand(len(seen), len(batch), generator=drawn) < BAG)
        loss = _loss(torch, [timed[index] for index in batch], hidden, last, is_seen.float().to(device))
        descent.zero_grad()
        loss.backward()
        descent.step()
        rate.step()

    def array(of: Any, first: int) -> np.ndarray[Any, Any]:
        return np.asarray(of[first : first + NETWORKS].detach().cpu().numpy())

    return [
        Networks(mean, scale, tuple((array(w, at), array(b, at)) for w, b in hidden), array(last, at))
        for at in range(0, len(seen), NETWORKS)
    ]


def part_of(problem: str, folds: int) -> int:
    """Which of so many parts a problem is of, in whatever table."""
    return crc32(problem.encode()) % folds if folds else 0


def _batches(order: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
    return (order[first : first + BATCH] for first in range(0, len(order), BATCH))


def _initial(
    torch: Any, shape: tuple[int, int], drawn: Any, device: str
) -> tuple[list[tuple[Any, Any]], Any]:
    """Weights and biases of the hidden layers, and weights of the last.  shape: networks, and inputs."""
    count, size = shape

    def weights(*shape: int, scale: float) -> Any:
        return (torch.randn(count, *shape, generator=drawn) * scale).to(device).requires_grad_()

    hidden = [
        (
            weights(each, UNITS, scale=each**-0.5),
            torch.zeros(count, 1, UNITS, device=device).requires_grad_(),
        )
        for each in (size, UNITS)
    ]
    return hidden, weights(UNITS, 1, scale=LAST_SCALE)


def _timed(torch: Any, of: Series, mean: Any, scale: Any, device: str) -> tuple[Any, Any, Any]:
    """Inputs of a problem's tunings, what is to be said of them, and what each counts."""
    clipped = np.clip((of.rows[of.is_fitted] - mean) / scale, -FARTHEST, FARTHEST)
    found = (clipped, (of.times - of.model)[of.is_fitted], of.weights)
    return tuple(torch.tensor(each, dtype=torch.float32, device=device) for each in found)  # pyright: ignore


def _loss(torch: Any, timed: Sequence[tuple[Any, Any, Any]], hidden: Any, last: Any, is_seen: Any) -> Any:
    """Squares of errors, each problem's mean taken off, and of the mean of what is said of a problem.
    is_seen: by network and problem.
    """
    said, wanted, weights = (torch.cat(each) for each in zip(*timed, strict=True))
    counts = torch.tensor([len(of) for _, of, _ in timed])
    problem = torch.repeat_interleave(torch.arange(len(timed)), counts).to(said.device)
    in_all = torch.zeros(len(timed), device=said.device).index_add(0, problem, weights)
    for inner, biases in hidden:
        said = torch.nn.functional.silu(said @ inner + biases)
    said = (said @ last)[..., 0]

    def mean_of(values: Any) -> Any:
        zeros = torch.zeros(len(values), len(timed), device=said.device)
        return zeros.index_add(1, problem, values * weights) / in_all

    error = wanted - said
    error = error - mean_of(error)[:, problem]
    anchor = (mean_of(said) ** 2 * in_all).sum()
    return PER_CENT * ((weights * is_seen[:, problem] * error**2).sum() + ANCHOR * anchor) / weights.sum()


def report(series: Sequence[Series], left_out: Sequence[Networks]) -> Iterator[str]:
    """By source, and of all of a size of elements: what picks lose, and how many lose over a tenth."""
    in_use, folds = networks_of(FILE), len(left_out)
    lost = defaultdict[str, list[list[float]]](list)
    for of in series:
        part = part_of(of.problem, folds)
        said = [model.predicted(of.rows) for model in (in_use, *left_out[part : part + 1])]
        regrets = [of.regret(each) for each in (np.zeros(len(of.times)), *said)]
        for name in (of.source, f"all of {of.plans[0][0].context.dtype.bits} bits"):
            lost[name].append(regrets)
    yield "problems, what picks lose by the model, by networks in use" + ", left out" * bool(folds)
    for name, regrets in sorted(lost.items(), key=lambda each: each[0].startswith("all")):
        means = ", ".join(f"{each:.2%}" for each in np.mean(regrets, axis=0))
        many = ", ".join(str(each) for each in (np.array(regrets) > LARGE).sum(axis=0))
        yield f"{name}: {len(regrets)} problems, {means}; over a tenth {many}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("times", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--left-out", type=int, default=0, metavar="N")
    options = parser.parse_args()
    try:
        series = [of for path in options.times for of in series_of(path)]
        print(f"{len(series)} problems, {sum(len(of.times) for of in series)} times")
        networks = fitted(series, options.left_out) if options.output or options.left_out else []
        if options.output:
            written(options.output, options.times, series, networks[0])
        print(*report(series, networks[1:]), sep="\n")
    except Diagnostic as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def written(output: Path, times: Iterable[Path], series: Sequence[Series], networks: Networks) -> None:
    """The networks with where they come from."""
    layers = [each for pair in networks.hidden for each in pair] + [networks.last]
    read = {
        "source": f"{len(series)} problems of {', '.join(path.name for path in times)}",
        "terms": list(Terms._fields),
        "mean": [float(f"{each:.{DIGITS}g}") for each in networks.mean],
        "scale": [float(f"{each:.{DIGITS}g}") for each in networks.scale],
        "layers": [
            {"shape": each.shape, "float16": b64encode(each.astype("<f2").tobytes()).decode()}
            for each in layers
        ],
    }
    text = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in read.items())
    output.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
