"""Guard: what a user sees of an error, and the exit code that goes with it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn, TextIO

import click

from imbrex.diagnostic import Diagnostic, printable

__all__ = ["FAILED", "Misused", "fault_text", "guarded", "open_streams"]

FAILED = 1
"""A mistake in the input, or a result that is not right."""

MISUSED = 2
INTERRUPTED = 130
TRACEBACK = "--traceback"


class Misused(click.UsageError):
    """A wrong command line, and what to do about it."""

    def __init__(self, message: str, hint: str | None) -> None:
        super().__init__(message)
        self.hint = hint


def guarded(command: click.Command, arguments: Sequence[str] | None) -> NoReturn:
    """Run the command and leave with its exit code; `--traceback`, anywhere, shows where an error is from."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    words = [word for word in given if word != TRACEBACK]
    open_streams()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = command.main(words, "imbrex", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        code = INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILED
    except Exception as error:
        if words != given:
            raise
        code = _reported(error, words)
    sys.exit(code if isinstance(code, int) else 0)


def open_streams() -> None:
    """Makes null devices of standard streams that whoever called has closed: a file that is opened later
    would be in their place, and what is written or started would meet it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            with suppress(OSError):
                os.fstat(number)
                continue
            opened = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(opened, True)
            setattr(sys, name, open(opened, "w" if number else "r", encoding="utf-8"))


def _reported(error: Exception, words: Sequence[str]) -> int:
    """Say it in one message."""
    match error:
        case click.exceptions.NoArgsIsHelpError():
            _say(error.format_message())
            return MISUSED
        case click.UsageError():
            where = f"{error.ctx.command_path} --help" if error.ctx else "imbrex --help"
            hint = _quoted(words) or getattr(error, "hint", None) or f"see {where}"
            _say(f"error: {_sentence(error.format_message())}\nhint: {hint}")
            return MISUSED
        case _:
            _say(fault_text(error))
    return FAILED


def fault_text(error: Exception) -> str:
    """What a user is told of an error in the input, or of a fault of ours."""
    match error:
        case Diagnostic():
            return str(error)
        case click.ClickException():
            return f"error: {_sentence(error.format_message())}"
        case MemoryError():
            return f"error: not enough memory: {error}" if str(error) else "error: not enough memory"
        case OSError():
            at = f" '{error.filename}'" if error.filename else ""
            return f"error:{at} {(error.strerror or str(error)).lower()}"
        case _:
            return f"error: {type(error).__name__}: {error}\nhint: a fault of Imbrex; {TRACEBACK} shows where"


def _quoted(words: Sequence[str]) -> str | None:
    """A hint for `imbrex run conv -n 1 ...`, which the shell has taken apart."""
    if len(words) > 2 and words[1].startswith(("conv", "gemm", "hipblaslt")) and " " not in words[1]:
        return f'quote the problem: imbrex {words[0]} "{" ".join(words[1:])}"'
    return None


def _sentence(message: str) -> str:
    """click's words in our form: lower case, no full stop."""
    return message[:1].lower() + message[1:].rstrip(".")


_shown: set[str] = set()


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Once each, without the place in our source."""
    if str(message) not in _shown:
        _shown.add(str(message))
        _say(f"warning: {message}")


def _say(text: str) -> None:
    try:
        click.echo(printable(text), err=True)
    except (BrokenPipeError, ValueError):  # nobody listens
        return
