"""Layouts of a filter and of a result that follow the images': one order of dimensions for all three."""

from __future__ import annotations

from functools import lru_cache

from imbrex.diagnostic import Diagnostic
from imbrex.problem.layout import Layout, parse_layout

__all__ = ["Names", "following", "layouts_of"]

Names = tuple[Layout, Layout, Layout]
"""Orders of the dimensions of filter, input and output."""

_FILTER = {"n": "k", "c": "c", "hi": "y", "wi": "x"}
_OUTPUT = {"n": "n", "c": "k", "hi": "ho", "wi": "wo"}


def following(images: str, filters: str | None = None, results: str | None = None) -> Names:
    """NCHW gives KCYX and NKHW, NHWC gives KYXC and NHWK; what is given is taken as it is."""
    input_ = parse_layout("input", images)
    return (
        parse_layout("filter", [_FILTER[name] for name in input_] if filters is None else filters),
        input_,
        parse_layout("output", [_OUTPUT[name] for name in input_] if results is None else results),
    )


@lru_cache(maxsize=64)
def layouts_of(layout: str, filter_layout: str | None, output_layout: str | None) -> Names:
    """Names as `following` has them; ValueError for what it refuses."""
    try:
        return following(layout, filter_layout, output_layout)
    except Diagnostic as error:
        raise ValueError(f"{error.message}; {error.hint}") from None
