"""Layout: the order of an array's dimensions in memory, outermost first, as the dialect's dimension names.

Law: a layout of a role is a permutation of that role's four names.  Texts of it come from several tools, so a
letter is read by its role: in a filter `N` and `K` are both the output channels, and `H`, `Y` and `0` are the
window's height; in an output `C` and `K` are both the channels.  A group letter `G` may stand directly before
the dimension that the groups split; it adds no order, because channels are stored as (group, the rest).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Final, Literal, cast

from imbrex.diagnostic import Diagnostic

__all__ = ["DIMENSIONS", "GROUPED", "ROLES", "Layout", "Role", "layout_text", "parse_layout"]

Role = Literal["filter", "input", "output"]
ROLES: Final[tuple[Role, Role, Role]] = ("filter", "input", "output")
Layout = tuple[str, ...]

DIMENSIONS: dict[Role, Layout] = {
    "filter": ("k", "c", "y", "x"),
    "input": ("n", "c", "hi", "wi"),
    "output": ("n", "k", "ho", "wo"),
}
"""The dialect's names for each role, in the default order (KCYX, NCHW, NKHW)."""

GROUPED: dict[Role, str] = {"filter": "k", "input": "c", "output": "k"}
"""The dimension that splits into (group, the rest), so that a "g" stands directly before it."""

_LETTERS: dict[Role, dict[str, str]] = {
    "filter": {"k": "K", "c": "C", "y": "Y", "x": "X"},
    "input": {"n": "N", "c": "C", "hi": "H", "wi": "W"},
    "output": {"n": "N", "k": "K", "ho": "H", "wo": "W"},
}

_MEANINGS: dict[Role, dict[str, str]] = {
    "filter": {"K": "k", "N": "k", "C": "c", "Y": "y", "H": "y", "0": "y", "X": "x", "W": "x", "1": "x"},
    "input": {"N": "n", "C": "c", "H": "hi", "0": "hi", "W": "wi", "1": "wi"},
    "output": {"N": "n", "K": "k", "C": "k", "H": "ho", "0": "ho", "W": "wo", "1": "wo"},
}

WORDS = {"channels_last": "NHWC", "contiguous_format": "NCHW"}
"""What other projects call an order."""

_MIOPEN = {"k": "C", "c": "C", "n": "N", "hi": "H", "wi": "W", "ho": "H", "wo": "W"}
_MIOPEN_FILTER = {"k": "N", "c": "C", "y": "H", "x": "W"}


def parse_layout(role: Role, text: str | Sequence[str]) -> Layout:
    """The layout that `text` writes, in letters (`NCHW`, `kyxc`, `NGC01`) or names (`n`, `c`, `hi`, `wi`)."""
    words = [str(word) for word in text] if isinstance(cast(object, text), Sequence) else [repr(text)]
    written = text if isinstance(text, str) else " ".join(words)
    if (letters := WORDS.get(written.lower())) is not None:
        hint = f"{letters} is what PyTorch calls {written.lower()}"
        raise Diagnostic(f"unknown layout '{written}'", hint=hint, subject=f"{role}_layout")
    names = [_meaning(role, word, written) for word in words]
    wanted = DIMENSIONS[role]
    if sorted(name for name in names if name != "g") != sorted(wanted) or names.count("g") > 1:
        raise _bad_layout(role, written, f"needs each of {', '.join(wanted)} once, got {', '.join(names)}")
    if "g" in names and names[names.index("g") + 1 :][:1] != [GROUPED[role]]:
        before = GROUPED[role]
        raise _bad_layout(role, written, f"must have 'g' directly before '{before}'")
    return tuple(name for name in names if name != "g")


def layout_text(role: Role, layout: Layout, *, miopen: bool = False) -> str:
    """`NCHW`, `KYXC`, `NHWK`; with miopen=True in MIOpen's letters, N, C, H, W for every role."""
    letters = _LETTERS[role] if not miopen else _MIOPEN_FILTER if role == "filter" else _MIOPEN
    return "".join(letters[name] for name in layout)


def _meaning(role: Role, word: str, written: str) -> str:
    """The dialect's name for one letter, or for one name such as `hi`, `0i`, `no`."""
    if word.lower() == "g" or (len(word) == 2 and word.lower()[0] == "g"):
        return "g"
    if word.lower() in DIMENSIONS[role]:
        return word.lower()
    suffix = {"filter": "", "input": "i", "output": "o"}[role]
    stem = word[:-1] if len(word) == 2 and suffix and word.lower().endswith(suffix) else word
    meaning = _MEANINGS[role].get(stem.upper())
    if meaning is None:
        raise _bad_layout(role, written, f"has no dimension '{word}'")
    return meaning


def _bad_layout(role: Role, written: str, reason: str) -> Diagnostic:
    orders = ["".join(p) for p in permutations(_LETTERS[role].values())]
    letters = written.upper().replace("G", "")

    def likeness(order: str) -> int:
        return sum(a == b for a, b in zip(order, letters, strict=False))

    near = max(orders, key=likeness)
    hint = f"did you mean '{near}'?" if 2 <= likeness(near) and len(letters) <= 5 else f"such as {orders[0]}"
    return Diagnostic(f"{role} layout '{written}' {reason}", hint=hint, subject=f"{role}_layout")
