"""Groups that are merged: which copies the merged convolution wants; see `view.conv.group_merge`."""

from __future__ import annotations

from imbrex.chip import VECTOR_BYTES
from imbrex.config.algorithm.channels_last import packed_alone, packed_arrays
from imbrex.config.algorithm.task import ConvTask
from imbrex.config.algorithm.windows import reads_planes
from imbrex.config.tuning import Tuning
from imbrex.diagnostic import Diagnostic

__all__ = ["copies_of"]


def copies_of(
    task: ConvTask, is_halo: bool, given: Tuning | None, in_place: bool | None = None
) -> str | None:
    """The copies of a merged convolution, a key of `channels_last.COPIED`; None where all is read in place.

    is_halo: are pixels to come once for all taps?  Then their channels lie together, unless planes are read:
    where in_place says so, or, where it says nothing, by the given tuning or the model.  A Diagnostic for
    planes in place that the tuning does not read.
    """
    if not packed_arrays(task):
        return None
    if is_halo:
        reads = reads_planes(task, given)
        if in_place and not reads:
            raise Diagnostic("planes are not read in place", hint="leave 'in_place' out")
        return None if (reads if in_place is None else in_place) else "channels_last"
    plane = task.conv.height.out * task.conv.width.out
    is_in_pieces = plane * task.dtype_of("output").bytes % VECTOR_BYTES == 0
    return "input_last" if is_in_pieces and packed_alone(task, "input") else "channels_last"
