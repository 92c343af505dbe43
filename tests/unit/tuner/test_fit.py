"""A fit: what times tell of a machine is found, what they do not tell stays; picks of others get better."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from imbrex.chip import CPU_ISAS, GPU_MACHINES, Machine, parameters, with_parameters
from imbrex.config.algorithm.product import Products
from imbrex.config.candidates import candidates
from imbrex.config.configuration import Configuration, TunedProduct
from imbrex.config.legal import check
from imbrex.config.modelled import is_modelled, modelled
from imbrex.config.outline import outline
from imbrex.config.products import products
from imbrex.config.request import Request
from imbrex.config.tiles import parse as schedule
from imbrex.config.tuning import parse
from imbrex.problem import Conv2d, parse_problem
from imbrex.tuner.fit import Series, fitted, held_out, regret

CPU, GPU = CPU_ISAS["avx512"], GPU_MACHINES["sm_90a"]
PROBLEMS = (
    "gemm -m 192 -n 192 -k 192", "gemm -m 16 -n 768 -k 768", "gemm -m 320 -n 320 -k 320 -transA 1",
    "gemm -m 97 -n 203 -k 151", "gemm -m 1000 -n 32 -k 200 -transA 1",
    "gemm -m 288 -n 288 -k 288 -transA 1 -transB 1", "gemm -m 512 -n 48 -k 512", "gemm -m 12 -n 640 -k 640",
    "gemm -m 18 -n 512 -k 700",
)  # fmt: skip
TIMES = Path(__file__).parents[1] / "config" / "warpgroup" / "data" / "hopper_h200_wide.json"


@cache
def asked(text: str) -> tuple[Request, tuple[Configuration, ...]]:
    (problem,) = parse_problem(text)
    request = Request(problem, CPU)
    found = [of.configuration for of in candidates(request).ranked if is_modelled(of.configuration)]
    return request, tuple(found[:: max(1, len(found) // 12)])


def series_on(true: Machine, noise: float = 0.02) -> list[Series]:
    """Times as another machine's model has them, and noise; the clock is each problem's own."""
    chance = np.random.default_rng(0)
    made: list[Series] = []
    for text in PROBLEMS:
        model = modelled(*asked(text))
        log_ns = np.log(model(true)) + chance.normal() + noise * chance.normal(size=len(asked(text)[1]))
        made.append(Series(log_ns, model))
    return made


OTHERS = (
    ("prices.apart.l2", 0.02), ("prices.transpose", 25.0), ("fma_per_cycle", 1.2), ("prices.sum", 5.0)
)  # fmt: skip
SLOW = (("prices.sum", 8.0), ("prices.broadcast", 0.5), ("fma_per_cycle", 1.2))
OTHER, ROOMY = with_parameters(CPU, OTHERS), replace(CPU, prices=replace(CPU.prices, near=1e9))


def test_the_model_of_given_configurations_is_that_of_candidates() -> None:
    (problem,) = parse_problem(PROBLEMS[0])
    request = Request(problem, CPU)
    ranked = candidates(request).ranked[:50]
    assert modelled(request, [of.configuration for of in ranked])(CPU) == [of.cycles for of in ranked]


def test_what_times_tell_is_found() -> None:
    """Where L1 keeps every panel: else `prices.feed` may tell the same."""
    found = series_on(with_parameters(ROOMY, OTHERS))
    there = fitted(found, ROOMY)
    assert sum(regret(one, there) for one in found) < 0.25 * sum(regret(one, ROOMY) for one in found)
    known = {p.name: p.default for p in parameters(there)}
    assert known["prices.apart.l2"] == pytest.approx(0.02, rel=0.4)
    assert all(p.low * 0.999 <= known[p.name] <= p.high * 1.001 for p in parameters(ROOMY))


@pytest.mark.parametrize("feed", [0.15, 0.03])
def test_a_price_that_multiply_adds_hide_is_found(feed: float) -> None:
    found = series_on(with_parameters(CPU, [("prices.feed", feed)]))
    there = fitted(found, CPU)
    assert {p.name: p.default for p in parameters(there)}["prices.feed"] == pytest.approx(feed, rel=0.1)
    assert sum(regret(one, there) for one in found) <= sum(regret(one, CPU) for one in found)


def test_problems_that_were_left_out_get_better_picks() -> None:
    """The last four, of which the last is picked badly at first."""
    found = series_on(with_parameters(CPU, SLOW))[5:]
    assert np.mean(held_out(found, CPU)) < 0.6 * np.mean([regret(one, CPU) for one in found])


def test_control_where_the_model_is_right_nothing_moves_far() -> None:
    there = fitted(series_on(CPU, noise=0.0), CPU)
    for p, q in zip(parameters(CPU), parameters(there), strict=True):
        assert q.default == pytest.approx(p.default, rel=0.02)


def test_without_times_all_stays() -> None:
    assert fitted([], CPU) == CPU and held_out([], CPU) == []
    waves = GPU_MACHINES["gfx942"]
    assert fitted(series_on(CPU), waves) == waves


def test_an_outlier_is_no_ruler() -> None:
    found = series_on(OTHER)
    found[0].log_ns[3] += 2.0
    there = fitted(found, CPU)
    assert there != CPU and np.mean([regret(one, there) for one in found[1:]]) < 0.05


def recorded() -> list[Series]:
    """What an H200 took, of problems that copy nothing."""
    made: list[Series] = []
    for row in json.loads(TIMES.read_text())["series"]:
        (problem,) = parse_problem(row["problem"])
        if isinstance(problem, Conv2d):
            continue
        request = Request(problem, GPU, GPU.name)
        of = outline(request, "direct")
        (product,) = _products(request, of)
        tried = [(parse(f"v1:warpgroup:{text}"), schedule(mode), us) for text, mode, us in row["measured"]]
        kept = [(t, s, us) for t, s, us in tried if not check(t, product.context, GPU)]
        chosen = [replace(of, products=(TunedProduct(t, s),)) for t, s, _ in kept]
        made.append(Series(np.log([us for *_, us in kept]), modelled(request, chosen)))
    return made


def _products(request: Request, of: Configuration) -> tuple[object, ...]:
    made = products(request.problem, of, GPU)
    assert isinstance(made, Products)
    return made.products


def test_rates_of_a_gpu_that_the_model_was_not_fitted_to_are_found_again() -> None:
    """Recorded times, and rates as of a machine that stores three times as fast, and loads as late."""
    found = recorded()[::16]
    rates = {"stored_bytes": 70.0, "answer": 6000.0}
    wrong = with_parameters(GPU, [(f"warpgroup_rates.product.{n}", value) for n, value in rates.items()])
    there = fitted(found, wrong)
    right, before, after = (np.mean([regret(one, of) for one in found]) for of in (GPU, wrong, there))
    assert right < 0.01 < 0.03 < before and after < 0.3 * before
