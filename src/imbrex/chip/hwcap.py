"""What AArch64 Linux calls the features of a CPU, and where the auxiliary vector tells each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ["HWCAPS", "names_of", "words_of"]

HWCAPS: Final[dict[str, tuple[int, int]]] = {
    "fphp": (0, 9),
    "asimdhp": (0, 10),
    "asimddp": (0, 20),
    "sve": (0, 22),
    "asimdfhm": (0, 23),
    "sve2": (1, 1),
    "svei8mm": (1, 9),
    "svebf16": (1, 12),
    "i8mm": (1, 13),
    "bf16": (1, 14),
}
"""Feature, as /proc/cpuinfo spells it -> AT_HWCAP (0) or AT_HWCAP2 (1), and the bit (Linux,
arch/arm64/include/uapi/asm/hwcap.h).
"""


def words_of(features: Iterable[str]) -> tuple[int, int]:
    """AT_HWCAP and AT_HWCAP2 of a CPU that has these features; SVE's size is not told there."""
    words = [0, 0]
    for word, bit in (HWCAPS[feature] for feature in features if feature in HWCAPS):
        words[word] |= 1 << bit
    return words[0], words[1]


def names_of(words: tuple[int, int]) -> list[str]:
    """The features of these words, by name."""
    return [name for name, (word, bit) in HWCAPS.items() if words[word] >> bit & 1]
