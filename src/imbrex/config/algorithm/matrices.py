"""The products of a product of matrices: as its arrays lie, whole or in parts of K, of aligned copies, or of
copies tile by tile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from imbrex.config.algorithm.aligned import aligned
from imbrex.config.algorithm.product import End, Launch, Product, Products, copied, product_of, reached
from imbrex.config.algorithm.task import GemmTask
from imbrex.config.finishing import Finishing
from imbrex.config.xdlops.data_tiled import data_tiled_tuning
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.diagnostic import Diagnostic
from imbrex.index.map import Layer, Map
from imbrex.view.copy.boxes import Boxes
from imbrex.view.copy.data_tiled import DataTiled
from imbrex.view.gemm.parts_of_k import PartsOfK
from imbrex.view.gemm.product import GemmView
from imbrex.view.mma import OPERANDS, Operand
from imbrex.view.stage.shared_tile import SWIZZLES
from imbrex.view.swizzle import tile_kernel

__all__ = [
    "Tiled",
    "aligned_products",
    "data_tiled",
    "data_tiled_products",
    "direct_products",
    "k_parts_products",
    "parts_of_k",
    "parts_to_try",
]


ROW_BYTES: Final = SWIZZLES[0]
"""Bytes of the longest row of shared memory."""


LONG_K: Final = 4096
"""The least K where parts of it have won on an H200."""
FEW_CELLS: Final = 2**20
"""The most elements of C there."""
LEAST_SHARE: Final = 1024
"""The least K of a part there."""
TRIED: Final = (4, 5, 6, 8, 10, 12)
"""How many parts there were."""


@dataclass(frozen=True)
class Tiled:
    """A product of packed tiles.  view: of these.  copied: how A and B come there, and C from it."""

    view: GemmView
    copied: Mapping[Operand, Boxes]
    tuning: XdlopsTuning


def data_tiled(task: GemmTask, name: str) -> Tiled:
    """A product by the tile kernel of that name; a Diagnostic where its instruction does not serve."""
    tiled, sums = DataTiled(tile_kernel(name), task.view), task.dtype.accumulator
    stored = sums if task.finishing else task.stored  # an epilogue stores sums
    copies = dict[Operand, Boxes]()
    for role in OPERANDS:
        size = (stored if role == "c" else task.dtype).bytes
        copies[role] = Boxes(tiled.placed(role), tiled.items(role, size))
    return Tiled(tiled.gemm, copies, data_tiled_tuning(tiled.kernel))


def direct_products(task: GemmTask) -> Products:
    """One product of the arrays as they are."""
    below, finishing = [task.below[o] for o in OPERANDS], max(task.finishing, task.scaling)
    return Products((product_of(task.view, below, task.dtype, task.stored, finishing),))


def aligned_products(task: GemmTask) -> Products:
    """One product of copies, and of arrays seen with what copies have more."""
    made = aligned(task)
    assert made is not None, task
    ends = [end for role, how in made.copied.items() for end in copied(how, task.below[role], task.dtype)]
    return Products(direct_products(made.task).products, (Launch(tuple(ends)),))


def parts_of_k(task: GemmTask, parts: int) -> PartsOfK:
    """K in so many parts; a Diagnostic where it has not so many."""
    made = _cut(task, parts)
    if made.reached == parts > 1:
        return made
    hint = "leave the algorithm out"
    if parts < 2 or made.reached < 2:
        takes = f"takes 2 parts of K and more, of whole rows of {ROW_BYTES} bytes; K = {task.view.k}"
        raise Diagnostic(f"algorithm 'k_parts:{parts}' {takes}", hint=hint)
    takes = (
        f"cuts K = {task.view.k} into {made.reached}: each has {made.share}, whole rows of {ROW_BYTES} bytes"
    )
    raise Diagnostic(f"algorithm 'k_parts:{parts}' {takes}", hint=f"say k_parts:{made.reached}, or {hint}")


def parts_to_try(task: GemmTask) -> tuple[int, ...]:
    """Parts of K that tuning tries, which no model tells from what it chooses: of few tiles and a long K."""
    view = task.view
    if view.k < LONG_K or view.g * view.m * view.n > FEW_CELLS:
        return ()
    made = (_cut(task, parts) for parts in TRIED)
    return tuple(of.parts for of in made if of.share >= LEAST_SHARE and of.reached == of.parts)


def _cut(task: GemmTask, parts: int) -> PartsOfK:
    return PartsOfK(task.view, parts, ROW_BYTES // task.dtype.bytes)


def k_parts_products(task: GemmTask, parts: int) -> Products:
    """One product of all parts, and what adds them up."""
    made, sums = parts_of_k(task, parts), task.dtype.accumulator
    below: tuple[tuple[Layer, ...], ...] = (task.below["a"], task.below["b"], ())
    c = End(reached(Map((*made.written.layers, *task.view.c.layers)), task.below["c"]), task.stored.bytes)
    added = Launch((End(made.read, sums.bytes), c))
    return Products((product_of(made.gemm, below, task.dtype, sums, Finishing.NONE),), after=(added,))


def data_tiled_products(task: GemmTask, name: str) -> Products:
    """One product of packed tiles, and what packs A and B and unpacks C."""
    made, sums = data_tiled(task, name), task.dtype.accumulator
    a, b = (Launch(copied(made.copied[role], task.below[role], task.dtype)) for role in ("a", "b"))
    plain, _ = copied(made.copied["c"], task.below["c"], task.stored)
    c = Launch((plain, End(made.copied["c"].written, sums.bytes)))
    return Products((Product(made.view, task.dtype, sums, tuning=made.tuning),), (a, b), (c,))
