"""A cluster of two nodes: problems on both, one database; a node that goes meanwhile takes nothing away."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.patience import HANG_S

from imbrex.database import Database, Unit
from imbrex.kernel import target_of
from imbrex.problem import Gemm
from imbrex.tuner.campaign import Plan, Tuner
from imbrex.tuner.cluster import Cluster
from imbrex.tuner.outcome import Step, Tuned

ray: Any = pytest.importorskip("ray")

PROBLEMS = {Gemm(48, 40, 32): 1, Gemm(40, 48, 32): 1, Gemm(32, 40, 48): 1}


@pytest.fixture
def nodes() -> Iterator[Any]:
    """A head without CPUs, and two nodes with one each."""
    from ray.cluster_utils import Cluster as Nodes

    found: Any = Nodes(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        found.pair = [found.add_node(num_cpus=1) for _ in range(2)]
        yield found
    finally:
        found.shutdown()


@pytest.mark.parametrize("is_lost", [False, True])
def test_problems_are_spread_and_a_node_that_goes_takes_nothing_away(
    nodes: Any, tmp_path: Path, is_lost: bool
) -> None:
    path = tmp_path / "db.sqlite"
    lanes: dict[int, set[str]] = {}

    def lose() -> None:
        if is_lost:
            nodes.remove_node(nodes.pair[0], allow_graceful=False)
            until = time.monotonic() + HANG_S
            while sum(node["Alive"] for node in ray.nodes()) > 2 and time.monotonic() < until:
                time.sleep(0.1)

    both = threading.Barrier(2, lose, HANG_S)

    def told(unit: Unit, weight: int, step: Step) -> None:
        if not step.trials:  # it compiles
            return
        lane = threading.get_ident()
        is_first = lane not in lanes
        lanes.setdefault(lane, set()).add(unit.problem)
        if is_first:
            both.wait()

    with Cluster(nodes.address) as cluster:
        hosts = cluster.hosts(target_of(), 1)
        assert [(host.jobs, host.devices) for host in hosts] == [(1, (None,))] * 2
        plan = Plan(PROBLEMS, target_of(), 1, trials=3)
        found = Tuner(plan, lambda: Database(path), told, lambda *_: None, hosts=hosts).run()
    tuned = [one for one in found if isinstance(one, Tuned)]
    assert len(tuned) == len(PROBLEMS) and all(one.counts == {"ok": 3} and one.is_done for one in tuned)
    one_lane, other = lanes.values()
    assert bool(one_lane & other) == is_lost, "a lost node's problem is one that both worked on"
    assert one_lane | other == {one.unit.problem for one in tuned}
    assert (sum(one.fresh for one in tuned) < 3 * len(PROBLEMS)) == is_lost, "what it had measured is kept"
    with Database(path) as database:
        assert [len(database.trials(one.unit)) for one in tuned] == [3] * len(PROBLEMS)
