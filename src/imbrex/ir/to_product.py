"""The passes from a problem to matrix products, by the names in an algorithm's row."""

from __future__ import annotations

from imbrex.chip import Target
from imbrex.config import tuning
from imbrex.config.algorithm.table import row_of
from imbrex.config.configuration import DIRECT, Configuration
from imbrex.config.products import form_of
from imbrex.config.tuning import Tuning
from imbrex.ir.passes import Pass, pass_factory
from imbrex.ir.passes.channel_vectors import ChannelVectors
from imbrex.ir.passes.channels_last import ChannelsLastPass
from imbrex.ir.passes.conv_to_gemm import ConvToGemm
from imbrex.ir.passes.halo import Halo
from imbrex.ir.passes.merge_groups import MergeGroups
from imbrex.ir.passes.unfold import UnfoldContiguous

__all__ = ["to_product", "word_in_ir"]


def to_product(
    configuration: Configuration, machine: Target, given: Tuning | None = None
) -> tuple[Pass, ...]:
    """The passes from the problem to matrix products.

    given: the tuning of windows that come into shared memory once, where the configuration has no products
    yet; without it their passes take the fastest by the model.
    """
    row = row_of(configuration.algorithm)
    assert row is not None, configuration
    return *(_made(name, configuration, machine, given) for name in row.passes), UnfoldContiguous()


def word_in_ir(configuration: Configuration) -> str | None:
    """The algorithm as the module of a problem asks for it."""
    return None if configuration.algorithm == DIRECT else configuration.algorithm


def _made(name: str, of: Configuration, machine: Target, given: Tuning | None) -> Pass:
    """A pass with the options that the configuration says."""
    row, own = row_of(of.algorithm), of.products[0].tuning if of.products else given
    match name:
        case ConvToGemm.name:
            form = form_of(of, machine)
            is_apart, is_shared = form.phases == "apart", form.phases == "shared"
            return ConvToGemm(form.taps_first, form.channel_multiple, is_apart, is_shared)
        case ChannelsLastPass.name:  # where no key of the operation asks for copies
            return ChannelsLastPass(where_needed=row is not None and row.stated == "pass")
        case ChannelVectors.name:
            return ChannelVectors(of.strips)
        case Halo.name:
            return Halo("" if own is None else tuning.text(own))
        case MergeGroups.name if row is not None and "halo" in row.passes:
            in_place = of.in_place if of.products else None
            return MergeGroups("" if own is None else tuning.text(own), in_place)
        case _:
            return pass_factory(name)()()
