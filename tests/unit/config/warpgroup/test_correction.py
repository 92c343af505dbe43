"""The correction of warpgroup tunings: what its networks compute, what it leaves alone, and what it gains
on times that are in the repository.

`data/hopper_h200_duels.json` has two tunings of each of 109 problems of the benchmark's sets, the model's
pick and an earlier correction's, timed in turn; no correction was fitted to them.  OF_BYTES are its products
of 8 bits.  What it gains on problems that were left out of a fit, `benchmarks/correction.py --left-out` says
(docs/history_picks.md).
"""

from __future__ import annotations

import gzip
import json
import runpy
from dataclasses import replace
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.config.warpgroup.test_measured import LOTS, product_of

from imbrex.chip import WARPGROUPS, parameters, with_parameters
from imbrex.config.context import GemmContext
from imbrex.config.tiles import DATA_PARALLEL
from imbrex.config.tiles import parse as schedule
from imbrex.config.tuning import parse
from imbrex.config.warpgroup import correction
from imbrex.config.warpgroup.choice import every, offers
from imbrex.config.warpgroup.correction import NEARLY, Networks, corrected, inputs, log_correction
from imbrex.config.warpgroup.cost import Scheduled, cycles_of
from imbrex.config.warpgroup.plan import WarpgroupPlan, WarpgroupTuning
from imbrex.config.warpgroup.space import warpgroup_space
from imbrex.config.warpgroup.terms import Terms, terms
from imbrex.config.warpgroup.tile import Tile
from imbrex.config.warpgroup.tunings import Tunings
from imbrex.view.work.streamk import CLUSTERED

DUELS = LOTS.with_name("hopper_h200_duels.json")
BENCHMARKS = Path(__file__).resolve().parents[4] / "benchmarks"
OF_BYTES = BENCHMARKS / "data" / "hopper_h200_lots_13.json.gz"
OF_CONVOLUTIONS = OF_BYTES.with_name("hopper_h200_lots_15.json.gz")
MODES = (
    "data_parallel",
    "split_k:132",
    "stream_k:132",
    "two_tile:132",
    "two_tile_dp_first:132",
    "cluster_k:2",
)
PLAIN = "gemm -t f16 -m 1304 -n 1624 -k 232 -transA 0 -transB 1"
WINDOWS = (
    "convfp16 -n 8 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -g 1 -F 1 "
    "-f NHWC -I NHWC -O NHWC"
)


def plans(text: str, count: int = 40) -> list[WarpgroupPlan]:
    product = product_of(text)
    return [tuning.plan(product) for tuning in list(warpgroup_space(product, WARPGROUPS))[:count]]


def test_a_row_of_inputs_has_the_terms_and_one_of_the_modes() -> None:
    pairs = zip(plans(PLAIN), MODES, strict=False)
    known = [terms(Scheduled.of(plan, schedule(mode))) for plan, mode in pairs]
    rows = np.concatenate([inputs(of) for of in known])
    assert rows.shape == (len(MODES), len(Terms._fields) - 1 + len(MODES))
    for row, of, mode in zip(rows, known, MODES, strict=True):
        assert [*row[: -len(MODES)]] == [float(v[0]) for name, v in of._asdict().items() if name != "mode"]
        assert [*row[-len(MODES) :]] == [
            float(mode.startswith(f"{word}:") or mode == word) for word in CLUSTERED
        ]


def test_networks_are_what_they_are_said_to_be() -> None:
    """Two networks of one hidden layer against sums by hand, the third row beyond what is told apart."""
    hidden = (
        np.array([[[1.0, 0.0], [0.0, 2.0]], [[0.5, 0.0], [0.0, -1.0]]], np.float32),
        np.array([[[0.1, 0.2]], [[0.0, 0.3]]], np.float32),
    )
    last = np.array([[[1.0], [2.0]], [[3.0], [-1.0]]], np.float32)
    networks = Networks(np.array([1.0, 2.0]), np.array([2.0, 0.5]), (hidden,), last)

    def by_hand(x: float, y: float) -> float:
        def unit(value: float) -> float:
            return value / (1 + exp(-value))

        first = unit(x + 0.1) + 2 * unit(2 * y + 0.2)
        second = 3 * unit(0.5 * x) - unit(0.3 - y)
        return (first + second) / 2

    found = networks.predicted(np.array([[1.0, 2.0], [3.0, 1.5], [1e9, -1e9]]))
    assert found == pytest.approx([by_hand(0, 0), by_hand(1, -1), by_hand(4, -4)], rel=1e-6)


def test_networks_in_use_are_of_the_terms_and_say_little() -> None:
    networks = correction._networks()  # pyright: ignore[reportPrivateUsage]
    assert networks.mean.shape == networks.scale.shape == (len(Terms._fields) - 1 + len(CLUSTERED),)
    assert (networks.scale > 0).all() and len(networks.last) > 1
    said = [log_correction(plan, DATA_PARALLEL) for plan in plans(PLAIN, 400)]
    assert max(map(abs, said)) < log(1.6) and max(said) - min(said) > log(1.1)


@pytest.mark.parametrize("text", [WINDOWS.replace("convfp16", "convint8"), PLAIN.replace("f16", "tf32")])
def test_what_times_do_not_tell_of_stays(text: str) -> None:
    assert {log_correction(plan, DATA_PARALLEL) for plan in plans(text)} == {0.0}


