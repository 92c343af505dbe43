"""Layouts of a filter and of a result that follow the images': one order of dimensions for all three."""

from __future__ import annotations

from imbrex.problem.layout import Layout, parse_layout

__all__ = ["Names", "following"]

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
