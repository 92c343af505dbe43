"""Which keys each pipeline of a product reads: a key that none of its passes would look at is refused.

naive, 2x2, ahead   work items multiply in registers; a copy's work items by clusters
cpu                 one work item whose registers are vectors
xdlops              waves multiply by matrix instructions; a copy's work items in slices
warpgroup           warpgroups multiply what a pipeline of stages brings
"""

from __future__ import annotations

from typing import Final

from imbrex.ir.attrs import Int, Word
from imbrex.ir.literal import suggest
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.source import expect

PIPELINES: Final = ("2x2", "ahead", "naive", "cpu", "xdlops", "warpgroup")
THREAD_KEYS: Final = (
    "m_per_thread",
    "n_per_thread",
    "k_per_thread",
    "m_level0_cluster",
    "n_level0_cluster",
    "m_level1_cluster",
    "n_level1_cluster",
)
"""How work items share a product, in the pipelines that have none of their own keys."""
WAVE_KEYS: Final = ("m_per_wave", "n_per_wave", "kpack", "instruction")
"""How waves share a product, in the pipeline "xdlops"."""
OWN_KEYS: Final = {"xdlops": WAVE_KEYS, "warpgroup": ("tuning",)}
"""Keys that a pipeline needs; THREAD_KEYS of the others."""

_CLUSTERS: Final = ("matrix_a_copy_cluster_lengths", "matrix_b_copy_cluster_lengths")
_NUMBERS: Final = ("matrix_a_lds_numbers", "matrix_b_lds_numbers")
_LANES: Final = ("matrix_a_copy_lane_dim", "matrix_b_copy_lane_dim")
_SLICES: Final = tuple(f"matrix_{x}_copy_{key}" for x in "ab" for key in ("slice_lengths", "lane_inner"))
_BY_ITEMS: Final = {*THREAD_KEYS, *_CLUSTERS, *_NUMBERS, *_LANES}
READ_BY: Final = {
    "naive": _BY_ITEMS,
    "2x2": _BY_ITEMS,
    "ahead": _BY_ITEMS,
    "cpu": {*THREAD_KEYS, "k_inner", "stationary", "instruction"},
    "xdlops": {
        *(*WAVE_KEYS, "interleave", "lds_layout", "lds_buffers", "copy"),
        *(*_CLUSTERS, *_SLICES, *_LANES, *_NUMBERS),
    },
    "warpgroup": {"tuning", "clusters", "phases"},
}
"""Keys that some pipelines read, by pipeline; all others are everybody's."""
_SOMEBODYS: Final = frozenset(key for keys in READ_BY.values() for key in keys)


def expect_word(word: Word | None, known: tuple[str, ...], key: str) -> None:
    """A word that is given must be one of the known ones."""
    if word is not None:
        expect(word.data in known, f"unknown {key} '{word.data}'{suggest(word.data, known)}", key)


def expect_pipeline(op: MiopenOp, pipeline: Word | None) -> None:
    """The pipeline is a known one, the numbers that it needs are given, and it reads those that are."""
    expect_word(pipeline, PIPELINES, "pipeline")
    name = pipeline.data if pipeline is not None else "naive"
    for key in OWN_KEYS.get(name, THREAD_KEYS):
        expect(key in op.properties, f"'{key}' is needed by the pipeline '{name}'")
    for key in op.properties:
        readers = [f"'{other}'" for other in PIPELINES if key in READ_BY[other]]
        is_read = key not in _SOMEBODYS or key in READ_BY[name]
        expect(is_read, f"'{key}' is for {', '.join(readers)}; the pipeline '{name}' does not read it", key)


def expect_widths(op: MiopenOp) -> None:
    """An access moves 1, 2, 4, 8 .. elements."""
    for key, value in op.properties.items():
        if "data_per" in key and isinstance(value, Int):
            is_power = value.data > 0 and value.data & (value.data - 1) == 0
            expect(is_power, f"'{key}' is a power of two, got {value.data}", key)
