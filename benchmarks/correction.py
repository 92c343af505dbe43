"""Fits the correction of warpgroup tunings (`imbrex.config.warpgroup.correction`) to times of a GPU.

    python benchmarks/correction.py TIMES... -o src/imbrex/config/warpgroup/correction.json
    python benchmarks/correction.py TIMES... --left-out 5

TIMES: tables of tests/unit/config/warpgroup/data, databases of `imbrex tune`, or texts of `imbrex db export`,
as they are or by gzip.  `--left-out N` fits N times, a part of the problems left out at a time, and prints
how much slower picks of those are than the fastest that was timed.  It needs scikit-learn.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from imbrex.chip import WARPGROUPS
from imbrex.config import configuration
from imbrex.config.algorithm.product import Products
from imbrex.config.legal import check
from imbrex.config.outline import outline
from imbrex.config.products import products
from imbrex.config.request import Request
from imbrex.config.tiles import TileSchedule
from imbrex.config.tiles import parse as schedule_of
from imbrex.config.tuning import parse
from imbrex.config.warpgroup.correction import CORRECTED_S, NEARLY, Terms, is_corrected, terms
from imbrex.config.warpgroup.cost import schedule_cycles
from imbrex.config.warpgroup.plan import WarpgroupPlan, WarpgroupTuning
from imbrex.config.warpgroup.rates import rates_of
from imbrex.database.record import Trial
from imbrex.database.view import rows_in
from imbrex.diagnostic import Diagnostic
from imbrex.problem import Conv2d, parse_problem

NEAR_BEST = 6.0
"""The power of its time by which a tuning counts less than the fastest of its problem."""
ALL_COUNT = 0.05
"""What even the slowest counts, against the mean."""
DIGITS = 4
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
    def terms(self) -> np.ndarray[Any, Any]:
        return np.array([terms(*pair) for pair in self.plans], dtype=np.float64)

    @cached_property
    def model(self) -> np.ndarray[Any, Any]:
        """Logarithms of the model's cycles."""
        return np.log([schedule_cycles(*pair) for pair in self.plans])

    @cached_property
    def weights(self) -> np.ndarray[Any, Any]:
        """1 in all."""
        found = np.exp(-NEAR_BEST * (self.times - self.times.min()))
        return np.asarray(found / found.sum())

    @cached_property
    def residuals(self) -> np.ndarray[Any, Any]:
        """The logarithm of time over cycles, less its mean."""
        found = self.times - self.model
        return np.asarray(found - (self.weights * found).sum())

    def regret(self, correction: np.ndarray[Any, Any]) -> float:
        """How much slower the pick is than the fastest, as a logarithm."""
        is_near = self.model <= self.model.min() + log(NEARLY)
        least, most = (log(each * rates_of(WARPGROUPS).clock_hz) for each in CORRECTED_S)
        used = np.where(is_near & (least <= self.model) & (self.model <= most), correction, 0.0)
        return float(self.times[(self.model + used).argmin()] - self.times.min())


def series_of(path: Path) -> Iterator[Series]:
    """All problems of a table or a database that are corrected and have two tunings and more."""
    found = _of_table(path) if path.suffix == ".json" else _of_database(path)
    timed = defaultdict[tuple[str, int], dict[tuple[WarpgroupTuning, TileSchedule], float]](dict)
    for problem, run, tuning, schedule, us in found:
        if isinstance(tuning, WarpgroupTuning):
            known = timed[problem, run]
            known[tuning, schedule] = min(us, known.get((tuning, schedule), us))
    for (problem, _), times in timed.items():
        context = _context(problem)
        legal = {key: us for key, us in times.items() if not check(key[0], context, WARPGROUPS)}
        plans = tuple((tuning.plan(context), schedule) for tuning, schedule in legal)
        if len(plans) > 1 and is_corrected(plans[0][0]):
            yield Series(path.name.partition(".")[0], problem, plans, np.log([*legal.values()]))


Time: TypeAlias = tuple[str, int, Any, TileSchedule, float]
"""Problem, the run that a time compares within, tuning, schedule, us."""


def _of_table(path: Path) -> Iterator[Time]:
    for run, row in enumerate(json.loads(path.read_text(encoding="utf-8"))["series"]):
        for tuning, schedule, us in row["measured"]:
            yield row["problem"], run, parse(f"v1:warpgroup:{tuning}"), schedule_of(schedule), us


