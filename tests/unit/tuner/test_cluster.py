"""A cluster's nodes as hosts, and actors that crash, hang or go, with a stand-in for Ray."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.kernel import target_of
from imbrex.problem import Gemm, Problem
from imbrex.run.isolated import Failed
from imbrex.tuner.campaign import Left, Plan
from imbrex.tuner.cluster import Actor, Cluster, Losses, hosts_at
from imbrex.tuner.pool import Lost
from imbrex.tuner.task import Build, Probe, Work

WORK = Work("gemm -m 8 -n 8 -k 8", target_of(), 1)
TASK = Probe(WORK, "v2:one")


class RayError(Exception):
    pass


class RayActorError(RayError):
    pass


class GetTimeoutError(RayError):
    pass


ERRORS = SimpleNamespace(RayError=RayError, RayActorError=RayActorError, GetTimeoutError=GetTimeoutError)
PLACES = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: (node, soft))
UTIL = SimpleNamespace(scheduling_strategies=PLACES)


@dataclass
class Stand:
    """What is asked of Ray.  replies: what comes of each call to an actor, in turn: a value, or an error."""

    replies: list[Any] = field(default_factory=list[Any])
    begun: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    killed: int = 0
    is_gone: bool = False
    listed: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    exceptions: Any = field(default_factory=lambda: ERRORS)
    util: Any = field(default_factory=lambda: UTIL)

    def remote(self, kind: type) -> Any:
        def options(**given: Any) -> Any:
            self.begun.append(given)
            return SimpleNamespace(remote=lambda function: self._actor(kind(function)))

        return SimpleNamespace(options=options)

    def _actor(self, served: Any) -> Any:
        def answer(argument: object) -> Any:
            reply = self.replies.pop(0)
            return reply if isinstance(reply, Exception | tuple) else served.answer(argument)

        ready = RayActorError("died\nwith more to tell") if self.is_gone else None
        return SimpleNamespace(
            ready=SimpleNamespace(remote=lambda: ready), answer=SimpleNamespace(remote=answer)
        )

    def get(self, reply: Any, timeout: float) -> Any:
        if isinstance(reply, Exception):
            raise reply
        return reply

    def kill(self, actor: Any) -> None:
        self.killed += 1

    def is_initialized(self) -> bool:
        return True

    def nodes(self) -> list[dict[str, Any]]:
        return self.listed


def actor(ray: Stand, function: Callable[[Any], Any] = str, losses: Losses | None = None) -> Actor:
    return Actor(function, ray, "node", {"num_gpus": 1}, losses or Losses())


def test_an_answer_comes_from_an_actor_on_the_node_that_is_begun_once() -> None:
    ray = Stand([None, None])
    calls = actor(ray, lambda task: task.configuration)
    assert (calls(TASK), calls(Probe(WORK, "v2:two"))) == ("v2:one", "v2:two")
    assert ray.begun == [{"num_gpus": 1, "max_restarts": 0, "scheduling_strategy": ("node", False)}]


def test_a_trial_whose_actor_is_lost_runs_again_and_two_losses_are_a_crash() -> None:
    ray = Stand([RayActorError("died"), None])
    assert actor(ray, lambda task: task.configuration)(TASK) == "v2:one"
    assert (len(ray.begun), ray.killed) == (2, 1)
    ray = Stand([RayActorError("died"), RayActorError("died")])
    found = actor(ray)(TASK)
    assert isinstance(found, Failed) and found.kind == "crash" and "2 actors: died" in found.message


def test_losses_are_of_a_configuration_on_all_nodes() -> None:
    losses = Losses()
    assert losses.count(TASK) == 1
    assert losses.count(Build(WORK, "v2:one")) == 1, "another kind of work"
    assert losses.count(Probe(WORK, "v2:one", hopeless_ns=5.0)) == 2, "the same, however patient"


def test_a_hang_is_answered_once_and_the_next_task_meets_a_new_actor() -> None:
    ray = Stand([GetTimeoutError(), None])
    calls = actor(ray, lambda task: task.configuration)
    found = calls(TASK, 7.0)
    assert isinstance(found, Failed) and (found.kind, found.message) == ("hang", "no answer in 7 s")
    assert calls(TASK) == "v2:one" and (len(ray.begun), ray.killed) == (2, 1)


def test_an_error_is_told_and_a_context_that_it_broke_is_left() -> None:
    def broken(task: object) -> object:
        raise RuntimeError(str(task))

    ray = Stand([None, (False, False, "an illegal access")])
    calls = actor(ray, broken)
    assert isinstance(calls(TASK), Failed) and ray.killed == 0
    assert calls(TASK) == Failed("error", "an illegal access") and ray.killed == 1


def test_a_node_that_is_gone_or_has_no_room_is_lost() -> None:
    with pytest.raises(Lost, match=r"^node node is gone: died$"):
        actor(Stand(is_gone=True))(TASK)


def node(name: str, is_alive: bool = True, **resources: float) -> dict[str, Any]:
    return {"NodeID": name, "Alive": is_alive, "Resources": resources}


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Stand:
    listed = [node("a", CPU=8.0, GPU=2.0), node("b", CPU=2.0), node("c", is_alive=False, CPU=8.0), node("d")]
    stand = Stand([(True, True, 1)] * 2, listed=listed)
    monkeypatch.setitem(sys.modules, "ray", stand)
    for name in ("ray.util", "ray.util.scheduling_strategies"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    return stand


def test_nodes_are_hosts_with_a_lane_for_each_device(ray: Stand) -> None:
    with Cluster("auto") as cluster:
        assert [(h.jobs, h.devices) for h in cluster.hosts(target_of(), 1)] == [(8, (None,)), (2, (None,))]
        assert [h.jobs for h in cluster.hosts(target_of(), 4, jobs=3)] == [3], "b has too few CPUs"
        (gpus,) = cluster.hosts(target_of("sm_90a"), 4)
        assert (gpus.jobs, gpus.devices, gpus.here) == (8, (None, None), None)
        for start in (gpus.builder, gpus.timer):
            start(str)(TASK)
    needs = [{word: count for word, count in one.items() if word.startswith("num")} for one in ray.begun]
    assert needs == [{"num_cpus": 1}, {"num_cpus": 0, "num_gpus": 1}]
    ray.listed = ray.listed[1:]
    with pytest.raises(Diagnostic, match="none of the 2 nodes of 'auto' has 1 GPU"):
        Cluster("auto").hosts(target_of("sm_90a"), 1)


def test_gpus_of_this_host_and_a_cluster_exclude_each_other(ray: Stand) -> None:
    with pytest.raises(Diagnostic, match="'devices' are GPUs of this host"):
        with hosts_at("auto", Plan({}, target_of("sm_90a"), 1, devices=(0,)), None):
            pass
    with hosts_at("auto", Plan({}, target_of("sm_90a"), 1), 2) as hosts:
        assert [host.jobs for host in hosts] == [2]
    with hosts_at(None, Plan({}, target_of(), 1), None) as hosts:
        assert hosts == ()


def test_without_ray_one_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(Diagnostic, match="Ray is not installed") as told:
        Cluster("auto")
    assert told.value.hint == "pip install 'imbrex[ray]'"


def test_a_problem_whose_lane_is_lost_is_the_next_one_of_another() -> None:
    one, other = Gemm(8, 8, 8), Gemm(8, 8, 16)
    left = Left([one, other])
    with pytest.raises(Lost), left.next() as problem:
        assert problem == one
        raise Lost("a node is gone")
    seen: list[Problem | None] = []
    for _ in range(3):
        with left.next() as problem:
            seen.append(problem)
    assert seen == [one, other, None]