@pytest.mark.parametrize("dtype", ["i8", "f8e4m3fn", "f8e5m2", "bf16"])
def test_types_of_a_byte_are_corrected_as_those_of_two(dtype: str) -> None:
    text = f"gemm -t {dtype} -m 1304 -n 1624 -k 2048 -transA 0 -transB 1"
    said = {log_correction(plan, DATA_PARALLEL) for plan in plans(text)}
    assert 0.0 not in said and len(said) > 10 and max(map(abs, said)) < log(1.6)


def test_windows_are_told_from_products_whose_contexts_are_equal() -> None:
    """How many elements an array has is no part of a context's equality, and tells that windows overlap."""
    for plan in plans(PLAIN):
        context = plan.context
        windows = replace(context, a=replace(context.a, elements=context.a.elements // 9))
        said = [log_correction(of, DATA_PARALLEL) for of in (plan, replace(plan, context=windows))]
        assert context == windows and 0.0 not in said and said[0] != said[1]


def test_a_calibration_changes_the_model_and_not_the_correction() -> None:
    slower = with_parameters(WARPGROUPS, [(p.name, p.high) for p in parameters(WARPGROUPS)])
    for plan in plans(PLAIN):
        other = replace(plan, machine=slower)
        assert terms(Scheduled.of(other, DATA_PARALLEL)) == terms(Scheduled.of(plan, DATA_PARALLEL))
        assert log_correction(other, DATA_PARALLEL) == log_correction(plan, DATA_PARALLEL)


def test_only_what_is_nearly_the_best_by_the_model_is_corrected() -> None:
    scheduled = Scheduled.alike(Tunings.of(*plans(PLAIN, 400)), DATA_PARALLEL)
    model, (found_cycles,) = scheduled.costs.cycles, corrected([scheduled])
    pairs_found = list(zip(model, found_cycles, strict=True))
    far = [found >= cycles for cycles, found in pairs_found if cycles > NEARLY * min(model)]
    near = [found != cycles for cycles, found in pairs_found if cycles <= NEARLY * min(model)]
    assert len(far) > 20 and all(far) and len(near) > 5 and all(near)
    most = max(found for cycles, found in pairs_found if cycles <= NEARLY * min(model))
    assert most < min(found for cycles, found in pairs_found if cycles > NEARLY * min(model))


def test_a_choice_is_the_first_of_all_that_are_offered() -> None:
    product = product_of(PLAIN)
    best = min(offers(product, WARPGROUPS), key=lambda offer: offer.cost)
    assert best.cost <= 1.011 * min(offer.cost for offer in every(product, WARPGROUPS))


def plan_of(text: str, product: GemmContext) -> WarpgroupPlan:
    tuning = parse(f"v1:warpgroup:{text}")
    assert isinstance(tuning, WarpgroupTuning), text
    return tuning.plan(product)


def losses(series: list[Any], is_corrected: bool) -> list[float]:
    """Logarithms of the picks' times over the best ones."""
    found = list[float]()
    for row in series:
        product = product_of(row["problem"])
        timed = [(plan_of(tuning, product), schedule(mode), us) for tuning, mode, us in row["measured"]]
        pairs = [(plan, of) for plan, of, _ in timed]
        logs = [log_correction(*pair) if is_corrected else 0.0 for pair in pairs]
        picked = [cycles * exp(said) for cycles, said in zip(cycles_of(pairs), logs, strict=True)]
        times = [us for _, _, us in timed]
        found.append(log(times[picked.index(min(picked))] / min(times)))
    return found


@pytest.mark.parametrize(("table", "most"), [(LOTS, 0.5), (DUELS, 0.85)])
def test_picks_lose_less(table: Path, most: float) -> None:
    """It is fitted to the first, and not to the others."""
    series = json.loads(table.read_text())["series"]
    before, after = (losses(series, is_corrected) for is_corrected in (False, True))
    assert len(before) > 100 and sum(after) < most * sum(before)


def test_picks_of_bytes_lose_less() -> None:
    series = [row for row in json.loads(gzip.decompress(OF_BYTES.read_bytes()))["series"] if of_bytes(row)]
    before, after = (losses(series[::2], is_corrected) for is_corrected in (False, True))
    assert len(before) == 70 and sum(after) < 0.7 * sum(before)


def test_picks_of_convolutions_lose_less(tmp_path: Path) -> None:
    """Of all algorithms that come to one product; every twelfth problem of a lot."""
    fit = runpy.run_path(str(BENCHMARKS / "correction.py"))
    networks = correction._networks()  # pyright: ignore[reportPrivateUsage]
    lot = json.loads(gzip.decompress(OF_CONVOLUTIONS.read_bytes()))
    (part := tmp_path / "part.json").write_text(json.dumps(lot | {"series": lot["series"][::12]}))
    series = [*fit["series_of"](part)]
    before = sum(of.regret(np.zeros(len(of.times))) for of in series)
    after = sum(of.regret(networks.predicted(of.rows)) for of in series)
    walked = [Tile(plan).is_walked for of in series for plan, _ in of.plans]
    assert len(series) > 40 and 0.4 < np.mean(walked) < 0.9 and after < 0.6 * before


def of_bytes(row: Any) -> bool:
    return product_of(row["problem"]).dtype.bytes == 1
