"""Phases of a strided gradient that share tiles: all columns of the input's rows of one residue.

    hi = s v + f    wi = s v + e            the input by residues f of rows, e of columns
    hi + before = s ho + d y                what a tap meets, and so does wi + before = s wo + d x:
    e = (d x - before) mod s,   wo = v - floor((d x - before) / s)

So a tap x of the filter's columns belongs to the phase e, and one product has the taps of all phases, tap
columns slowest along K: each s-th column of its result, from the e-th on, sums over the parts of K that are
e's.

    a   (f,) (x, y., k), c      the filter; y. counts the taps of a residue f of rows
    b   (f,) (x, y., k), (n, v, v)      the output's gradient, the same for all phases but for x
    c   (f,) c, (n, v, v, e)    the input's gradient; neighbours along a row are neighbours of a result's row

Where all residues of rows are met, they are batches of one product, whose parts of K are as long as their
taps are many: rows that follow one another in memory are written at about the same time.  Where one alone is,
as with a single tap, its tiles have the other rows, too, as phases that no part of K is of: zeros, with no
products.  Others are not served.  See `view.conv.phase_box` for the order of phases.

Law: the product writes every input element once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from imbrex.index.map import Entry
from imbrex.index.rule import Broadcast, Embed, Merge, Pad, Unmerge
from imbrex.index.stack import Stack, over
from imbrex.view.conv.implicit_gemm import Axis, Convolution, more_channels, order_of, stacked
from imbrex.view.conv.phase_box import PhaseBox, Phases
from imbrex.view.conv.phase_rows import Alone, Together, met_rows
from imbrex.view.gemm.product import GemmView

__all__ = ["PhaseTile", "phase_count", "phase_tile"]


@dataclass(frozen=True)
class PhaseTile:
    """A product, and its phases."""

    view: GemmView
    phases: Phases


def phase_count(conv: Convolution) -> int:
    """Phases of a tile; 0 where rows are not served."""
    rows = met_rows(conv.height)
    return 0 if rows is None else rows.neighbours * conv.width.stride


def phase_tile(conv: Convolution, channel_multiple: int = 1, vector: int = 1) -> PhaseTile:
    """channel_multiple: of k, which goes round by taps.  vector: neighbours of a row that had better stay
    together.
    """
    more, rows = more_channels(conv.filter, "k", 2, channel_multiple), met_rows(conv.height)
    assert rows is not None, f"some rows of several are met: {conv}"
    width = conv.width
    run = gcd(_columns(width), max(1, vector // width.stride)) if rows.neighbours > 1 else 1
    box = PhaseBox(rows.neighbours, run, width.stride)
    first = rows.phase * width.stride
    phases = tuple(first + (width.dilation * x - width.before) % width.stride for x in range(width.window))
    view = _view(conv, rows, more, box)
    channels = dict(view.a.upper)["gemmK"] // (rows.taps * width.window)
    return PhaseTile(view, Phases(phases, box, tuple(taps * channels for taps in rows.counts)))


def _view(conv: Convolution, rows: Alone | Together, more: Sequence[Entry], box: PhaseBox) -> GemmView:
    pixels = order_of(conv.input, {"n": "n", "hi": "hv", "wi": "wv"})
    stored = order_of(conv.input, {"n": "n", "hi": "hv", "wi": "block row near e"})
    return GemmView(
        a=stacked(rows.filter(over(conv.filter).replacing(*more)), gemmK="x yd k", gemmM="c"),
        b=stacked(_output(conv, rows, more), gemmK="x yd k", gemmN=pixels),
        c=stacked(_input(conv, rows, box), gemmM="c", gemmN=stored),
        phases=box.count,
    )


def _columns(width: Axis) -> int:
    """Columns of the input in each residue."""
    return -(-width.image // width.stride)


def _input(conv: Convolution, rows: Alone | Together, box: PhaseBox) -> Stack:
    width = conv.width
    sizes = {"block": _columns(width) // box.run, "near": box.run, "e": width.stride}
    padded = over(conv.input).replacing((Pad(0, -width.image % width.stride), "wipad", "wi"))
    return rows.input(padded.replacing((Unmerge(), "block near e", "wipad"), order=None, **sizes))


def _output(conv: Convolution, rows: Alone | Together, more: Sequence[Entry]) -> Stack:
    """The output's gradient as (tap, input pixel of a phase)."""
    width = conv.width
    odd = -width.before % width.stride
    ahead = (width.before + odd) // width.stride
    steps = (width.span + odd) // width.stride
    pad = Pad(max(0, steps - ahead), max(0, ahead + _columns(width) - width.out))
    slide: Entry = (Embed((-1, 1), ahead + pad.before), "step wv", "wopad")
    sizes = {"step": steps + 1, "wv": _columns(width), "residue": width.stride}
    padded = over(conv.output).replacing((pad, "wopad", "wo"), *more)
    met = padded.passing(slide, (Broadcast(), "residue", ""), **sizes)
    joined = met.passing((Merge(), "met", "step residue"))
    return rows.output(joined.replacing((Embed((width.dilation,), odd), "x", "met"), x=width.window))
