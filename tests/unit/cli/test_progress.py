"""What a terminal is shown of a long step, and that nobody else is shown anything."""

from __future__ import annotations

import io
import threading
from types import SimpleNamespace

import pytest

from imbrex.cli.progress import progress

GONE = "\r\x1b[2K"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Ending:
    """An event that is set after so many waits, however long these are."""

    def __init__(self, waits: int) -> None:
        self.left = waits

    def wait(self, _: float) -> bool:
        self.left -= 1
        return self.left < 0

    def set(self) -> None:
        pass


def ending(waits: int) -> SimpleNamespace:
    return SimpleNamespace(Event=lambda: Ending(waits), Thread=threading.Thread)


@pytest.mark.parametrize(
    ("waits", "shown"),
    [
        (0, ""),
        (1, GONE),
        (3, f"{GONE}⠋ compiling (2.0 s){GONE}⠙ compiling (2.5 s){GONE}"),
    ],
)
def test_a_step_is_shown_once_it_is_long(waits: int, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, times = Terminal(), iter((1.0, 3.0, 3.5))
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("imbrex.cli.progress.time", SimpleNamespace(perf_counter=lambda: next(times)))
    monkeypatch.setattr("imbrex.cli.progress.threading", ending(waits))
    with progress("compiling"):
        pass
    assert terminal.getvalue() == shown


def test_it_is_gone_where_the_step_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    before = threading.active_count()
    monkeypatch.setattr("sys.stderr", Terminal())
    with pytest.raises(ValueError, match="wrong"), progress("compiling"):
        raise ValueError("wrong")
    assert threading.active_count() == before


def test_nobody_watches_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr("sys.stderr", file)
    monkeypatch.setattr("imbrex.cli.progress.threading", ending(3))
    with progress("compiling"):
        pass
    assert not file.getvalue()
