"""Team: as many threads as make a launch end soonest, and the kernel wakes no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.chip import CPU_ISAS
from imbrex.config.configured import configured
from imbrex.config.context import Access, GemmContext
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.cpu.team import team
from imbrex.config.launch_cycles import launch_cycles
from imbrex.dtype import F32
from imbrex.pipeline import Request, lower
from imbrex.problem import parse_problem

MACHINE = CPU_ISAS["avx512"]
WAKE = MACHINE.prices.wake
ALONG_K, ALONG_ROWS = Access(run=(1e12, 1.0), step=(1, 0)), Access(run=(1.0, 1e12), step=(0, 1))


@pytest.mark.parametrize("workgroups", [1, 2, 3, 7, 64, 1000])
@pytest.mark.parametrize("most", [1, 2, 5, 8, 96])
@pytest.mark.parametrize("cycles", [1.0, WAKE, 2.5 * WAKE, 10 * WAKE, 1e9])
def test_no_smaller_team_ends_sooner(cycles: float, most: int, workgroups: int) -> None:
    found = team(cycles, workgroups, most, MACHINE)
    assert 1 <= found.threads <= min(most, workgroups)
    assert found.cycles <= cycles
    for fewer in (1, 2, 4, 8, 16, 32):
        assert team(cycles, workgroups, min(fewer, most), MACHINE).cycles >= found.cycles


def test_short_work_is_for_one_thread_and_long_work_for_all() -> None:
    assert team(WAKE, 8, 8, MACHINE).threads == 1
    assert team(1e9, 8, 8, MACHINE).threads == 8
    assert team(1e9, 6, 8, MACHINE).threads == 6


def _request(text: str, threads: int = 4) -> Request:
    (problem,) = parse_problem(text)
    return Request(problem, replace(MACHINE, threads=threads), "cpu", name="k")


def _source(text: str, tuning: str) -> str:
    from imbrex.config.tuning import parse

    return lower(replace(_request(text), tuning=parse(tuning))).bundle.files["k.cpp"]


def test_the_kernel_says_so() -> None:
    split = "v1:cpu:6,64,36,64,64,16,k_blocked,b,straight"
    assert "}, 1);" in _source("gemm -t f32 -m 64 -n 64 -k 64", split)
    assert "});" in _source("gemm -t f32 -m 64 -n 64 -k 64 -g 4", split.replace("36", "66"))


def test_every_launch_is_known_in_order() -> None:
    strided = "conv -n 1 -c 8 -H 9 -W 9 -k 8 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -F"
    for text in (f"{strided} 1", f"{strided} 2", f"{strided} 4", "gemm -t f32 -m 8 -n 8 -k 8"):
        asked = _request(text)
        found = launch_cycles(asked.problem, configured(asked), replace(MACHINE, threads=4))
        assert len(found) == len(lower(asked).steps)
        assert all(cycles > 0 for cycles in found)


def test_the_largest_workgroup_is_waited_for() -> None:
    """128 and 68 of 196 columns are no halves; of many, who is free takes the small ones."""
    wide, even = 1e9, team(1e9, 2, 2, MACHINE).cycles
    assert team(wide, 2, 2, MACHINE, largest=128 / 196).cycles == pytest.approx(wide * 128 / 196, rel=1e-3)
    assert team(wide, 2, 2, MACHINE, largest=1 / 2).cycles == even
    assert team(wide, 25, 2, MACHINE, largest=1 / 24.5).cycles < wide * 13 / 24.5


def test_blocks_at_the_edges_are_smaller() -> None:
    """Of 200 columns as 128 and 72 in one product; of packed panels of 32 as 128 and 96."""
    context = GemmContext(60, 200, 64, F32, g=3, a=ALONG_K, b=ALONG_ROWS, c=ALONG_ROWS)
    tile = CpuTuning(6, 32, 60, 128, 64, 16, "k_blocked", "b")
    assert tile.plan(context).largest_share == pytest.approx(128 / 200 / 3)
    packed = replace(tile, a_layout="k_major")
    assert packed.plan(context).largest_share == pytest.approx(128 / 224 / 3)
