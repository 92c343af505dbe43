"""The passes, by name; a file each, or one of those that emit alike, imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final, TypeAlias

from xdsl.passes import ModulePass

Pass: TypeAlias = ModulePass

PASSES: Final = {
    "linalg-to-miopen": "linalg_to_miopen:LinalgToMiopen",
    "specialise": "specialise:Specialise",
    "run-time-sizes": "run_time_sizes:RunTimeSizes",
    "window-rows": "arranged:WindowRows",
    "merge-groups": "arranged:MergeGroups",
    "channels-last": "arranged:ChannelsLast",
    "channel-vectors": "channel_vectors:ChannelVectors",
    "window-vectors": "window_vectors:WindowVectors",
    "aligned-rows": "aligned_rows:AlignedRows",
    "whole-images": "conv_products:WholeImages",
    "halo": "conv_products:Halo",
    "conv-to-gemm": "conv_to_gemm:ConvToGemm",
    "unfold": "unfold:UnfoldContiguous",
    "affix-tuning": "affix_tuning:AffixTuning",
    "gridwise-to-blockwise": "gridwise_to_blockwise:GridwiseToBlockwise",
    "blockwise-to-threadwise": "blockwise_to_threadwise:BlockwiseToThreadwise",
    "check-buffers": "check_buffers:CheckBuffers",
}
"""Pass name to `module:class`, in the order in which a whole pipeline runs them."""


def pass_factory(name: str) -> Callable[[], type[ModulePass]]:
    """A function that imports the pass and gives its class."""
    module, _, attribute = PASSES[name].partition(":")

    def load() -> type[ModulePass]:
        found: type[ModulePass] = getattr(import_module(f"imbrex.ir.passes.{module}"), attribute)
        assert found.name == name, (found.name, name)
        return found

    return load
