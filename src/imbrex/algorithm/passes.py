"""The passes from a problem to matrix products, of each algorithm."""

from __future__ import annotations

from typing import TypeAlias

from imbrex.algorithm.name import (
    ALIGNED,
    ALL_LAST,
    CHANNEL_VECTORS,
    CHANNELS_LAST,
    HALO,
    INTERLEAVED,
    MERGED_GROUPS,
    SHARED_PHASES,
    SHARED_PHASES_LAST,
    WHOLE_IMAGES,
    WINDOW_ROWS,
    word_of,
)
from imbrex.config.algorithm.channels_last import COPIED
from imbrex.config.context import round_up
from imbrex.config.request import Request, has_matrix_instructions
from imbrex.config.warpgroup.plan import SHORTEST, VECTOR_BYTES, WarpgroupTuning, step_of_channels
from imbrex.ir.passes.aligned_rows import AlignedRows
from imbrex.ir.passes.channel_vectors import ChannelVectors
from imbrex.ir.passes.channels_last import ChannelsLastPass
from imbrex.ir.passes.conv_to_gemm import ConvToGemm
from imbrex.ir.passes.halo import Halo
from imbrex.ir.passes.merge_groups import MergeGroups
from imbrex.ir.passes.unfold import UnfoldContiguous
from imbrex.ir.passes.whole_images import WholeImagesPass
from imbrex.ir.passes.window_rows import WindowRowsPass
from imbrex.problem import Gemm

__all__ = ["to_product"]

ToProduct: TypeAlias = (
    AlignedRows
    | ChannelVectors
    | MergeGroups
    | Halo
    | WholeImagesPass
    | WindowRowsPass
    | ChannelsLastPass
    | ConvToGemm
    | UnfoldContiguous
)


def to_product(request: Request, algorithm: str | None) -> tuple[ToProduct, ...]:
    """The passes from the problem to matrix products."""
    packing = {
        **dict.fromkeys(COPIED, (ChannelsLastPass(),)),
        MERGED_GROUPS: (MergeGroups(), ChannelsLastPass()),
        WINDOW_ROWS: (WindowRowsPass(),),
        ALIGNED: (AlignedRows(),),
    }
    word = word_of(algorithm)
    if word == CHANNEL_VECTORS:
        return ChannelVectors(), ConvToGemm(True), UnfoldContiguous()
    if word == WHOLE_IMAGES:
        return WholeImagesPass(), UnfoldContiguous()
    if word in (SHARED_PHASES, SHARED_PHASES_LAST):
        first = (ChannelsLastPass(where_needed=True),) if word == SHARED_PHASES_LAST else ()
        gemms = ConvToGemm(True, _channel_multiple(request, algorithm), shared_phases=True)
        return *first, gemms, UnfoldContiguous()
    if word == HALO:
        given = request.tuning
        return MergeGroups.of(given), ChannelsLastPass(), Halo.of(given), UnfoldContiguous()
    return (
        *packing.get(word, ()),
        ConvToGemm(
            has_matrix_instructions(request),
            _channel_multiple(request, algorithm),
            phases_apart=request.machine.has_warpgroups and word in (INTERLEAVED, CHANNELS_LAST),
        ),
        UnfoldContiguous(),
    )


def _channel_multiple(request: Request, algorithm: str | None) -> int:
    """What channels are counted up to, so that a step of K stays at one tap; 1 where warpgroups do not
    multiply.  A given tuning's own step decides.
    """
    problem, tuning, is_served = request.problem, request.tuning, request.machine.has_warpgroups
    if isinstance(problem, Gemm) or not is_served or not has_matrix_instructions(request):
        return 1
    if algorithm == WINDOW_ROWS:
        return 1
    channels = problem.k if problem.direction == "backward_data" else problem.c
    if isinstance(tuning, WarpgroupTuning):
        return tuning.k_per_block
    word, _, count = (algorithm or "").partition(":")
    merged = int(count) if word == MERGED_GROUPS else 1
    channels = channels // problem.groups * merged
    if algorithm in (CHANNELS_LAST, ALL_LAST, SHARED_PHASES_LAST) and problem.direction != "backward_weight":
        channels = round_up(channels, max(1, VECTOR_BYTES // problem.dtype.bytes))
    shortest = SHORTEST // problem.dtype.bytes  # a step is of one phase
    least = shortest if word in (SHARED_PHASES, SHARED_PHASES_LAST) else 1
    return max(least, step_of_channels(channels, problem.dtype))
