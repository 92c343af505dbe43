"""What a gridwise_gemm_ex says of accesses to memory must be so where it becomes workgroups.

A tuning from `imbrex.config` obeys these laws; text may say anything.  A width is at most that of
neighbours in memory, along the dimension that is named; a work item takes one k at a time.
"""

from __future__ import annotations

from imbrex.config.block_plan import ItemsBlock, PanelBlock, WavesBlock
from imbrex.index.query import vector_width
from imbrex.ir.chain import named_map
from imbrex.ir.ops.grid import GridwiseGemmExOp
from imbrex.ir.source import InvalidOp

C_DIMS = {1: "m", 3: "n"}
"""Where vectors of C may lie in a work item's (m_repeat, m, n_repeat, n)."""


def expect_served(op: GridwiseGemmExOp, plan: ItemsBlock | WavesBlock | PanelBlock) -> None:
    """InvalidOp at a key that says what no workgroup of this pipeline would do."""
    if isinstance(plan, PanelBlock):
        return
    if isinstance(plan, ItemsBlock) and plan.multiply.k_per_thread != 1:
        raise InvalidOp(op, "work items take one k at a time: write 1", "k_per_thread")
    if isinstance(plan, ItemsBlock) or plan.copy in ("staged", "staged_ahead"):
        for side, copy in (("a", plan.a), ("b", plan.b)):
            _expect_read(op, side, copy.source_vector_read_dim, copy.source_data_per_read)
    if isinstance(plan, ItemsBlock):
        _expect_write(op, plan)


def _expect_read(op: GridwiseGemmExOp, side: str, dim: int, width: int) -> None:
    """As many neighbours of A or B along the dim as are read at a time."""
    names = ("gemmG", "gemmK", {"a": "gemmM", "b": "gemmN"}[side])
    seen = named_map(op.a if side == "a" else op.b, names)
    dims = seen.upper[-2:]
    most = [vector_width(seen, dim.name, width) for dim in dims]
    if most[dim] >= width:
        return
    other = f"; along dimension {1 - dim} there are {most[1 - dim]}"
    said = f"{width} elements are read along {dims[dim].name}, of which {most[dim]} are neighbours in memory"
    raise InvalidOp(op, said + other, f"matrix_{side}_source_vector_read_dim")


def _expect_write(op: GridwiseGemmExOp, plan: ItemsBlock) -> None:
    key = "matrix_c_source_dest_vector_read_write_dim"
    dim, width = plan.matrix_c_source_dest_vector_read_write_dim, plan.matrix_c_dest_data_per_write
    if dim not in C_DIMS:
        allowed = " or ".join(f"{d} ({n})" for d, n in C_DIMS.items())
        raise InvalidOp(op, f"vectors of C lie along {allowed} here, not {dim}", key)
    if width == 1 or op.adds_atomically:
        return
    seen, name = named_map(op.c, ("gemmG", "gemmM", "gemmN")), f"gemm{C_DIMS[dim].upper()}"
    most = vector_width(seen, name, width)
    if most < width:
        said = f"{width} elements are written along {name}, of which {most} are neighbours in memory"
        raise InvalidOp(op, said, "matrix_c_dest_data_per_write")
