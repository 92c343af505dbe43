"""A convolution as implicit GEMMs: which array element each (gemmK, gemmM) and (gemmK, gemmN) is.

    direction            gemmM      gemmN        gemmK      A       B       C
    forward              k          n ho wo      c y x      filter  input   output
    backward data v1r1   c y x      n ho wo      k          filter  output  input, added where windows overlap
    backward data v4r1   c          n h~ w~      k y. x.    filter  output  input, one GEMM a phase
    backward weight      k          c y x        n ho wo    output  input   filter

Digits of a merged dim follow the memory order of an array, so that its fastest dim stays fastest.  gemmK may
have its taps first instead, channels as its fastest digit: then a stretch of gemmK stays at one tap, with
one guard for each lane, even where channels do not come last in memory.  And channels may be counted up to a
multiple, of which those too many do not exist: then a stretch of that length stays at one tap, too.
gemmK of backward weight may have its images as the fastest digit: then a stretch of as many as divide the
images stays at one pixel, and where its tap lies, and whether, differs by a scalar between stretches.
The phases of v4r1: with g = gcd(stride, dilation) and Y~ = stride / g, a filter row is y = Y~ * y. + y~, and
stride * ho + dilation * y = stride * h~ + dilation * y~ with h~ = ho + (dilation / g) * y. .  Fixing y~ fixes
the residue of the input rows, hi + pad = dilation * y~ modulo stride, and every y~ below Y~ has its own.  So
a phase stores all input rows of its residue, those that no window meets too, and none of another phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd
from typing import NamedTuple

from imbrex.index.map import Dim, Entry, Map
from imbrex.index.rule import Embed, Pad
from imbrex.index.stack import Stack, over
from imbrex.view.gemm.product import GemmView


class Axis(NamedTuple):
    """One spatial axis: input, output and filter extents, and how the window moves."""

    image: int
    out: int
    window: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def span(self) -> int:
        """Places from the first tap of a window to its last."""
        return self.dilation * (self.window - 1)

    @property
    def turned(self) -> Axis:
        """The axis of a gradient of the input, of a stride of 1: windows of the output, taps the other way
        round.
        """
        before, after = self.span - self.before, self.span - self.after
        return self._replace(image=self.out, out=self.image, before=before, after=after)


@dataclass(frozen=True)
class Convolution:
    """Three arrays as named dims in memory order, and the window's movement.

    filter: k c y x; input: n c hi wi; output: n k ho wo, each with "g" when grouped; c and k are per group.
    padding: ((top, bottom), (left, right)).
    """

    filter: tuple[Dim, ...]
    input: tuple[Dim, ...]
    output: tuple[Dim, ...]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    padding: tuple[tuple[int, int], tuple[int, int]]

    @property
    def height(self) -> Axis:
        return self._axis(0, "hi", "ho", "y")

    @property
    def width(self) -> Axis:
        return self._axis(1, "wi", "wo", "x")

    @property
    def is_grouped(self) -> bool:
        return "g" in dict(self.filter)

    def _axis(self, i: int, image: str, out: str, window: str) -> Axis:
        sizes = dict(self.filter) | dict(self.input) | dict(self.output)
        pads = self.padding[i]
        return Axis(sizes[image], sizes[out], sizes[window], self.strides[i], self.dilations[i], *pads)


def forward(conv: Convolution, taps_first: bool = False, channel_multiple: int = 1) -> GemmView:
    """v4r4.  channel_multiple: of c, where a window has several taps."""
    reduction = _reduction(conv.input, {"c": "c", "hi": "y", "wi": "x"}, taps_first)
    pixels = order_of(conv.output, {"n": "n", "ho": "ho", "wo": "wo"})
    more = more_channels(conv.filter, "c", _taps(conv), channel_multiple)
    return GemmView(
        a=stacked(_counted(conv.filter, more), gemmK=reduction, gemmM="k"),
        b=stacked(_windows(conv, more), gemmK=reduction, gemmN=pixels),
        c=stacked(over(conv.output), gemmM="k", gemmN=pixels),
    )


def backward_weight(
    conv: Convolution, taps_first: bool = False, channel_multiple: int = 1, images_last: bool = False
) -> GemmView:
    """v4r4: the filter's gradient sums over all pixels.  taps_first: of gemmN, where channels come last.
    channel_multiple: of c, where a window has several taps.  images_last: the fastest digit of gemmK.
    Where the images have more channels than the filter, as copies of whole packs do, the gradients of those
    are computed and not stored.
    """
    names = {"n": "n", "ho": "ho", "wo": "wo"}
    pixels = _with_last("n", order_of(conv.output, names)) if images_last else order_of(conv.output, names)
    taps = _reduction(conv.filter, {"c": "c", "y": "y", "x": "x"}, taps_first)
    windows = _windows(conv, more_channels(conv.input, "c", _taps(conv), channel_multiple))
    counted = {"k": dict(conv.output)["k"], "c": dict(windows.upper)["c"]}
    return GemmView(
        a=stacked(over(conv.output), gemmK=pixels, gemmM="k"),
        b=stacked(windows, gemmK=pixels, gemmN=taps),
        c=stacked(_filled(conv.filter, counted), gemmM="k", gemmN=taps),
    )


def backward_data_v1r1(conv: Convolution, taps_first: bool = False) -> GemmView:
    """One GEMM; its store map is injective only where `windows_are_apart`."""
    taps = _reduction(conv.filter, {"c": "c", "y": "y", "x": "x"}, taps_first and conv.input[-1].name == "c")
    pixels = order_of(conv.output, {"n": "n", "ho": "ho", "wo": "wo"})
    return GemmView(
        a=stacked(over(conv.filter), gemmK="k", gemmM=taps),
        b=stacked(over(conv.output), gemmK="k", gemmN=pixels),
        c=stacked(_windows(conv), gemmM=taps, gemmN=pixels),
    )


def backward_data_v4r1(
    conv: Convolution, taps_first: bool = False, channel_multiple: int = 1
) -> tuple[GemmView, ...]:
    """One GEMM for each phase (y~, x~) that has filter taps and input elements.

    channel_multiple: of k, in phases of several taps.
    """
    return tuple(_phase(conv, h, w, taps_first, channel_multiple) for h, w in phases(conv))


def phases(conv: Convolution) -> tuple[tuple[Phase, Phase], ...]:
    """Phases of rows and of columns in `backward_data_v4r1`, in its order."""
    return tuple(product(phases_along(conv.height), phases_along(conv.width)))


def windows_are_apart(conv: Convolution) -> bool:
    """Do windows share no pixel, so that v1r1 has one sum for each and adds none in memory?"""
    return not any(map(_overlap, (conv.height, conv.width)))


def _overlap(axis: Axis) -> bool:
    """Are there two (tap, output) pairs of one pixel: dilation * (y - y') = stride * (ho' - ho)?"""
    common = gcd(axis.stride, axis.dilation)
    return axis.stride // common < axis.window and axis.dilation // common < axis.out


def windows_meet_everything(conv: Convolution) -> bool:
    """Is each pixel of the input in a window?"""
    return all(len(_met(axis)) == axis.image for axis in (conv.height, conv.width))


def _met(axis: Axis) -> set[int]:
    pairs = product(range(axis.out), range(axis.window))
    pixels = (axis.stride * out + axis.dilation * tap - axis.before for out, tap in pairs)
    return {pixel for pixel in pixels if 0 <= pixel < axis.image}


def writes_everything(conv: Convolution) -> bool:
    """Do the phases of v4r1 together write every input element?  Where not, the rest must be zeroed first.

    They do where every residue of rows, and of columns, that has input elements has a phase.
    """
    return all(
        sum(phase.extent for phase in phases_along(axis)) == axis.image for axis in (conv.height, conv.width)
    )


class Phase(NamedTuple):
    """One residue of one axis: `taps` filter rows; input rows from h~ = `first` on, `extent` of them.

    start: the input row at h~ = first.
    """

    residue: int
    taps: int
    first: int
    extent: int
    start: int

    def taps_of(self, axis: Axis) -> Embed:
        """The filter's row of a tap."""
        return Embed((axis.stride // gcd(axis.stride, axis.dilation),), self.residue)

    def met(self, axis: Axis) -> tuple[Pad, Embed]:
        """The output's rows, padded, and which of them a tap meets for an input row."""
        back = axis.dilation // gcd(axis.stride, axis.dilation)
        pad = Pad(max(0, back * (self.taps - 1) - self.first), max(0, self.first + self.extent - axis.out))
        return pad, Embed((-back, 1), self.first + pad.before)


def phases_along(axis: Axis) -> Iterator[Phase]:
    """The phases of one axis that have taps and rows."""
    residues = axis.stride // gcd(axis.stride, axis.dilation)
    for residue in range(min(residues, axis.window)):
        shift = axis.dilation * residue - axis.before  # input row = stride * h~ + shift
        first, last = -(shift // axis.stride), (axis.image - 1 - shift) // axis.stride
        if first <= last:
            taps = (axis.window - residue - 1) // residues + 1
            yield Phase(residue, taps, first, last - first + 1, axis.stride * first + shift)


def _phase(conv: Convolution, h: Phase, w: Phase, taps_first: bool, channel_multiple: int) -> GemmView:
    pixels = order_of(conv.input, {"n": "n", "hi": "ht", "wi": "wt"})
    reduction = _reduction(conv.output, {"k": "k", "ho": "yd", "wo": "xd"}, taps_first)
    more = more_channels(conv.filter, "k", h.taps * w.taps, channel_multiple)
    return GemmView(
        a=stacked(_phase_filter(conv, h, w, more), gemmK=reduction, gemmM="c"),
        b=stacked(_phase_output(conv, h, w, more), gemmK=reduction, gemmN=pixels),
        c=stacked(_phase_input(conv, h, w), gemmM="c", gemmN=pixels),
    )


def _phase_filter(conv: Convolution, h: Phase, w: Phase, more: Sequence[Entry]) -> Stack:
    entries: tuple[Entry, ...] = (h.taps_of(conv.height), "yd", "y"), (w.taps_of(conv.width), "xd", "x")
    return over(conv.filter).replacing(*entries, *more, yd=h.taps, xd=w.taps)


def _phase_input(conv: Convolution, h: Phase, w: Phase) -> Stack:
    rows, columns = Embed((conv.height.stride,), h.start), Embed((conv.width.stride,), w.start)
    return over(conv.input).replacing((rows, "ht", "hi"), (columns, "wt", "wi"), ht=h.extent, wt=w.extent)


def _phase_output(conv: Convolution, h: Phase, w: Phase, more: Sequence[Entry]) -> Stack:
    (above, rows), (before, columns) = h.met(conv.height), w.met(conv.width)
    padded = over(conv.output).replacing((above, "hopad", "ho"), (before, "wopad", "wo"), *more)
    sizes = {"yd": h.taps, "ht": h.extent, "xd": w.taps, "wt": w.extent}
    return padded.replacing((rows, "yd ht", "hopad"), (columns, "xd wt", "wopad"), order=None, **sizes)


def _windows(conv: Convolution, more: Sequence[Entry] = ()) -> Stack:
    """The input as (filter tap, output pixel) pairs: pad, then slide.  more: channels."""
    (above, before), h, w = (Pad(*pads) for pads in conv.padding), conv.height, conv.width
    padded = over(conv.input).replacing((above, "hipad", "hi"), (before, "wipad", "wi"), *more)
    rows, columns = Embed((h.dilation, h.stride)), Embed((w.dilation, w.stride))
    sizes = {"y": h.window, "ho": h.out, "x": w.window, "wo": w.out}
    return padded.replacing((rows, "y ho", "hipad"), (columns, "x wo", "wipad"), order=None, **sizes)


def _taps(conv: Convolution) -> int:
    return conv.height.window * conv.width.window


def more_channels(memory: Sequence[Dim], name: str, taps: int, multiple: int) -> tuple[Entry, ...]:
    """The entry that counts channels up to a multiple; none where they are one or there is a single tap."""
    extra = -dict(memory)[name] % multiple if taps > 1 else 0
    return ((Pad(0, extra), name, name),) if extra else ()


def _counted(memory: Sequence[Dim], more: Sequence[Entry]) -> Stack:
    return over(memory).replacing(*more) if more else over(memory)


def _filled(memory: Sequence[Dim], counted: Mapping[str, int]) -> Stack:
    """Dims counted up to these numbers."""
    sizes = dict(memory)
    more = [(Pad(0, n - sizes[name]), name, name) for name, n in counted.items() if n > sizes[name]]
    return _counted(memory, more)


def stacked(below: Stack, **gemm: str) -> Map:
    """Gemm dims, each a merge of the named dims; "g", and the "turn" of phases, become gemmG."""
    batch = " ".join(name for name in ("g", "turn") if name in dict(below.upper))
    return below.merging(**({"gemmG": batch} if batch else {}), **gemm).map


def _reduction(memory: Sequence[Dim], names: dict[str, str], taps_first: bool) -> str:
    """The digits of a window: in memory order, or with the channel, the first of `names`, after the taps."""
    channel, *_ = names.values()
    digits = order_of(memory, names)
    return _with_last(channel, digits) if taps_first else digits


def _with_last(digit: str, digits: str) -> str:
    """The digits, this one as the fastest."""
    return " ".join(sorted(digits.split(), key=lambda one: one == digit))


def order_of(memory: Sequence[Dim], names: dict[str, str]) -> str:
    """The names in the order in which an array stores the dims that they stand for."""
    return " ".join(names[d.name] for d in memory if d.name in names)
