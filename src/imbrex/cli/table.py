"""Tables for a terminal, in which texts take as many lines as they need; in a pipe as wide as they are.

Law: nothing is cut.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

__all__ = ["print_table"]

_NO_LIMIT = 10_000
_LETTERS = 20
"""What is longer is no number, but a text, which may be broken anywhere."""


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Texts on the left, such as the first column, numbers on the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    cells = list(rows)
    for i, column in enumerate(columns):
        is_text = i == 0 or any(len(row[i]) > _LETTERS for row in cells)
        table.add_column(column, justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text)
    for row in cells:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else _NO_LIMIT
    Console(width=width, highlight=False, markup=False).print(table)
