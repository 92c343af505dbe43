"""Attributes of the gridwise op of a product by warpgroups: its tuning, how its operands lie in memory."""

from __future__ import annotations

from typing import Any

from imbrex.config.context import Access
from imbrex.config.warpgroup.consumers import Tiled

__all__ = ["attributes_of"]


def attributes_of(
    tuning: Tiled, clusters: int, operands: tuple[Access, Access, Access], read_dims: tuple[int, int]
) -> dict[str, Any]:
    """Attributes of the gridwise op.

    operands: A, B and C, by the kernel's rows and columns.  read_dims: the dim of A and of B whose neighbours
    lie together, 0 for k.  clusters: to launch, where each computes whole tiles.
    """
    a, b, c = (max(access.vector) for access in operands)
    along_rows, along_columns = operands[2].vector
    return {
        "block_size": tuning.block_size,
        "m_per_block": tuning.m_per_block,
        "n_per_block": tuning.n_per_block,
        "k_per_block": tuning.k_per_block,
        "matrix_a_source_vector_read_dim": read_dims[0],
        "matrix_a_source_data_per_read": a,
        "matrix_a_dest_data_per_write_dim_m": a,
        "matrix_b_source_vector_read_dim": read_dims[1],
        "matrix_b_source_data_per_read": b,
        "matrix_b_dest_data_per_write_dim_n": b,
        "matrix_c_source_dest_vector_read_write_dim": 1 if along_columns >= along_rows else 0,
        "matrix_c_dest_data_per_write": c,
        "pipeline": "warpgroup",
        "tuning": tuning,
        "clusters": clusters,
    }
