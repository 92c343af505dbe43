"""Request: one call of a library in a process of its own, and what that process answers (`run.guarded`)."""

from __future__ import annotations

import marshal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from imbrex.build.cache import entry_bytes
from imbrex.run import guarded_call

__all__ = ["Answer", "FilePages", "Guard", "GuardedRequest", "NoAnswer", "ended", "in_python"]

Guard: TypeAlias = Literal["none", "read", "all"]
"""What may be done to the pages beside an array."""


@dataclass(frozen=True, slots=True)
class FilePages:
    """Whole pages of a file, of which an array's bytes begin at `begin`."""

    offset: int
    span: int
    begin: int
    before: Guard = "none"
    after: Guard = "none"


@dataclass(frozen=True, slots=True)
class GuardedRequest:
    """Call `symbol` of `library` on `threads` threads with the arrays that lie in the file `fd`, and with the
    run-time size `count` behind them, where there is one.
    """

    library: str
    symbol: str
    threads: int
    fd: int
    regions: tuple[FilePages, ...]
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """status: what the entry point returned.  changed: what it did to the thread's control words.
    fault: what an emulated GPU says besides.
    """

    status: int
    changed: str | None = None
    fault: str = ""


class NoAnswer(Exception):
    """A process ended without an answer; the last that it said."""


def in_python(request: GuardedRequest) -> Answer | int:
    """The answer of an interpreter that has nothing of this package, or the signal that ended it."""
    command = (sys.executable, "-I", "-S", str(Path(guarded_call.__file__)))
    try:
        said = ended(command, marshal.dumps(asdict(request)).hex(), request.fd)
    except NoAnswer as error:
        entry_bytes(Path(request.library))
        raise RuntimeError(f"'{request.symbol}' was not called: {error}") from None
    return said if isinstance(said, int) else Answer(**marshal.loads(bytes.fromhex(said)))


def ended(command: Sequence[str], given: str = "", *files: int) -> str | int:
    """The last line that a process says, or the signal that ended it.

    given: to its input.  files: that it has open besides.  NoAnswer where it says nothing or fails.
    """
    found = subprocess.run(command, input=given, capture_output=True, text=True, pass_fds=files, check=False)
    if found.returncode < 0:
        return -found.returncode
    lines = found.stdout.splitlines()
    if found.returncode or not lines:
        raise NoAnswer(" ".join(found.stderr.strip().splitlines()[-1:]))
    return lines[-1]
