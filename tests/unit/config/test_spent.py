"""What the model spends cycles on, and which part puts a configuration behind another."""

from __future__ import annotations

import pytest

from imbrex.config.candidates import candidates, spent
from imbrex.config.spent import ELSE, Spent, behind, spent_of_all
from imbrex.pipeline import Request, machine_for
from imbrex.problem import parse_problem

PICK = Spent({"matrix unit": 100.0, "L2": 50.0}, {"start": 10.0})
NHWC = "convfp16 -n 8 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -f NHWC -I NHWC -O NHWC"
KINDS = (
    ("cpu", "gemm -m 120 -n 200 -k 100", {"products", "A", "B", "C"}),
    ("gfx942", "gemm -t f16 -m 512 -n 512 -k 512", {"matrix", "LDS", "loads", "results"}),
    ("sm_90a", "gemm -t f16 -m 512 -n 520 -k 512", {"matrix unit", "L2", "memory", "copies"}),
    ("sm_90a", "gemm -m 256 -n 256 -k 256", {"instructions", "shared memory"}),
    ("sm_90a", f"{NHWC} -F 1", {"loads", "results"}),
    ("sm_90a", f"{NHWC} -F 4", {"matrix unit", "memory", "partial sums"}),
    ("cpu", f"{NHWC.replace('convfp16', 'conv')} -g 64 -F 1", {"strips"}),
    ("emulate", "gemm -m 64 -n 64 -k 64", {"rounds"}),
)


@pytest.mark.parametrize(("target", "line", "parts"), KINDS)
def test_parts_make_up_what_ranks(target: str, line: str, parts: set[str]) -> None:
    (problem,) = parse_problem(line)
    request = Request(problem, machine_for(target, "avx512", 2), target)
    ranked = candidates(request).ranked
    found = [spent(request, one) for one in ranked[:: max(1, len(ranked) // 8)]]
    assert parts <= {name for one in found for name in {**one.parallel, **one.after}}
    for one, of in zip(found, ranked[:: max(1, len(ranked) // 8)], strict=True):
        assert one.cycles == pytest.approx(of.cycles)
        assert all(part >= 0 for name, part in {**one.parallel, **one.after}.items() if name != ELSE)


def test_what_costs_less_is_not_blamed() -> None:
    other = Spent({"matrix unit": 90.0, "L2": 120.0}, {"start": 15.0})
    assert behind(PICK, other).startswith("L2 +")
    assert behind(PICK, PICK) == ""
    assert behind(PICK, PICK.alongside({"L2": 55.0})) == ""  # the matrix unit hides it


def test_what_adds_up_is_told_by_its_share() -> None:
    assert behind(PICK, PICK.plus({"start": 10.0 + PICK.cycles / 10})) == "start +10.0%"
    assert behind(PICK, PICK.plus({"copies": PICK.cycles})) == "copies +100.0%"


def test_what_overlaps_counts_as_its_longest_and_little_more() -> None:
    assert 110.0 < PICK.cycles < 111.0
    assert Spent({"a": 1.0, "b": 1.0}, {}).cycles == pytest.approx(2 ** (1 / 8))
    assert Spent({}, {}).cycles == 0.0


def test_products_one_after_the_other_add_up_part_by_part() -> None:
    both = spent_of_all((PICK, PICK.times(2.0)))
    assert both == PICK.times(3.0)
    assert both.of(500.0).cycles == pytest.approx(500.0)
