"""The correction of warpgroup tunings: what its trees are, what it leaves alone, and what it gains on times
that are in the repository.

`data/hopper_h200_duels.json` has two tunings of each of 109 problems of the benchmark's sets, the model's
pick and an earlier correction's, timed in turn; no correction was fitted to them.  What it gains on problems
that were left out of a fit, `benchmarks/correction.py --left-out` says (docs/history.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from math import exp, log
from pathlib import Path
from typing import Any

import pytest
from tests.unit.config.warpgroup.test_measured import LOTS, product_of

from imbrex.chip import WARPGROUPS, parameters, with_parameters
from imbrex.config.context import GemmContext
from imbrex.config.tiles import DATA_PARALLEL
from imbrex.config.tiles import parse as schedule
from imbrex.config.tuning import parse
from imbrex.config.warpgroup import correction
from imbrex.config.warpgroup.choice import every, offers
from imbrex.config.warpgroup.correction import NEARLY, Terms, corrected, log_correction, terms
from imbrex.config.warpgroup.cost import Priced, schedule_cycles
from imbrex.config.warpgroup.plan import WarpgroupPlan, WarpgroupTuning
from imbrex.config.warpgroup.space import warpgroup_space

DUELS = LOTS.with_name("hopper_h200_duels.json")
PLAIN = "gemm -t f16 -m 1304 -n 1624 -k 232 -transA 0 -transB 1"
WINDOWS = (
    "convfp16 -n 8 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -g 1 -F 1 "
    "-f NHWC -I NHWC -O NHWC"
)


def plans(text: str, count: int = 40) -> list[WarpgroupPlan]:
    product = product_of(text)
    return [tuning.plan(product) for tuning in list(warpgroup_space(product, WARPGROUPS))[:count]]


def leaves(node: Any) -> Iterator[float]:
    if isinstance(node, list):
        term, _, low, high = node
        assert 0 <= term < len(Terms._fields)
        yield from leaves(low)
        yield from leaves(high)
    else:
        yield node


def test_trees_are_of_the_terms_and_say_little_each() -> None:
    read = json.loads(correction.FILE.read_text())
    assert read["terms"] == list(Terms._fields) and len(read["trees"]) >= 50
    assert all(max(map(abs, leaves(tree))) < log(1.25) for tree in read["trees"])


def test_a_leaf_is_found_by_the_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first tree asks for stages, then for columns; the second adds a constant."""
    stages, columns = Terms._fields.index("stages"), Terms._fields.index("columns")
    trees = [[stages, 4.5, -0.25, [columns, 7.0, 0.5, 0.75]], 0.125]
    monkeypatch.setattr(correction, "_trees", lambda: trees)
    correction._log_correction.cache_clear()  # pyright: ignore[reportPrivateUsage]
    found = {
        (p.tuning.stages <= 4, p.tuning.n_per_block <= 128): log_correction(p, DATA_PARALLEL)
        for p in plans(PLAIN, 2000)
    }
    correction._log_correction.cache_clear()  # pyright: ignore[reportPrivateUsage]
    few = {(True, True): -0.125, (True, False): -0.125}
    assert found == few | {(False, True): 0.625, (False, False): 0.875}


@pytest.mark.parametrize("text", [WINDOWS, PLAIN.replace("f16", "i8"), PLAIN.replace("f16", "f8e4m3fn")])
def test_what_times_do_not_tell_of_stays(text: str) -> None:
    assert {log_correction(plan, DATA_PARALLEL) for plan in plans(text)} == {0.0}


def test_windows_are_told_from_products_whose_contexts_are_equal() -> None:
    """How many elements an array has is no part of a context's equality, and tells that windows overlap."""
    for plan in plans(PLAIN):
        context = plan.context
        windows = replace(context, a=replace(context.a, elements=context.a.elements // 9))
        assert context == windows and log_correction(plan, DATA_PARALLEL) != 0.0
        assert log_correction(replace(plan, context=windows), DATA_PARALLEL) == 0.0


def test_a_calibration_changes_the_model_and_not_the_correction() -> None:
    slower = with_parameters(WARPGROUPS, [(p.name, p.high) for p in parameters(WARPGROUPS)])
    for plan in plans(PLAIN):
        other = replace(plan, machine=slower)
        assert terms(other, DATA_PARALLEL) == terms(plan, DATA_PARALLEL)
        assert log_correction(other, DATA_PARALLEL) == log_correction(plan, DATA_PARALLEL)


def test_only_what_is_nearly_the_best_by_the_model_is_corrected() -> None:
    pairs = [(Priced(plan), DATA_PARALLEL) for plan in plans(PLAIN, 400)]
    model = [priced.cost(schedule).cycles for priced, schedule in pairs]
    pairs_found = list(zip(model, corrected(pairs), strict=True))
    far = [found == cycles for cycles, found in pairs_found if cycles > NEARLY * min(model)]
    near = [found != cycles for cycles, found in pairs_found if cycles <= NEARLY * min(model)]
    assert len(far) > 20 and all(far) and len(near) > 5 and all(near)


def test_a_choice_is_the_first_of_all_that_are_offered() -> None:
    product = product_of(PLAIN)
    best = min(offers(product, WARPGROUPS), key=lambda offer: offer.cost)
    assert best.cost <= 1.011 * min(offer.cost for offer in every(product, WARPGROUPS))


def plan_of(text: str, product: GemmContext) -> WarpgroupPlan:
    tuning = parse(f"v1:warpgroup:{text}")
    assert isinstance(tuning, WarpgroupTuning), text
    return tuning.plan(product)


def losses(table: Path, is_corrected: bool) -> list[float]:
    """Logarithms of the picks' times over the best ones."""
    found = list[float]()
    for row in json.loads(table.read_text())["series"]:
        product = product_of(row["problem"])
        timed = [(plan_of(tuning, product), schedule(mode), us) for tuning, mode, us in row["measured"]]
        picked = [
            schedule_cycles(plan, of) * exp(log_correction(plan, of) if is_corrected else 0.0)
            for plan, of, _ in timed
        ]
        times = [us for _, _, us in timed]
        found.append(log(times[picked.index(min(picked))] / min(times)))
    return found


@pytest.mark.parametrize(("table", "most"), [(LOTS, 0.5), (DUELS, 0.85)])
def test_picks_lose_less(table: Path, most: float) -> None:
    """It is fitted to the first, and not to the second."""
    before, after = (losses(table, is_corrected) for is_corrected in (False, True))
    assert len(before) > 100 and sum(after) < most * sum(before)
