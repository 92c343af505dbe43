"""What a notebook shows of a kernel: facts, and the Maps of its operands as ladders."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from imbrex.config.request import Request
from imbrex.explore.panels.maps import maps
from imbrex.explore.subject import Subject
from imbrex.explore.svg import document

__all__ = ["html"]


def html(facts: Mapping[str, str], request: Request | None) -> str:
    """A table, and a drawing where the request is known that the kernel was made of."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in facts.items())
    drawn = None if request is None else maps(Subject(request)).svg
    return f"<table>{rows}</table>{document(drawn) if drawn else ''}"
