"""The products of a product of matrices: as its arrays lie, of aligned copies, or of copies tile by tile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from imbrex.config.algorithm.aligned import aligned
from imbrex.config.algorithm.product import End, Launch, Product, Products, copied, product_of, reached
from imbrex.config.algorithm.task import GemmTask
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


LONG_K, FEW_CELLS, LEAST_OF_PART, TRIED = 4096, 2**20, 4, (4, 5, 6, 8, 10, 12)
"""Where parts of K have won on an H200: the least K, the most elements of C, parts of that K that a part has
at least, and how many there were.
"""


@dataclass(frozen=True)
class Tiled:
    """A product of packed tiles.  view: of these.  copied: how A and B come there, and C from it."""

    view: GemmView
    copied: Mapping[Operand, Boxes]
    tuning: XdlopsTuning


def data_tiled(task: GemmTask, name: str) -> Tiled:
    """A product by the tile kernel of that name; a Diagnostic where its instruction does not serve."""
    tiled, sums = DataTiled(tile_kernel(name), task.view), task.dtype.accumulator
    stored = sums if task.is_finished else task.stored  # an epilogue stores sums
    copies = dict[Operand, Boxes]()
    for role in OPERANDS:
        size = (stored if role == "c" else task.dtype).bytes
        copies[role] = Boxes(tiled.placed(role), tiled.items(role, size))
    return Tiled(tiled.gemm, copies, data_tiled_tuning(tiled.kernel))


def direct_products(task: GemmTask) -> Products:
    """One product of the arrays as they are."""
    below, is_finished = [task.below[o] for o in OPERANDS], task.is_finished or task.is_scaled
    return Products((product_of(task.view, below, task.dtype, task.stored, is_finished),))


def aligned_products(task: GemmTask) -> Products:
    """One product of copies, and of arrays seen with what copies have more."""
    made = aligned(task)
    assert made is not None, task
    ends = [end for role, how in made.copied.items() for end in copied(how, task.below[role], task.dtype)]
    return Products(direct_products(made.task).products, (Launch(tuple(ends)),))


def parts_of_k(task: GemmTask, parts: int) -> PartsOfK:
    """K in so many parts; a Diagnostic where it has not so many."""
    made = PartsOfK(task.view, parts, ROW_BYTES // task.dtype.bytes)
    if parts > 1 and not made.has_empty:
        return made
    most = -(-task.view.k // made.row)
    takes = f"cuts K = {task.view.k} into 2 to {most} parts, of whole rows of {ROW_BYTES} bytes each"
    if most < 2:
        takes = f"cuts K into rows of {ROW_BYTES} bytes, and K = {task.view.k} has one"
    raise Diagnostic(f"algorithm 'k_parts:{parts}' {takes}", hint="leave the algorithm out, or name fewer")


def parts_to_try(task: GemmTask) -> tuple[int, ...]:
    """Parts of K that tuning tries, which no model tells from what it chooses: of few tiles and a long K."""
    view = task.view
    if view.k < LONG_K or view.g * view.m * view.n > FEW_CELLS:
        return ()
    made = (PartsOfK(view, parts, ROW_BYTES // task.dtype.bytes) for parts in TRIED)
    return tuple(of.parts for of in made if of.share * LEAST_OF_PART >= LONG_K and not of.has_empty)


def k_parts_products(task: GemmTask, parts: int) -> Products:
    """One product of all parts, and what adds them up."""
    made, sums = parts_of_k(task, parts), task.dtype.accumulator
    below: tuple[tuple[Layer, ...], ...] = (task.below["a"], task.below["b"], ())
    c = End(reached(Map((*made.written.layers, *task.view.c.layers)), task.below["c"]), task.stored.bytes)
    added = Launch((End(made.read, sums.bytes), c))
    return Products((product_of(made.gemm, below, task.dtype, sums, False),), after=(added,))


def data_tiled_products(task: GemmTask, name: str) -> Products:
    """One product of packed tiles, and what packs A and B and unpacks C."""
    made, sums = data_tiled(task, name), task.dtype.accumulator
    a, b = (Launch(copied(made.copied[role], task.below[role], task.dtype)) for role in ("a", "b"))
    plain, _ = copied(made.copied["c"], task.below["c"], task.stored)
    c = Launch((plain, End(made.copied["c"].written, sums.bytes)))
    return Products((Product(made.view, task.dtype, sums, tuning=made.tuning),), (a, b), (c,))
