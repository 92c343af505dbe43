"""A property and a hash that are computed once: in no thread's way, and in no other process."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from threading import Barrier, Thread

from imbrex.cached import cached_property, keeps_hash

WAITED_S = 60


class Node:
    """Two values, each of which asks for the other one of its neighbour."""

    def __init__(self) -> None:
        self.other: Node | None = None
        self.meeting = Barrier(2)
        self.count = 0

    @cached_property
    def text(self) -> str:
        return self._asked("text")

    @cached_property
    def size(self) -> str:
        return self._asked("size")

    def _asked(self, name: str) -> str:
        self.count += 1
        if self.other is None:
            return name
        self.meeting.wait(WAITED_S)
        return self.other.size if name == "text" else self.other.text


def test_it_is_computed_once() -> None:
    node = Node()
    assert (node.text, node.text, node.count) == ("text", "text", 1)
    assert isinstance(Node.__dict__["text"], cached_property)


def test_threads_that_ask_for_each_others_do_not_wait_for_each_other() -> None:
    """functools' own did so for good before Python 3.12: each held the lock that the other one waited for."""
    one, two = Node(), Node()
    one.other, two.other = Node(), Node()
    two.meeting = one.meeting
    threads = [Thread(target=lambda: one.text, daemon=True), Thread(target=lambda: two.size, daemon=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAITED_S)
    assert not any(thread.is_alive() for thread in threads)
    assert (one.text, two.size) == ("size", "text")


class Counted:
    """A part whose hash is counted."""

    asked = 0

    def __hash__(self) -> int:
        Counted.asked += 1
        return 7

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counted)


@keeps_hash
@dataclass(frozen=True)
class Key:
    """Of a cache."""

    name: str
    part: Counted


def test_a_hash_is_computed_once_and_stays_in_its_process() -> None:
    one, other = Key("a", Counted()), Key("a", Counted())
    assert {one: 1}[other] == 1 and one == other and hash(one) == hash(other)
    assert Counted.asked == 2, "once for each object"
    assert hash(pickle.loads(pickle.dumps(one))) == hash(one)
    assert Counted.asked == 3, "a copy in another process computes its own"
