"""Processes: one that was started with all that it started, and what they have spent, from /proc.

Law: what they may take is told in seconds of a processor, so that a loaded machine changes no answer.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["HUNG", "ended", "stop"]

HUNG: Final = 30.0
"""Seconds in which nothing of it had a processor: it waits for what will not come."""
POLL, SCAN = 0.02, 0.25
TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Process:
    """cpu: seconds of its own, and of what it has started and waited for."""

    pid: int
    parent: int
    session: int
    cpu: float


def ended(process: subprocess.Popen[bytes], cpu: float, until: float) -> tuple[bool, float]:
    """Waits for the leader of a session: did it end before `cpu` seconds were spent?  The seconds spent.

    until: of time.monotonic, when all is over.
    """
    spent, moved, scanned = 0.0, time.monotonic(), 0.0
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        now = time.monotonic()
        if now >= scanned + SCAN:
            scanned, before = now, spent
            spent = max(spent, sum(member.cpu for member in _members(process.pid)))
            moved = now if spent > before else moved
        if spent > cpu or now > until or now > moved + HUNG:
            return False, spent
        time.sleep(POLL)
    return True, max(spent, sum(member.cpu for member in _members(process.pid)))


def stop(leader: int) -> None:
    """Ends it, and all that it started."""
    for member in [*_members(leader)]:
        with suppress(ProcessLookupError):
            os.kill(member.pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _members(leader: int) -> Iterator[Process]:
    """Of its session, and what those started in sessions of their own."""
    left = {process.pid: process for process in _all()}
    inside = {leader}
    while found := [p for p in left.values() if {p.pid, p.parent, p.session} & inside]:
        for process in found:
            inside.add(process.pid)
            yield left.pop(process.pid)


def _all() -> Iterator[Process]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it ended meanwhile
                words = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
                yield Process(
                    int(folder.name), int(words[1]), int(words[3]), sum(map(int, words[11:15])) / TICKS
                )