def _of_database(path: Path) -> Iterator[Time]:
    if path.suffix == ".gz":
        with tempfile.NamedTemporaryFile(suffix=".txt") as file:
            file.write(gzip.decompress(path.read_bytes()))
            file.flush()
            rows = rows_in(Path(file.name))
    else:
        rows = rows_in(path)
    for unit, record in rows:
        if isinstance(record, Trial) and record.status == "ok" and record.median_ns:
            chosen = configuration.parse(record.configuration)
            if chosen.algorithm in ("direct", "v4r4", "v4r1") and len(chosen.products) == 1:
                (product,) = chosen.products
                yield unit.problem, 0, product.tuning, product.schedule, record.median_ns / 1e3


def _context(text: str) -> Any:
    """The one product that a problem comes to where nothing is copied."""
    (problem,) = parse_problem(text)
    plain = "v4r1" if isinstance(problem, Conv2d) and problem.direction == "backward_data" else "v4r4"
    algorithm = plain if isinstance(problem, Conv2d) else "direct"
    made = products(problem, outline(Request(problem, WARPGROUPS, WARPGROUPS.name), algorithm), WARPGROUPS)
    assert isinstance(made, Products)
    (found,) = made.products
    return found.context


def fitted(series: Sequence[Series]) -> Any:
    """Boosted trees."""
    try:
        from sklearn.ensemble import GradientBoostingRegressor
    except ImportError:
        raise Diagnostic("this needs scikit-learn", hint="pip install scikit-learn") from None
    model = GradientBoostingRegressor(
        n_estimators=200, learning_rate=0.06, max_depth=6, max_leaf_nodes=16, min_samples_leaf=25,
        subsample=0.6, max_features=0.5, random_state=0,
    )  # fmt: skip
    weights = np.concatenate([of.weights * np.sqrt(np.sum(of.weights > 0.01)) for of in series])
    x, y = np.concatenate([of.terms for of in series]), np.concatenate([of.residuals for of in series])
    return model.fit(x, y, sample_weight=weights + ALL_COUNT * weights.mean())


def nodes(model: Any) -> list[Any]:
    """The trees as `correction` reads them; what all begin with ranks nothing."""
    return [_node(one[0].tree_, 0, model.learning_rate) for one in model.estimators_]


def _node(tree: Any, at: int, rate: float) -> Any:
    if tree.children_left[at] < 0:
        return round(rate * float(tree.value[at][0][0]), DIGITS + 1)
    low, high = (_node(tree, below[at], rate) for below in (tree.children_left, tree.children_right))
    return [int(tree.feature[at]), float(f"{tree.threshold[at]:.{DIGITS}g}"), low, high]


def left_out(series: Sequence[Series], folds: int) -> Iterator[tuple[str, int, float, float, int, int]]:
    """By source: problems, regret without and with a correction that has not seen them, and how many of them
    are over a tenth.
    """
    before, after = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    names = sorted({of.problem for of in series})
    for fold in range(folds):
        out = set(names[fold::folds])
        model = fitted([of for of in series if of.problem not in out])
        for of in series:
            if of.problem in out:
                before[of.source].append(of.regret(np.zeros(len(of.times))))
                after[of.source].append(of.regret(model.predict(of.terms)))
    for source in before:
        many = [sum(each > LARGE for each in found[source]) for found in (before, after)]
        yield (
            source,
            len(before[source]),
            float(np.mean(before[source])),
            float(np.mean(after[source])),
            *many,
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("times", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--left-out", type=int, metavar="N")
    options = parser.parse_args()
    try:
        series = [of for path in options.times for of in series_of(path)]
        print(f"{len(series)} problems, {sum(len(of.times) for of in series)} times")
        if options.left_out:
            for source, count, before, after, *many in left_out(series, options.left_out):
                print(f"{source}: {count} problems, {before:.2%} -> {after:.2%}, over a tenth {many}")
        if options.output:
            written(options.output, options.times, series)
    except Diagnostic as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def written(output: Path, times: Iterable[Path], series: Sequence[Series]) -> None:
    """The trees with where they come from."""
    head = {
        "source": f"{len(series)} problems of {', '.join(path.name for path in times)}",
        "terms": list(Terms._fields),
    }
    trees = ",\n".join(json.dumps(tree, separators=(",", ":")) for tree in nodes(fitted(series)))
    text = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items())
    output.write_text(f'{{\n{text},\n"trees": [\n{trees}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
