"""Sizes of caches from latencies: where the next level begins, and not what a virtual machine reports."""

from __future__ import annotations

import pytest

from imbrex.bench import caches
from imbrex.bench.caches import cache_sizes, latencies, sizes_by
from imbrex.run.host_machine import host_machine

KIB, MIB = 1 << 10, 1 << 20
FOOTPRINTS = [round(8 * KIB * 2 ** (i / 4)) for i in range(4 * 14 + 1)]


def curve(*levels: tuple[int, float]) -> dict[int, float]:
    """Latencies of caches of sizes, the last one memory's."""
    return {f: next(ns for size, ns in levels if f <= size) for f in FOOTPRINTS}


REAL = curve((48 * KIB, 1.0), (MIB, 3.6), (16 * MIB, 12.0), (1 << 40, 90.0))
TOLD = {"l1_bytes": 48 * KIB, "l2_bytes": MIB}


def test_what_is_reported_and_there_is_told() -> None:
    assert sizes_by(REAL, TOLD | {"l3_bytes": 16 * MIB}) == TOLD | {"l3_bytes": 16 * MIB}


@pytest.mark.parametrize("reported", [32 * MIB, 480 * MIB])
def test_a_share_of_a_large_cache_is_measured(reported: int) -> None:
    """480 MiB of L3 for two cores: as the host of a virtual machine has it."""
    found = sizes_by(REAL, TOLD | {"l3_bytes": reported})
    assert found["l3_bytes"] == pytest.approx(16 * MIB, rel=0.2) and found["l2_bytes"] == MIB


def test_nothing_is_more_than_reported() -> None:
    assert sizes_by(REAL, {"l1_bytes": 32 * KIB, "l2_bytes": MIB // 2}) == {
        "l1_bytes": 32 * KIB,
        "l2_bytes": MIB // 2,
    }


def test_where_no_edge_is_seen_what_is_reported_stays() -> None:
    flat = dict.fromkeys(FOOTPRINTS, 5.0)
    assert sizes_by(flat, TOLD) == TOLD and sizes_by({}, TOLD) == TOLD and sizes_by(REAL, {}) == {}


def test_a_disturbed_footprint_is_no_edge() -> None:
    noisy = REAL | {FOOTPRINTS[3]: 2.0}
    assert sizes_by(noisy, TOLD)["l1_bytes"] < 48 * KIB  # what is seen only once is not told from an edge
    assert sizes_by(REAL | {FOOTPRINTS[3]: 1.4}, TOLD)["l1_bytes"] == 48 * KIB


def test_this_machine_has_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "MOST", 256 * KIB)
    monkeypatch.setattr(caches, "SAMPLES", 2)
    found = latencies()
    assert len(found) == 21 and list(found) == sorted(found) and all(0 < ns < 1e5 for ns in found.values())
    here = host_machine()
    sizes = cache_sizes(here)
    assert sizes.get("l1_bytes", 0) <= (here.l1d_bytes or 0)
