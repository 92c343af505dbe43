"""The products of a product of matrices: as its arrays lie, of aligned copies, or of copies tile by tile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from imbrex.config.algorithm.aligned import aligned
from imbrex.config.algorithm.product import End, Launch, Product, Products, copied, product_of
from imbrex.config.algorithm.task import GemmTask
from imbrex.config.xdlops.data_tiled import data_tiled_tuning
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.view.copy.boxes import Boxes
from imbrex.view.copy.data_tiled import DataTiled
from imbrex.view.gemm.product import GemmView
from imbrex.view.mma import OPERANDS, Operand
from imbrex.view.swizzle import tile_kernel

__all__ = ["Tiled", "aligned_products", "data_tiled", "data_tiled_products", "direct_products"]


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


def data_tiled_products(task: GemmTask, name: str) -> Products:
    """One product of packed tiles, and what packs A and B and unpacks C."""
    made, sums = data_tiled(task, name), task.dtype.accumulator
    a, b = (Launch(copied(made.copied[role], task.below[role], task.dtype)) for role in ("a", "b"))
    plain, _ = copied(made.copied["c"], task.below["c"], task.stored)
    c = Launch((plain, End(made.copied["c"].written, sums.bytes)))
    return Products((Product(made.view, task.dtype, sums, tuning=made.tuning),), (a, b), (c,))
