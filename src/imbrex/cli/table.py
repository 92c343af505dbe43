"""Tables for a terminal; in a pipe as wide as they are, so that nothing is cut."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

__all__ = ["print_table"]

_NO_LIMIT = 10_000


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """The first column on the left, numbers on the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right", no_wrap=i > 0)
    for row in rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else _NO_LIMIT, highlight=False, markup=False).print(table)
