"""The table of algorithms: one row each, in the order in which the model is asked about them.

A row says what a user reads (its name, of which problems it is, what it needs and copies, when it serves) and
what the compiler does: the passes that make products, by name, and how the IR asks for it.  Command lines,
errors, the documentation, the dialect and the choice read the rows.  To add an algorithm is a row, why it
does not serve (`serving`), the maps that it makes in `view/`, and a pass; `config.products` says in values
what a pass does, where the row is not made of passes that exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from imbrex.config.algorithm.form import Phases

__all__ = ["ALGORITHMS", "Algorithm", "Kind", "Needs", "number_of", "row_of", "rows_for"]

Kind: TypeAlias = Literal["forward", "backward_data", "backward_weight", "product"]
"""What a problem computes."""
Needs: TypeAlias = Literal["any", "CPU", "GPU", "matrix instructions", "warpgroups", "waves"]
"""What an algorithm needs of a machine: nothing, vectors, lanes, or matrix instructions of any kind, or
of these.
"""
Copied: TypeAlias = Literal["nothing", "what is read", "what is read, and the result"]
Stated: TypeAlias = Literal["key", "word", "pass"]
"""How the IR asks for an algorithm: by a key of the operation, by its `algorithm`, or by a pass's options."""
ALL: Final[tuple[Kind, ...]] = ("forward", "backward_data", "backward_weight")
LAST: Final = ("channels-last", "conv-to-gemm")


@dataclass(frozen=True)
class Algorithm:
    """name: as users write it.  of: problems, by what they compute.  when: it serves, for a reader.

    argument: what stands after the name and a colon, or may, in brackets; nothing where it is empty.  passes:
    the IR's, but for `unfold`, the last one of all.  packs: the copies that `channels-last` makes, a key of
    `channels_last.COPIED`, where no pass before asks for them.  is_abreast: are images the fastest
    digit of a raster of pixels, as many as follow the name?
    """

    name: str
    of: tuple[Kind, ...]
    machine: Needs
    copies: Copied
    when: str
    argument: str = ""
    passes: tuple[str, ...] = ("conv-to-gemm",)
    phases: Phases = "in place"
    packs: str | None = None
    stated: Stated = "key"
    is_abreast: bool = False

    @property
    def spelled(self) -> str:
        """The name as users write it, with what follows."""
        follows = f"[:{self.argument[1:-1]}]" if self.argument[:1] == "[" else f":{self.argument}"
        return self.name + follows if self.argument else self.name

    def takes(self, text: str) -> bool:
        """Is this the name, with what has to follow, and nothing else?"""
        _, colon, follows = text.partition(":")
        return not colon if not self.argument else bool(follows) or (not colon and not self.is_counted)

    @property
    def is_counted(self) -> bool:
        """Does a number follow the name?"""
        return self.argument == "COUNT"

    @property
    def has_k_order(self) -> bool:
        """Have taps and channels an order in its products?"""
        return "conv-to-gemm" in self.passes and self.of != ("product",)

    @property
    def is_on_lanes(self) -> bool:
        """Has it strips of work items or workgroups, and no products?"""
        return not {"channel-vectors", "window-vectors"}.isdisjoint(self.passes)

    @property
    def taken_by(self) -> str:
        """The pass that takes the key of an operation away: the one of its name, or the first."""
        own = self.name.replace("_", "-")
        return own if own in self.passes else self.passes[0]


