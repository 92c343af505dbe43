"""The names of algorithms, as users write them."""

from __future__ import annotations

from typing import Final

__all__ = [
    "ALIGNED",
    "ALL_LAST",
    "CHANNELS_LAST",
    "CHANNEL_VECTORS",
    "DIRECT",
    "HALO",
    "INTERLEAVED",
    "MERGED_GROUPS",
    "SHARED_PHASES",
    "SHARED_PHASES_LAST",
    "WHOLE_IMAGES",
    "WINDOW_ROWS",
    "word_of",
]

CHANNELS_LAST: Final = "channels_last"
ALL_LAST: Final = "all_last"
MERGED_GROUPS: Final = "merged_groups"
CHANNEL_VECTORS: Final = "channel_vectors"
WINDOW_ROWS: Final = "window_rows"
HALO: Final = "halo"
WHOLE_IMAGES: Final = "whole_images"
INTERLEAVED: Final = "interleaved"
SHARED_PHASES: Final = "shared_phases"
SHARED_PHASES_LAST: Final = "shared_phases_last"
ALIGNED: Final = "aligned"
DIRECT: Final = "direct"


def word_of(algorithm: str | None) -> str:
    """The name without its number: "halo" of "halo:4"."""
    return (algorithm or "").partition(":")[0]
