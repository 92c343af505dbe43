"""Serving: why a convolution is not served by an algorithm, and the numbers that one is tried with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from imbrex.config.algorithm.channels_last import ALREADY, COPIED, RESULT_STAYS, packed_arrays
from imbrex.config.algorithm.depthwise import FEW_CHANNELS, has_window_vectors, is_depthwise, is_lanes_own
from imbrex.config.algorithm.few_channels import NOT_SERVED, rows_of
from imbrex.config.algorithm.phases import leaves_gaps, shares_phases
from imbrex.config.algorithm.task import ConvTask
from imbrex.config.algorithm.windows import refused
from imbrex.numeral import counted, whole
from imbrex.view.conv.implicit_gemm import windows_are_apart
from imbrex.view.conv.raster import RasterDirection
from imbrex.view.conv.row_taps import row_taps
from imbrex.view.conv.whole_images import NOT_SERVED as NO_IMAGES
from imbrex.view.conv.whole_images import serves
from imbrex.view.stage.shared_tile import SWIZZLES

__all__ = ["SERVING", "Refusal", "Serving", "is_on_lanes"]

LEAVE_OUT: Final = "leave the algorithm out"
ABREAST: Final = (16, 8)
"""Images, of which the rows of LDS of a tap are whole periods of its permutations."""
IN_PLACE: Final = f"{LEAVE_OUT}, and they are read where they are"


class Refusal(NamedTuple):
    """Why an algorithm does not serve, as what follows its name in a sentence; and what to do."""

    reason: str
    hint: str = LEAVE_OUT


@dataclass(frozen=True)
class Serving:
    """refused: why a convolution is not served, given what follows the algorithm's name.  offers: the numbers
    with which the model is asked about it, 1 where none follows.
    """

    refused: Callable[[ConvTask, str], Refusal | None]
    offers: Callable[[ConvTask], Iterable[int]]


def is_on_lanes(task: ConvTask) -> bool:
    """Is it one that lanes had better multiply?"""
    return is_depthwise(task) and is_lanes_own(task.dtype)


def _channel_vectors(task: ConvTask, number: str) -> Refusal | None:
    if is_depthwise(task):
        return None
    return Refusal(" is for one channel and one filter a group, and no large windows")


def _window_vectors(task: ConvTask, number: str) -> Refusal | None:
    if has_window_vectors(task):
        return None
    which = f"groups of up to {FEW_CHANNELS} channels, and no large windows"
    return Refusal(f" is for {which}; of gradients of images, for strides within an image")


def _nothing_packed(key: str) -> Callable[[ConvTask, str], Refusal | None]:
    """What is said where the copies of a key of `channels_last.COPIED` are none."""
    why = RESULT_STAYS if key == "all_last" else ALREADY
    none = Refusal(f" has nothing to pack: {why}", IN_PLACE)
    return lambda task, number: None if COPIED[key](task) else none


def _interleaved(task: ConvTask, number: str) -> Refusal | None:
    return _refusal(leaves_gaps(task))


def _shared_phases(task: ConvTask, number: str) -> Refusal | None:
    return _refusal(shares_phases(task))


def _shared_phases_last(task: ConvTask, number: str) -> Refusal | None:
    if found := _shared_phases(task, number):
        return found
    return None if packed_arrays(task) else Refusal(f" has nothing to pack: {ALREADY}", IN_PLACE)


def _window_rows(task: ConvTask, number: str) -> Refusal | None:
    return None if rows_of(task) is not None else _refusal(NOT_SERVED)


def _whole_images(task: ConvTask, number: str) -> Refusal | None:
    if not serves(task.conv, task.dtype.bytes):
        return _refusal(NO_IMAGES)
    rows = [str(row // task.dtype_of("filter").bytes) for row in reversed(SWIZZLES)]
    if number in rows:
        return None
    reason = " says how many positions of an image a row of shared memory holds"
    return Refusal(reason, f"write 'whole_images:COUNT' with a COUNT of {', '.join(rows)}")


def _whole_rows(task: ConvTask) -> Iterator[int]:
    """Positions of the longest row of shared memory; others were not seen to be faster."""
    if serves(task.conv, task.dtype.bytes):
        yield SWIZZLES[0] // task.dtype.bytes


def _merged_groups(task: ConvTask, number: str) -> Refusal | None:
    if task.groups == 1:
        return Refusal(" has no groups to merge")
    return _groups(task, "merged_groups", number)


def _merged_rows(task: ConvTask) -> Iterator[int]:
    """So many groups that their channels are a row of shared memory."""
    narrow, wide = _channel_bytes(task)
    for row in reversed(SWIZZLES):
        count = row // narrow
        if count > 1 and task.groups % count == 0 and count * wide <= SWIZZLES[0]:
            yield count


def _halo(task: ConvTask, number: str) -> Refusal | None:
    return _groups(task, "halo", number) or _refusal(refused(task, int(number)))


def _halo_groups(task: ConvTask) -> Iterator[int]:
    """One group, or so many that their channels are a row; lanes read what they read once, too."""
    if not is_on_lanes(task):
        narrow, _ = _channel_bytes(task)
        yield from (n for n in {1, *(row // narrow for row in SWIZZLES)} if refused(task, n) is None)


def _row_halo(task: ConvTask, number: str) -> Refusal | None:
    images = dict(task.conv.input)["n"]
    count = whole(number, 1)
    if count is None or count > images:
        reason = f" says how many of {counted(images, 'image')} lie abreast in a tile"
        return Refusal(reason, f"write 'row_halo:COUNT' with a COUNT from 1 to {images}")
    found = row_taps(task.conv, _raster_direction(task), count)
    return Refusal(f": {found}") if isinstance(found, str) else None


def _images_abreast(task: ConvTask) -> Iterator[int]:
    """As many as leave taps whole periods of a layout of LDS apart and divide the images, or else one."""
    images = dict(task.conv.input)["n"]
    count = next(n for n in (*ABREAST, 1) if images % n == 0)
    if not _row_halo(task, str(count)):
        yield count


def _raster_direction(task: ConvTask) -> RasterDirection:
    assert task.direction != "backward_weight", task
    return task.direction


def _groups(task: ConvTask, word: str, number: str) -> Refusal | None:
    count = whole(number, 1)
    if count is not None and task.groups % count == 0:
        return None
    reason = f" says how many of {counted(task.groups, 'group')} are computed as one"
    return Refusal(reason, f"write '{word}:COUNT' with a COUNT that divides {task.groups}")


def _channel_bytes(task: ConvTask) -> tuple[int, int]:
    """Bytes of the channels of a group, of the array that has fewer and of the one that has more."""
    sizes, size = dict(task.conv.filter), task.dtype.bytes
    return min(sizes["c"], sizes["k"]) * size, max(sizes["c"], sizes["k"]) * size


def _refusal(reason: str | None) -> Refusal | None:
    return None if reason is None else Refusal(f": {reason}")


def _where_served(refused: Callable[[ConvTask, str], Refusal | None]) -> Serving:
    """The model is asked about it wherever it serves."""
    return Serving(refused, lambda task: () if refused(task, "") else (1,))


def _served(task: ConvTask, number: str) -> Refusal | None:
    return None


def _one_product(task: ConvTask) -> Iterator[int]:
    """One product instead of one for each tap, where windows share no pixel."""
    if task.is_backward_data and _has_taps(task) and windows_are_apart(task.conv):
        yield 1


def _one_product_last(task: ConvTask, number: str) -> Refusal | None:
    """The same of copies."""
    if not _has_taps(task):
        return _refusal("a window of one tap has one product as it is")
    if not windows_are_apart(task.conv):
        return _refusal("windows overlap, of which v4r1 and its forms sum in registers")
    return _nothing_packed("channels_last")(task, number)


def _has_taps(task: ConvTask) -> bool:
    return task.conv.height.window * task.conv.width.window > 1


SERVING: Final[Mapping[str, Serving]] = {
    **dict.fromkeys(("v4r4", "v4r1"), Serving(_served, lambda task: ())),
    "v1r1": Serving(_served, _one_product),
    "v1r1_last": _where_served(_one_product_last),
    "channel_vectors": Serving(_channel_vectors, lambda task: (1,) if is_on_lanes(task) else ()),
    "window_vectors": Serving(_window_vectors, lambda task: ()),
    **{key: _where_served(_nothing_packed(key)) for key in COPIED},
    "interleaved": _where_served(_interleaved),
    "shared_phases": _where_served(_shared_phases),
    "shared_phases_last": _where_served(_shared_phases_last),
    "window_rows": _where_served(_window_rows),
    "whole_images": Serving(_whole_images, _whole_rows),
    "merged_groups": Serving(_merged_groups, _merged_rows),
    "halo": Serving(_halo, _halo_groups),
    "row_halo": Serving(_row_halo, _images_abreast),
}
"""When each algorithm of convolutions serves."""
