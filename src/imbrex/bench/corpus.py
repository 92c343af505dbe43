"""Corpus: the sizes of the Stream-K paper's experiment, drawn anew: m, n, k log-uniform in 128..8192.

Law: integers and one power only, so that every machine draws the same sizes; `corpus(8)` is `corpus(1)` with
each size rounded to a multiple of 8.  (Osama, Merrill, Cecka, Garland, Owens, PPoPP 2023: 32,824 problems;
the authors' own list is not published.)
"""

from __future__ import annotations

from functools import cache

__all__ = ["COUNT", "corpus", "sample"]

COUNT = 32_824
LEAST, OCTAVES = 128, 6
_FIRST = 2023 << 32
_WORD = (1 << 64) - 1

Sizes = tuple[int, int, int]


@cache
def corpus(multiple: int = 8) -> tuple[Sizes, ...]:
    """All (m, n, k), in the order drawn.  multiple: what each size is rounded to."""
    drawn = [_size(_FIRST + i, multiple) for i in range(3 * COUNT)]
    return tuple((drawn[i], drawn[i + 1], drawn[i + 2]) for i in range(0, 3 * COUNT, 3))


def sample(count: int, multiple: int = 8) -> tuple[Sizes, ...]:
    """`count` of the corpus, evenly spaced in the order of their volumes m n k."""
    ordered = sorted(corpus(multiple), key=lambda sizes: (sizes[0] * sizes[1] * sizes[2], sizes))
    return tuple(ordered[(2 * i + 1) * COUNT // (2 * count)] for i in range(count))


def _size(counter: int, multiple: int) -> int:
    uniform = (_mixed(counter) >> 11) * 2.0**-53
    size = int(LEAST * 2.0 ** (OCTAVES * uniform) + 0.5)
    return (size + multiple // 2) // multiple * multiple


def _mixed(counter: int) -> int:
    """SplitMix64 from state 0 (Steele, Lea, Flood, OOPSLA 2014): its output number `counter`."""
    z = (counter + 1) * 0x9E37_79B9_7F4A_7C15 & _WORD
    z = (z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9 & _WORD
    z = (z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB & _WORD
    return z ^ (z >> 31)
