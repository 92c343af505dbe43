"""What a gridwise_gemm_ex says of accesses to memory must be so where it becomes workgroups.

A tuning from `imbrex.config` obeys these laws; text may say anything.  A width is at most that of
neighbours in memory, along the dimension that is named; a work item takes one k at a time.
"""

from __future__ import annotations

from typing import Final

from imbrex.index.query import vector_width
from imbrex.ir.chain import named_map
from imbrex.ir.ops.grid import GridwiseGemmExOp
from imbrex.ir.passes.tiling import number
from imbrex.ir.source import InvalidOp

BY_ITEMS: Final = ("naive", "2x2", "ahead")
C_DIMS: Final = {
    **{name: {1: "m", 3: "n"} for name in BY_ITEMS},
    "cpu": {3: "n"},
    "xdlops": {1: "n"},
    "warpgroup": {0: "m", 1: "n"},
}
"""Where vectors of C may lie: in a work item's (m_repeat, m, n_repeat, n); of waves and warpgroups (m, n)."""
ON_A_CPU: Final = {
    "matrix_a_source_vector_read_dim": 0,
    "matrix_a_source_data_per_read": 1,
    "matrix_a_dest_data_per_write_dim_m": 1,
    "matrix_b_source_vector_read_dim": 1,
    "matrix_b_source_data_per_read": 1,
    "matrix_b_dest_data_per_write_dim_n": 1,
}
"""Panels are packed in vectors that follow from how memory lies: the keys have nothing to choose."""


def expect_served(op: GridwiseGemmExOp) -> None:
    """InvalidOp at a key that says what no workgroup of this pipeline would do."""
    name = op.pipeline.data if op.pipeline is not None else "naive"
    if number(op, "k_per_thread", 1) != 1:
        raise InvalidOp(op, "work items take one k at a time: write 1", "k_per_thread")
    if name == "cpu":
        for key, wanted in ON_A_CPU.items():
            if number(op, key) != wanted:
                raise InvalidOp(op, f"panels of a CPU are packed as memory lies: write {wanted}", key)
    elif name != "warpgroup" and not (op.copy is not None and op.copy.data == "direct"):
        for side in "ab":
            _expect_read(op, side)
    _expect_write(op, C_DIMS[name], name in BY_ITEMS)


def _expect_read(op: GridwiseGemmExOp, side: str) -> None:
    """As many neighbours of A or B along the named dim as are read at a time."""
    width, key = number(op, f"matrix_{side}_source_data_per_read"), f"matrix_{side}_source_vector_read_dim"
    names = ("gemmG", "gemmK", {"a": "gemmM", "b": "gemmN"}[side])
    seen = named_map(op.a if side == "a" else op.b, names)
    dims = seen.upper[-2:]
    most = [vector_width(seen, dim.name, width) for dim in dims]
    if (dim := number(op, key)) not in (0, 1) or most[dim] >= width:
        return
    other = f"; along dimension {1 - dim} there are {most[1 - dim]}"
    said = f"{width} elements are read along {dims[dim].name}, of which {most[dim]} are neighbours in memory"
    raise InvalidOp(op, said + other, key)


def _expect_write(op: GridwiseGemmExOp, known: dict[int, str], by_items: bool) -> None:
    key = "matrix_c_source_dest_vector_read_write_dim"
    if (dim := number(op, key)) not in known:
        told = " or ".join(f"{d} ({n})" for d, n in known.items())
        raise InvalidOp(op, f"vectors of C lie along {told} here, not {dim}", key)
    width = number(op, "matrix_c_dest_data_per_write")
    if width == 1 or not by_items or op.adds_atomically:
        return
    seen, name = named_map(op.c, ("gemmG", "gemmM", "gemmN")), f"gemm{known[dim].upper()}"
    most = vector_width(seen, name, width)
    if most < width:
        said = f"{width} elements are written along {name}, of which {most} are neighbours in memory"
        raise InvalidOp(op, said, "matrix_c_dest_data_per_write")
