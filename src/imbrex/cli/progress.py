"""Progress: what a long step is doing, on a terminal's stderr, gone when it is done."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["progress"]

_PATIENCE_S = 0.4
_REDRAW_S = 0.1
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


@contextmanager
def progress(what: str) -> Generator[None]:
    """Shows `what`, with the seconds, while the block runs; nothing if it is quick or nobody watches."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    drawer = threading.Thread(target=_draw, args=(what, done), daemon=True)
    drawer.start()
    try:
        yield
    finally:
        done.set()
        drawer.join()


def _draw(what: str, done: threading.Event) -> None:
    started = time.perf_counter()
    if done.wait(_PATIENCE_S):
        return
    frame = 0
    while not done.wait(_REDRAW_S):
        elapsed_s = time.perf_counter() - started
        sys.stderr.write(f"\r\x1b[2K{_FRAMES[frame % len(_FRAMES)]} {what} ({elapsed_s:.1f} s)")
        sys.stderr.flush()
        frame += 1
    sys.stderr.write("\r\x1b[2K")
    sys.stderr.flush()
