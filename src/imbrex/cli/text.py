"""Numbers as people read them, and facts in two columns."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import click

__all__ = ["bytes_text", "facts", "flops_text", "json_text", "seconds_text"]


def seconds_text(seconds: float) -> str:
    """Three digits and a unit: `1.62 ms`."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def bytes_text(count: int) -> str:
    """`270 KiB`."""
    for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << shift:
            return f"{count / (1 << shift):.3g} {unit}"
    return f"{count} B"


def flops_text(count: int) -> str:
    """`231 MFLOP`."""
    for scale, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")):
        if count >= scale:
            return f"{count / scale:.3g} {unit}FLOP"
    return f"{count} FLOP"


def facts(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A title, and below it a line for each (name, value)."""
    lines = list(rows)
    wide = max((len(name) for name, _ in lines), default=0)
    shown = [f"  {click.style(name.ljust(wide), dim=True)}  {value}" for name, value in lines]
    return "\n".join([click.style(title, bold=True), *shown])


def json_text(value: Any) -> str:
    """One JSON document."""
    return json.dumps(value, indent=2, ensure_ascii=False)
