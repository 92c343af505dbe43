"""The lot of the CPU's table: the same on every machine, no problem twice in a kind, none that takes long."""

from __future__ import annotations

import hashlib

import pytest

from imbrex.bench.cpu_lot import KINDS, MOST_FLOPS
from imbrex.bench.lot import Drawn, drawn_lot
from imbrex.diagnostic import Diagnostic
from imbrex.problem import Conv2d, Gemm, problem_text

DRAWN = "7e8eccbc9c689e3e11eeb8f1fe7946d56ee7aa70dd34407665007720b3aa587e"


@pytest.fixture(scope="module")
def lot() -> list[Drawn]:
    return list(drawn_lot(KINDS, 1))


def test_it_is_the_same_everywhere(lot: list[Drawn]) -> None:
    text = "".join(f"{one.kind}: {one.title}: {problem_text(one.problem)}\n" for one in lot)
    assert hashlib.sha256(text.encode()).hexdigest() == DRAWN


def test_every_kind_has_its_number_and_no_problem_twice(lot: list[Drawn]) -> None:
    for name, kind in KINDS.items():
        own = [one.problem for one in lot if one.kind == name]
        assert len(own) == len(set(own)) == kind.count, name
    assert max(one.problem.flops for one in lot) <= MOST_FLOPS


def test_it_has_transposes_layouts_and_directions(lot: list[Drawn]) -> None:
    products = [one.problem for one in lot if isinstance(one.problem, Gemm)]
    assert {(p.transpose_a, p.transpose_b) for p in products if p.batch == 1} == {
        (a, b) for a in (False, True) for b in (False, True)
    }
    assert any(p.batch > 1 for p in products)
    windows = [one for one in lot if isinstance(one.problem, Conv2d)]
    found = {(one.kind[:4], one.problem.direction) for one in windows if isinstance(one.problem, Conv2d)}
    assert len(found) == 6, found


def test_another_seed_draws_others(lot: list[Drawn]) -> None:
    others = {one.problem for one in drawn_lot(KINDS, 2)}
    assert len(others & {one.problem for one in lot}) < len(lot) // 10


def test_kinds_are_drawn_alike_alone(lot: list[Drawn]) -> None:
    alone = list(drawn_lot(KINDS, 1, ["skinny", "nhwc unusual"]))
    assert alone == [one for one in lot if one.kind in ("skinny", "nhwc unusual")]


def test_a_kind_that_there_is_not() -> None:
    with pytest.raises(Diagnostic, match="a lot has no kind 'skiny'") as refused:
        list(drawn_lot(KINDS, 1, ["skiny"]))
    assert "skinny" in str(refused.value)
