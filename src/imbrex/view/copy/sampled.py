"""sampled: what windows of one tap read of an image, as an image of its own.

    input    [.., hi, wi]      a window of one row and one column, every `stride` of them
    sampled  [.., ho, wo]      all that it reads; what lies in the padding does not exist

Law: the convolution of the sampled input, in which such a window moves by one and nothing is padded, reads
the elements that the one of the input does.  An axis with more taps, or a stride of one, stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from imbrex.index.map import Dim, Layer, Map, Step, replacing
from imbrex.index.rule import Embed, Merge, Pad, PassThrough
from imbrex.index.stack import Stack, over
from imbrex.view.conv.implicit_gemm import Axis, Convolution

__all__ = ["Sampled", "sampled"]

BESIDE: Final = "beside"
AXES: Final = ("hi", "wi")


@dataclass(frozen=True)
class Sampled:
    """conv: the convolution of the sampled input.  map: sampled input -> input.  step: so many columns of the
    input lie together for each that is read; 1 where they do not all exist.
    """

    conv: Convolution
    map: Map
    step: int = 1

    @property
    def together(self) -> Map:
        """The same with a last dim `beside`, of `step` neighbours, the first of which is the one of `map`."""
        *above, below = self.map.layers
        assert not above, "where columns are together there is no padding"
        steps = tuple(
            Step(Embed((self.step, 1)), ("wi", BESIDE), ("wi",)) if s.lower == ("wi",) else s
            for s in below.steps
        )
        return Map((Layer((*below.upper, Dim(BESIDE, self.step)), below.lower, steps),))

    @property
    def within(self) -> Layer | None:
        """Rows and columns of the sampled input -> those of the input; None where some lie in padding, or it
        has not both.
        """
        *above, below = self.map.layers
        upper, lower = (tuple(d for d in dims if d.name in AXES) for dims in (below.upper, below.lower))
        if above or len(lower) < len(AXES):
            return None
        return Layer(upper, lower, tuple(s for s in below.steps if set(s.lower) <= set(AXES)))

    def wide(self, moved: Map) -> Map:
        """(workgroup, workitem, other, slot) -> sampled input, with `other` over all that lies together, on
        the input.
        """
        beside = Dim(BESIDE, self.step)
        kept = Step(PassThrough(), (BESIDE,), (BESIDE,))
        layers = [Layer((*x.upper, beside), (*x.lower, beside), (*x.steps, kept)) for x in moved.layers]
        order = [d.name for d in moved.upper]
        top = replacing(layers[0].upper, (Merge(), "other", f"other {BESIDE}"), order=order)
        return Map((top, *layers)).then(self.together)


def sampled(conv: Convolution) -> Sampled | None:
    """None where all of the input is read, or some of it twice."""
    axes = {"hi": conv.height, "wi": conv.width}
    moved = {name: axis for name, axis in axes.items() if axis.window == 1 and axis.stride > 1}
    if not moved:
        return None
    padded = _padded(conv.input, moved)
    entries = ((Embed((axis.stride,)), name, name) for name, axis in moved.items())
    stepped = padded.replacing(*entries, order=None, **{name: axis.out for name, axis in moved.items()})
    (down, across), (rows, columns) = conv.strides, conv.padding
    strides = (1 if "hi" in moved else down, 1 if "wi" in moved else across)
    padding = ((0, 0) if "hi" in moved else rows, (0, 0) if "wi" in moved else columns)
    small = replace(conv, input=stepped.upper, strides=strides, padding=padding)
    width = conv.width
    is_whole = "wi" in moved and conv.input[-1].name == "wi" and width.stride * width.out <= width.image
    step = width.stride if is_whole and not padded.layers else 1
    return Sampled(small, stepped.map, step)


def _padded(dims: Sequence[Dim], moved: Mapping[str, Axis]) -> Stack:
    """The padding of these axes; nothing where there is none."""
    pads = {name: Pad(axis.before, axis.after) for name, axis in moved.items() if axis.before or axis.after}
    return over(dims).replacing(*((pad, name, name) for name, pad in pads.items())) if pads else over(dims)
