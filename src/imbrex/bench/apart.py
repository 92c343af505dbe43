"""Apart: contenders in processes of their own, on the same cores, of which only one runs at a time.

Law: a turn ends when all threads of its process are at rest, and only then does the next begin: pools spin
for a while after their work, and would take the cores of whose turn it is.  How they wait is left as it is,
for it is part of their speed.  Who fails, crashes or hangs loses no place but its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, Protocol

from imbrex.bench.contest import TURN_S, Call, contest, turn_of
from imbrex.diagnostic import Diagnostic
from imbrex.run.isolated import Failed, Isolated
from imbrex.run.time import Timing

__all__ = ["Apart", "Contender", "at_rest"]

LIMIT_S: Final = 600.0
"""Seconds for one turn, or to get ready, compiling included."""
LOOK_S: Final = 0.025
"""Longer than two ticks of a kernel of 100 a second: before its tick a thread's time does not count."""
PATIENCE_S: Final = 1.0
"""OpenBLAS looks for work for 2^26 cycles, some 25 ms; others for less."""


class Contender(Protocol):
    """What a process is sent, by pickle."""

    def ready(self) -> Call:
        """The call that is timed, in the process.  An error where there is none."""
        ...


class Apart:
    """`with Apart() as apart: apart.timed({"one": contender, ...})`, again and again: processes stay."""

    def __init__(self) -> None:
        self._processes: dict[str, Isolated] = {}

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes.values():
            process.end()

    def timed(
        self, contenders: Mapping[str, Contender], *, budget_s: float = 0.3, least: int = 5
    ) -> dict[str, Timing | Failed]:
        """Timings by name, or why there is none.  Turns are short where that many fill the budget."""
        failed: dict[str, Timing | Failed] = {}
        for name, contender in contenders.items():
            if isinstance(answer := self._answer(name, contender), Failed):
                failed[name] = answer
        at_rest()
        turn_s = min(TURN_S, budget_s / least)
        turns = {name: partial(self._answer, name, turn_s) for name in contenders if name not in failed}
        return failed | contest(turns, budget_s=budget_s, least=least)

    def _answer(self, name: str, given: Contender | float) -> Any:
        if name not in self._processes:
            self._processes[name] = Isolated(_answer)
        return self._processes[name](given, LIMIT_S)


def at_rest() -> None:
    """Returns when no thread of this process runs but this one."""
    end = time.monotonic() + PATIENCE_S
    while True:
        before = time.process_time()
        time.sleep(LOOK_S)
        if time.process_time() - before < LOOK_S / 4:
            return
        if time.monotonic() > end:
            raise Diagnostic(
                f"threads are still busy {PATIENCE_S:g} s after their turn",
                hint="OMP_WAIT_POLICY, KMP_BLOCKTIME and the like may make them so",
            )


class _Seat:
    """What a contender's process has."""

    def __init__(self) -> None:
        self.call: Call | None = None


_seat = _Seat()


def _answer(given: Contender | float) -> Timing | None:
    """What a contender's process does: gets ready, or has a turn of so many seconds."""
    if isinstance(given, int | float):
        assert _seat.call is not None
        timing = turn_of(_seat.call, given)()
        at_rest()
        return timing
    _seat.call = None  # its arrays go before others come
    _seat.call = given.ready()
    _seat.call()
    at_rest()
    return None
