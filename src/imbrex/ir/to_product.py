"""The passes from a problem to matrix products, by the names in an algorithm's row."""

from __future__ import annotations

from imbrex.chip import Machine
from imbrex.config.algorithm.table import row_of
from imbrex.config.configuration import DIRECT, Configuration
from imbrex.config.products import form_of
from imbrex.config.tuning import Tuning
from imbrex.ir.from_problem import problem_module
from imbrex.ir.ops.standard import ModuleOp
from imbrex.ir.passes import Pass, pass_factory
from imbrex.ir.passes.arranged import ChannelsLast, MergeGroups
from imbrex.ir.passes.channel_vectors import ChannelVectors
from imbrex.ir.passes.conv_to_gemm import ConvToGemm
from imbrex.ir.passes.unfold import UnfoldContiguous
from imbrex.ir.passes.window_vectors import WindowVectors
from imbrex.problem import Problem

__all__ = ["name_in_ir", "stated", "to_product"]


def to_product(configuration: Configuration, machine: Machine) -> tuple[Pass, ...]:
    """The passes from the problem to matrix products."""
    row = row_of(configuration.algorithm)
    assert row is not None, configuration
    return *(_made(name, configuration, machine) for name in row.passes), UnfoldContiguous()


def stated(problem: Problem, name: str, of: Configuration, given: Tuning | None = None) -> ModuleOp:
    """A problem as IR, with what the configuration says of it before it is products.

    given: the tuning of windows that come into shared memory once, where the configuration has no products
    yet; without it their passes take the fastest by the model.
    """
    first = of.products[0].tuning if of.products else given
    return problem_module(problem, name, name_in_ir(of), first)


def name_in_ir(configuration: Configuration) -> str | None:
    """The algorithm as the module of a problem asks for it."""
    return None if configuration.algorithm == DIRECT else configuration.algorithm


def _made(name: str, of: Configuration, machine: Machine) -> Pass:
    """A pass with the options that the configuration says."""
    row = row_of(of.algorithm)
    match name:
        case ConvToGemm.name:
            form = form_of(of, machine)
            is_apart, is_shared, is_added = (form.phases == word for word in ("apart", "shared", "added"))
            more = form.images_last, form.abreast, is_added
            return ConvToGemm(form.taps_first, form.channel_multiple, is_apart, is_shared, *more)
        case ChannelsLast.name:  # where no key of the operation asks for copies
            return ChannelsLast(row is not None and row.stated == "pass", of.channels)
        case ChannelVectors.name:
            return ChannelVectors(of.strips)
        case WindowVectors.name:
            assert of.strips is not None, of
            return WindowVectors(of.strips)
        case MergeGroups.name if row is not None and "halo" in row.passes:
            return MergeGroups(of.in_place if of.products else None)
        case _:
            return pass_factory(name)()()
