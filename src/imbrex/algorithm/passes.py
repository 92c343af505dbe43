"""The passes from a problem to matrix products, of each algorithm."""

from __future__ import annotations

from typing import TypeAlias

from imbrex.algorithm.name import CHANNELS_LAST, INTERLEAVED, SHARED_PHASES, SHARED_PHASES_LAST, word_of
from imbrex.chip import Target
from imbrex.config.algorithm.channels_last import COPIED
from imbrex.config.configuration import Configuration
from imbrex.config.tuning import Tuning, text
from imbrex.ir.passes.aligned_rows import AlignedRows
from imbrex.ir.passes.channel_vectors import ChannelVectors
from imbrex.ir.passes.channels_last import ChannelsLastPass
from imbrex.ir.passes.conv_to_gemm import ConvToGemm
from imbrex.ir.passes.halo import Halo
from imbrex.ir.passes.merge_groups import MergeGroups
from imbrex.ir.passes.unfold import UnfoldContiguous
from imbrex.ir.passes.whole_images import WholeImagesPass
from imbrex.ir.passes.window_rows import WindowRowsPass

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


def to_product(
    configuration: Configuration, machine: Target, given: Tuning | None = None
) -> tuple[ToProduct, ...]:
    """The passes from the problem to matrix products.

    given: the tuning of windows that come into shared memory once, where the configuration has no products
    yet; without it their passes take the fastest by the model.
    """
    word, of = word_of(configuration.algorithm), configuration
    gemms = ConvToGemm(
        of.taps_first,
        of.channels,
        phases_apart=machine.has_warpgroups and word in (INTERLEAVED, CHANNELS_LAST),
        shared_phases=word in (SHARED_PHASES, SHARED_PHASES_LAST),
    )
    match word:
        case "channel_vectors":
            first: tuple[ToProduct, ...] = (ChannelVectors(of.strips), gemms)
        case "whole_images":
            first = (WholeImagesPass(),)
        case "shared_phases_last":
            first = (ChannelsLastPass(where_needed=True), gemms)
        case "halo":
            in_place = of.in_place if of.products else None
            tuning = of.products[0].tuning if of.products else given
            spelled = "" if tuning is None else text(tuning)
            first = (MergeGroups(spelled, in_place), ChannelsLastPass(), Halo(spelled))
        case "merged_groups":
            first = (MergeGroups(), ChannelsLastPass(), gemms)
        case "window_rows":
            first = (WindowRowsPass(), gemms)
        case "aligned":
            first = (AlignedRows(), gemms)
        case _:
            first = (ChannelsLastPass(), gemms) if word in COPIED else (gemms,)
    return *first, UnfoldContiguous()
