"""A property that is computed once; in no thread's way."""

from __future__ import annotations

from threading import Barrier, Thread

from imbrex.cached import cached_property

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
