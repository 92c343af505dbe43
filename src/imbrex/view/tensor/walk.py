"""walked: runs of rows as a walk over an image's pixels, one after another.

A run is a walk where its rows count through pixels (n, h, w), last fastest: along w and h in windows of start
pixels, along n one by one.  What else there is along w and h is the same for all rows of a run: the window's
tap.  All axes inside of the pixels are the channels, such as the group and the channel of a grouped
convolution; groups that are images of their own go with n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from imbrex.index.expr import lin, var
from imbrex.view.tensor.form import Piece, Refused, Walk
from imbrex.view.tensor.space import Axis, Space, joined_with
from imbrex.view.tensor.tiling import BATCH, INNER, Run, Tiling, shift
from imbrex.view.tensor.window import Path, Window, path, window

__all__ = ["walked"]


class Image(NamedTuple):
    """The array as TMA walks over it: channels, w and h, and the image's number."""

    channels: Axis
    windows: tuple[Window, Window]
    number: Axis


def walked(space: Space, tiling: Tiling, runs: Sequence[Run]) -> Walk | Refused:
    """The walk that has each run as a piece."""
    image = _image(space, tiling)
    if isinstance(image, Refused):
        return image
    pieces: list[Piece] = []
    for run in runs:
        if shift(image.channels.coordinate, run)[1] != var(INNER, run.inner):
            return Refused(f"{run.inner} neighbours along {tiling.inner} are not all channels of one tap")
        taps = [shift(w.offset, run) for w in image.windows]
        if any(moved != lin(0) for _, moved in taps):
            return Refused(f"{run.inner} neighbours along {tiling.inner} are not at one tap of the window")
        coordinates = (image.channels.coordinate, *(w.start for w in image.windows), image.number.coordinate)
        coords = tuple(shift(x, run)[0] for x in coordinates)
        pieces.append(Piece(run.byte_offset, coords, tuple(x for x, _ in taps), run.part_bytes))
    w, h = image.windows
    number = image.number
    return Walk(
        sizes=(image.channels.size, w.size, h.size, number.size),
        strides=(w.stride, h.stride, number.stride),
        base=space.base,
        lower=(w.lower, h.lower),
        upper=(w.upper, h.upper),
        channels=runs[0].inner,
        pixels=runs[0].rows,
        steps=(w.step, h.step),
        swizzle=tiling.tile.swizzle,
        pieces=tuple(pieces),
        open=3 if number.is_open else None,
        each=max(1, number.each),
    )


def _image(space: Space, tiling: Tiling) -> Image | Refused:
    channels, outer = _channels(space, tiling)
    if channels.coordinate.mentions(tiling.across):
        return Refused(f"{tiling.across} moves along what lies together in memory")
    paths = [path(axis, tiling.across) for axis in outer]
    moving = sorted((p for p in paths if p and p.digit != lin(0)), key=lambda p: p.every)
    still = [p for p in paths if p and p.digit == lin(0)]
    if None in paths or not _count_on(moving):
        return Refused(f"neighbours along {tiling.across} are not pixels one after another")
    number, sides = _number(moving, still, tiling)
    if any(p.axis.is_open for p in sides):
        return Refused("a run-time size is not that of the images")
    if len(sides) > 2:
        if any(p.axis.coordinate.variables == frozenset((BATCH,)) for p in sides):
            return Refused("a group is neither whole rows of channels nor images of its own")
        return Refused(f"an image of {len(sides)} dims has more than 2")
    found = [window(p, tiling.inner, tiling.sizes[tiling.inner]) for p in sides]
    flat = Window(1, (found[-1] if found else number).stride, 0, 0, 1, lin(0), lin(0))
    w, h, *_ = [*found, flat, flat]
    return Image(channels, (w, h), number)


def _channels(space: Space, tiling: Tiling) -> tuple[Axis, list[Axis]]:
    """The axes inside of the pixels as one, where they are one; all others, innermost first.

    Where k ends between rows of a tile, the rows beyond are channels that do not exist, of the first tap.
    """
    k, size = tiling.k_name, tiling.sizes[tiling.k_name]
    ends = tiling.inner == k and size % tiling.tile.k != 0 and size % tiling.tile.row == 0
    index = var(k, tiling.grown[k])
    again = {k: index % size} if ends else {}
    channels, *outer = (replace(a, coordinate=a.coordinate.subs(again)) for a in reversed(space.axes))
    while outer and not outer[0].coordinate.mentions(tiling.across):
        joined = joined_with(outer[0], channels)
        if joined is None:
            break
        channels, outer = joined, outer[1:]
    if ends:
        channels = replace(channels, coordinate=channels.coordinate + index // size * channels.size)
    return channels, outer


def _count_on(paths: Sequence[Path]) -> bool:
    """Does each path move on when the one before it starts anew, and the last one never start anew?"""
    if not paths or paths[0].every != 1 or paths[-1].count is not None:
        return False
    return all(p.count and p.every * p.count == q.every for p, q in pairwise(paths))


def _number(moving: Sequence[Path], still: Sequence[Path], tiling: Tiling) -> tuple[Axis, list[Path]]:
    """The axis of the image's number, and the paths inside of an image.

    It is the slowest one where that moves by single steps from 0 on, with the group where groups are images;
    else there is one image, whose rows end where the operand's do.  So do images along k: beyond are zeros.
    """
    *inside, last = moving
    count = -(-tiling.sizes[tiling.across] // last.every)
    ends = tiling.across == tiling.d_name or count >= last.axis.size
    if last.step > 1 or last.rest != lin(0) or not ends:
        ended, before = last.ended(count)
        return Axis(before, 1, last.axis.stride), [*inside, ended, *still]
    number = last.axis
    for group in still:
        # Beyond the last image of a group, the next group's would be read: harmless along d only.
        apart = number.stride * number.size
        if number.is_open:
            break
        if group.axis.stride == apart and (number.is_covered or tiling.across == tiling.d_name):
            size, index = number.size, group.axis.coordinate * number.size + number.coordinate
            number = Axis(index, group.axis.size * size, number.stride)
            return number, [*inside, *(p for p in still if p is not group)]
    return number, [*inside, *still]
