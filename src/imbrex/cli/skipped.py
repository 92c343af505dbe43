"""Skipped: what a command is given and does not serve, each with its location and reason.

Law: without --keep-going the first of them ends the command; with it none does, and all are told at the end.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import click

from imbrex.cli.guard import FAILED
from imbrex.diagnostic import Diagnostic, printable

__all__ = ["Skipped"]


@dataclass(frozen=True)
class Skipped:
    """What is skipped, by what it says and why; of each where it stands first, and how often."""

    keeps_going: bool = False
    found: dict[tuple[str, str], tuple[str, int]] = field(
        default_factory=dict[tuple[str, str], tuple[str, int]]
    )

    def add(self, text: str, reason: str, location: str = "", count: int = 1) -> None:
        """One more."""
        first, before = self.found.get((text, reason), (location, 0))
        self.found[text, reason] = (first, before + count)

    def unread(self, line: str, reason: Diagnostic) -> None:
        """A line that cannot be read."""
        if not self.keeps_going:
            raise reason
        self.add(line, reason.message, reason.location)

    @contextmanager
    def unless_served(self, text: str, location: str, count: int) -> Generator[None]:
        """The block serves a problem; where it refuses to, the problem is skipped."""
        try:
            yield
        except (Diagnostic, MemoryError) as reason:
            if not self.keeps_going:
                raise
            message = reason.message if isinstance(reason, Diagnostic) else f"not enough memory: {reason}"
            self.add(text, message, location, count)

    @property
    def lines(self) -> list[str]:
        """Lines for people, one each: `conv3d -n 1 (log.txt:7:1), 3 times: unknown convolution`."""
        found: list[str] = []
        for (text, reason), (location, count) in self.found.items():
            where, often = f" ({location})" if location else "", f", {count} times" if count > 1 else ""
            found.append(printable(f"{text}{where}{often}: {reason}".replace("\n", " ")))
        return found

    def show(self, *, on_errors: bool = False) -> None:
        """All of them, one a line.  on_errors: on standard error, where the output is no table."""
        for line in self.lines:
            click.echo(f"skipped {line}", err=on_errors)

    def code(self, served: int) -> int:
        """The exit code of a command that found nothing wrong with what it served: did it serve any?"""
        return FAILED if self.found and not served else 0
