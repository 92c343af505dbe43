"""Cluster: the nodes of a Ray cluster as hosts that build and time; their processes are actors.

    a node -> its timers: an actor with a GPU each; on a CPU one, which holds all of the node's CPUs
           -> its builders: actors on the same node, so that what is timed there is in its cache

Laws: the driver alone writes the database.  An actor that crashed is begun anew on its node and asked again,
once; what takes two actors is a crash.  Where the node is gone, `Lost` gives its problem to another one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from types import TracebackType
from typing import Any, Final, Self

from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Target
from imbrex.numeral import counted
from imbrex.run.isolated import Failed, answered
from imbrex.tuner.campaign import Plan
from imbrex.tuner.pool import Host, Lost
from imbrex.tuner.task import Build, Contest, Identify, Probe, Proof, Task

__all__ = ["Cluster", "hosts_at"]

MOST_LOSSES: Final = 2
START_S: Final = 90.0
"""Seconds for an actor to begin: its node's imports, and whoever holds its resources."""
MOST_JOBS: Final = 16


class Cluster:
    """`with Cluster(address) as cluster: Tuner(..., hosts=cluster.hosts(target, jobs))`.

    address: as Ray has it: "auto", "local", or HOST:PORT.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._ray = _ray()
        self._is_ours = not self._ray.is_initialized()
        self._losses = Losses()

    def __enter__(self) -> Self:
        if self._is_ours:
            try:
                self._ray.init(self.address, log_to_driver=False, logging_level=logging.ERROR)
            except (ConnectionError, RuntimeError, ValueError) as error:
                reason = str(error).partition("\n")[0]
                raise Diagnostic(
                    f"there is no Ray cluster at '{self.address}': {reason}",
                    hint="'ray start --head' begins one; 'local' is this host alone",
                ) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_ours:
            self._ray.shutdown()

    def hosts(self, target: Target, threads: int, jobs: int | None = None) -> list[Host]:
        """The nodes that have what a target's kernels run on.  jobs: processes of each that compile."""
        wanted, least = ("CPU", threads) if target.is_native else ("GPU", 1)
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        found = [node for node in nodes if node["Resources"].get(wanted, 0) >= least]
        if not found:
            raise Diagnostic(
                f"none of the {counted(len(nodes), 'node')} of '{self.address}' has {_counted(least, wanted)}"
            )
        return [self._host(node, target, jobs) for node in found]

    def _host(self, node: Mapping[str, Any], target: Target, jobs: int | None) -> Host:
        cpus, gpus = (int(node["Resources"].get(kind, 0)) for kind in ("CPU", "GPU"))
        identifier = str(node["NodeID"])

        def start(**needs: int) -> Callable[[Callable[[Any], Any]], Actor]:
            return lambda function: Actor(function, self._ray, identifier, needs, self._losses)

        count = min(jobs or MOST_JOBS, max(1, cpus))
        if (
            target.is_native
        ):  # nothing is built while something is timed, so that builders need no CPU of theirs
            return Host(count, (None,), start(num_cpus=0), start(num_cpus=cpus))
        return Host(count, (None,) * gpus, start(num_cpus=1), start(num_cpus=0, num_gpus=1))


@contextmanager
def hosts_at(address: str | None, plan: Plan, jobs: int | None) -> Generator[Sequence[Host]]:
    """The nodes of a cluster, as long as it is connected; none where no address is given."""
    if address is None:
        yield ()
        return
    if plan.devices:
        message = "'devices' are GPUs of this host, and 'ray' times on those of a cluster"
        raise Diagnostic(message, hint="leave out one or the other")
    with Cluster(address) as cluster:
        yield cluster.hosts(plan.target, plan.threads, jobs)


class Losses:
    """How many actors a task has taken, on any node."""

    def __init__(self) -> None:
        self._counts: dict[object, int] = {}
        self._lock = Lock()

    def count(self, task: Task) -> int:
        """The count with the one that was lost now."""
        key = _key(task)
        with self._lock:
            self._counts[key] = self._counts.get(key, 0) + 1
            return self._counts[key]


class Served:
    """What an actor is: a function, called again and again."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def ready(self) -> None:
        """Returns, as soon as there is an actor."""

    def answer(self, argument: object) -> tuple[bool, bool, Any]:
        """A result, or what went wrong."""
        return answered(self._function, argument)


class Actor:
    """A function in an actor on one node.  needs: the resources that it holds there."""

    def __init__(
        self, function: Callable[[Any], Any], ray: Any, node: str, needs: Mapping[str, int], losses: Losses
    ) -> None:
        self._function, self._ray, self._node, self._needs = function, ray, node, needs
        self._losses = losses
        self._actor: Any = None

    def __call__(self, argument: Any, limit_s: float = 60.0) -> Any:
        """The function's result, or `Failed`; `Lost` where the node is gone."""
        errors = self._ray.exceptions
        while True:
            served = self._actor or self._start()
            try:
                reply = served.answer.remote(argument)
                is_result, is_usable, found = self._ray.get(reply, timeout=limit_s)
            except errors.GetTimeoutError:
                self.end()
                return Failed("hang", f"no answer in {limit_s:.0f} s")
            except errors.RayActorError as error:
                self.end()
                if self._losses.count(argument) >= MOST_LOSSES:
                    return Failed("crash", f"it took {MOST_LOSSES} actors: {_line(error)}")
                continue
            if not is_usable:
                self.end()
            return found if is_result else Failed("error", found)

    def end(self) -> None:
        """No actor from now on, until the next task."""
        if self._actor is not None:
            self._ray.kill(self._actor)
            self._actor = None

    def _start(self) -> Any:
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(self._node, soft=False)
        kind = self._ray.remote(Served).options(**self._needs, max_restarts=0, scheduling_strategy=strategy)
        errors = self._ray.exceptions
        self._actor = kind.remote(self._function)
        try:
            self._ray.get(self._actor.ready.remote(), timeout=START_S)
        except errors.GetTimeoutError:
            self.end()
            raise Lost(
                f"node {self._node[:8]} has no room: {_needed(self._needs)} in {START_S:.0f} s"
            ) from None
        except errors.RayError as error:
            self._actor = None
            raise Lost(f"node {self._node[:8]} is gone: {_line(error)}") from None
        return self._actor


def _key(task: Task) -> object:
    match task:
        case Build(work, text) | Probe(work, text) | Proof(work, text):
            return type(task), work, text
        case Contest(work, texts):
            return Contest, work, texts
        case Identify():
            return task


def _needed(needs: Mapping[str, int]) -> str:
    return " and ".join(_counted(count, kind[len("num_") : -1].upper()) for kind, count in needs.items())


def _counted(count: int, kind: str) -> str:
    return f"{count} {kind}{'s' * (count != 1)}"


def _line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def _ray() -> Any:
    try:
        ray = import_module("ray")
        import_module("ray.util.scheduling_strategies")
    except ImportError:
        raise Diagnostic("Ray is not installed", hint="pip install 'imbrex[ray]'") from None
    return ray
