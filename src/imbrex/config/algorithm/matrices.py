"""The products of a product of matrices: as its arrays lie, of aligned copies, or of copies tile by tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from imbrex.config.algorithm.aligned import OPERANDS, aligned_operands_of, matrix_dims
from imbrex.config.algorithm.product import End, Launch, Product, Products, product_of, reached
from imbrex.config.xdlops.data_tiled import data_tiled_tuning
from imbrex.dtype import DType
from imbrex.index.map import Dim, Layer, Map
from imbrex.problem import Gemm
from imbrex.view.copy.aligned import items
from imbrex.view.copy.data_tiled import DataTiled
from imbrex.view.gemm.product import GemmView, overhang, plain
from imbrex.view.mma import Operand
from imbrex.view.strided import strided
from imbrex.view.swizzle import tile_kernel

__all__ = ["aligned_products", "data_tiled_products", "direct_products"]

Matrices: TypeAlias = Mapping[Operand, tuple[Dim, ...]]


def direct_products(problem: Gemm) -> Products:
    """One product of the arrays as they are."""
    below = _below(problem)
    layers = [below[role] for role in OPERANDS]
    return Products((_product(problem, _view(matrix_dims(problem)), layers),))


def aligned_products(problem: Gemm) -> Products:
    """One product of copies, and of arrays seen with what copies have more."""
    dims, below, size = matrix_dims(problem), _below(problem), problem.dtype.bytes
    packed = aligned_operands_of(problem)
    ends = list[End]()
    for role, copy in packed.items():
        moved = items(copy, size).map
        ends += [End(reached(moved.then(copy.placed), below[role]), size), End(moved, size)]
    rounded = {copy.channel: copy.packed[-1].size for copy in packed.values()}
    seen = dict(dims)
    seen |= {role: copy.packed for role, copy in packed.items()}
    under = {role: () if role in packed else below[role] for role in OPERANDS}
    grown = {role: overhang(seen[role], **rounded) for role in OPERANDS}
    whole: Matrices = {role: grown[role][0].upper if grown[role] else seen[role] for role in OPERANDS}
    layers = [(*grown[role], *under[role]) for role in OPERANDS]
    return Products((_product(problem, _view(whole), layers),), (Launch(tuple(ends)),))


def data_tiled_products(problem: Gemm, name: str) -> Products:
    """One product of packed tiles, and what packs A and B and unpacks C."""
    tiled, below = DataTiled(tile_kernel(name), _view(matrix_dims(problem))), _below(problem)
    dtype, sums = problem.dtype, problem.dtype.accumulator
    stored: Mapping[Operand, DType] = {"a": dtype, "b": dtype, "c": problem.element("c")}
    packed: Mapping[Operand, DType] = {"a": dtype, "b": dtype, "c": sums}
    launches = list[Launch]()
    for role in OPERANDS:
        is_finished = role == "c" and problem.epilogue is not None  # an epilogue stores sums
        moved = tiled.items(role, (sums if is_finished else stored[role]).bytes).map
        plain_end = End(reached(moved.then(tiled.placed(role)), below[role]), stored[role].bytes)
        launches.append(Launch((plain_end, End(moved, packed[role].bytes))))
    product = Product(tiled.gemm, dtype, sums, data_tiled_tuning(tiled.kernel))
    return Products((product,), tuple(launches[:2]), tuple(launches[2:]))


def _product(problem: Gemm, view: GemmView, layers: Sequence[tuple[Layer, ...]]) -> Product:
    return product_of(view, layers, problem.dtype, problem.element("c"))


def _view(dims: Matrices) -> GemmView:
    """The product of arrays with these dims."""
    sizes = {d.name: d.size for role in OPERANDS for d in dims[role]}
    turned = dims["a"][-1].name != "k", dims["b"][-1].name != "n"
    return plain(sizes["m"], sizes["n"], sizes["k"], sizes.get("g"), *turned)


def _below(problem: Gemm) -> Mapping[Operand, tuple[Layer, ...]]:
    """Layers below the dims of each array: those of one with gaps."""
    dims = matrix_dims(problem)
    found: dict[Operand, tuple[Layer, ...]] = {}
    for role, operand in zip(OPERANDS, problem.operands, strict=False):
        gaps: Map | None = None if operand.strides is None else strided(dims[role], operand.strides)
        found[role] = () if gaps is None else gaps.layers
    return found