ALGORITHMS: Final[tuple[Algorithm, ...]] = (
    Algorithm(
        "v4r4", ("forward", "backward_weight"), "any", "nothing", "few products, or arrays that lie well",
        stated="pass",
    ),
    Algorithm(
        "v4r1", ("backward_data",), "any", "nothing", "a product for each phase of the strides", stated="word"
    ),
    Algorithm(
        "v1r1", ("backward_data",), "any", "nothing",
        "one product: where windows overlap, sums are added in memory",
        phases="added", stated="word",
    ),
    Algorithm(
        "v1r1_last", ("backward_data",), "warpgroups", "what is read", "the same, windows apart, of copies",
        passes=LAST, packs="channels_last", phases="added", stated="pass",
    ),
    Algorithm(
        "channel_vectors", ALL, "GPU", "nothing", "depthwise: lanes multiply, each neighbouring groups",
        passes=("channel-vectors",),
    ),
    Algorithm(
        "window_vectors", ALL, "CPU", "nothing",
        "few channels a group: vectors of channels of several groups that come last, or else of pixels",
        passes=("window-vectors",), stated="pass",
    ),
    Algorithm(
        "channels_last", ALL, "matrix instructions", "what is read", "images lie as NCHW",
        passes=LAST, packs="channels_last", phases="apart",
    ),
    Algorithm(
        "input_last", ("backward_weight",), "matrix instructions", "what is read",
        "the input alone, where the output is read as NCHW", passes=LAST, packs="input_last",
    ),
    Algorithm(
        "output_last", ("backward_weight",), "matrix instructions", "what is read",
        "the output alone, where the input is read as NCHW", passes=LAST, packs="output_last",
    ),
    Algorithm(
        "all_last", ALL, "matrix instructions", "what is read, and the result",
        "images lie as NCHW, and planes of the result begin anywhere", passes=LAST, packs="all_last",
    ),
    Algorithm(
        "interleaved", ("backward_data",), "warpgroups", "nothing",
        "strides: phases are computed apart, and one launch fills the result", phases="apart", stated="pass",
    ),
    Algorithm(
        "shared_phases", ("backward_data",), "warpgroups", "nothing",
        "strides: phases share the tiles of a product", phases="shared", stated="pass",
    ),
    Algorithm(
        "shared_phases_last", ("backward_data",), "warpgroups", "what is read", "the same, on NCHW",
        passes=LAST, packs="channels_last", phases="shared", stated="pass",
    ),
    Algorithm(
        "window_rows", ALL, "matrix instructions", "what is read",
        "few channels: rows of the window side by side", passes=("window-rows", "conv-to-gemm"),
    ),
    Algorithm(
        "whole_images", ALL, "warpgroups", "nothing",
        "windows of 1 x 1 on NCHW, COUNT positions a row of shared memory", "COUNT", ("whole-images",),
    ),
    Algorithm(
        "merged_groups", ALL, "matrix instructions", "what is read",
        "groups of few channels, COUNT of them as one", "COUNT", ("merge-groups", *LAST),
    ),
    Algorithm(
        "halo", ALL, "warpgroups", "nothing", "windows that overlap, COUNT groups as one",
        "COUNT", ("merge-groups", "channels-last", "halo"),
    ),
    Algorithm(
        "row_halo", ("forward", "backward_data"), "waves", "nothing",
        "windows that overlap, channels last: pixels once for the taps of a row, COUNT images abreast",
        "COUNT", stated="pass", is_abreast=True,
    ),
    Algorithm("direct", ("product",), "any", "nothing", "matrices that lie well", stated="pass"),
    Algorithm(
        "aligned", ("product",), "warpgroups", "what is read", "leading dimensions that no tensor map shows",
        passes=("aligned-rows", "conv-to-gemm"),
    ),
    Algorithm(
        "k_parts", ("product",), "warpgroups", "nothing",
        "few tiles and a long K: COUNT parts of K as a batch, which a second launch adds up", "COUNT",
    ),
    Algorithm(
        "data_tiled", ("product",), "waves", "what is read, and the result",
        "a packed operand is used again", "[TILE_KERNEL]",
    ),
)  # fmt: skip

_BY_NAME: Final = {row.name: row for row in ALGORITHMS}


def row_of(algorithm: str | None) -> Algorithm | None:
    """The row of an algorithm, whatever follows its name; None of other words."""
    return _BY_NAME.get((algorithm or "").partition(":")[0])


def rows_for(kind: Kind) -> tuple[Algorithm, ...]:
    """The algorithms of problems that compute this."""
    return tuple(row for row in ALGORITHMS if kind in row.of)


def number_of(algorithm: str | None) -> int:
    """The number after the name of an algorithm that was checked; 1 where none follows."""
    _, _, text = (algorithm or "").partition(":")
    return int(text) if text.isdigit() else 1
