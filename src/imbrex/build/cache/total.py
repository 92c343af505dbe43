"""Total: how much a cache holds, kept up without listing it.

The file `growth` has one byte for each KiB that was stored: an append adds to the total, whoever else
appends meanwhile, and a killed process leaves nothing half-written, for what is in the bytes does not matter.
What is stored is counted before it appears, so a kill counts too much, never too little.  A sweep, which
lists the cache, sets the total right.
Law: sweeps are at least a minute apart, as the time of the file `swept` says.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Total"]

SOONEST_S = 60.0
LATEST_S = 3600.0
"""Then even a cache below its limit is swept: killed processes leave rubbish."""

_UNIT_BYTES = 1024
_FLAGS = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True, slots=True)
class Total:
    """Counts what the cache at `root` holds."""

    root: Path

    def add(self, size_bytes: int) -> None:
        """Something of this size is about to be stored."""
        descriptor = os.open(self.root / "growth", _FLAGS | os.O_APPEND, 0o644)
        try:
            os.write(descriptor, bytes(-(-size_bytes // _UNIT_BYTES)))
        finally:
            os.close(descriptor)

    def set(self, size_bytes: int) -> None:
        """Takes what was counted for the size."""
        descriptor = os.open(self.root / "growth", _FLAGS, 0o644)
        try:
            os.ftruncate(descriptor, -(-size_bytes // _UNIT_BYTES))
        finally:
            os.close(descriptor)

    def size_bytes(self) -> int:
        """What is stored at the least, but for what was added while a sweep counted."""
        try:
            return os.lstat(self.root / "growth").st_size * _UNIT_BYTES
        except FileNotFoundError:
            return 0

    def is_sweep_due(self, limit_bytes: int, now_s: float) -> bool:
        """Was the last one long enough ago?"""
        try:
            since_s = now_s - os.lstat(self.root / "swept").st_mtime
        except FileNotFoundError:
            return True
        is_soon = 0 <= since_s < SOONEST_S  # below 0 somebody has set the clock
        return not is_soon and (not 0 <= since_s < LATEST_S or self.size_bytes() > limit_bytes)

    def mark_sweep(self, now_s: float) -> None:
        """One begins."""
        descriptor = os.open(self.root / "swept", _FLAGS, 0o644)
        try:
            os.utime(descriptor, (now_s, now_s))
        finally:
            os.close(descriptor)
