"""CK_PARAM_* definitions of a GPU tuning, in the names of MIOpen's dialect; `explain` has them in JSON."""

from __future__ import annotations

from imbrex.config.general.copy import BlockCopy
from imbrex.config.general.plan import GeneralPlan
from imbrex.config.xdlops.plan import XdlopsPlan
from imbrex.config.xdlops.stage import TileCopy

__all__ = ["defines"]


def defines(plan: GeneralPlan | XdlopsPlan) -> dict[str, int]:
    """Names and values; the tuned first, then the derived, then those that depend on the problem."""
    t = plan.tuning
    named = {
        "CK_PARAM_TUNABLE_BLOCK_SIZE": plan.block_size,
        "CK_PARAM_TUNABLE_GEMM_M_PER_BLOCK": t.m_per_block,
        "CK_PARAM_TUNABLE_GEMM_N_PER_BLOCK": t.n_per_block,
        "CK_PARAM_TUNABLE_GEMM_K_PER_BLOCK": t.k_per_block,
    }
    if isinstance(plan, GeneralPlan):
        named |= _thread_tile(plan)
    else:
        named |= _wave_tile(plan)
    named |= _copy("A", "M", plan.a_copy) | _copy("B", "N", plan.b_copy)
    return named | {"CK_PARAM_DEPENDENT_GRID_SIZE": plan.grid_size}


def _thread_tile(plan: GeneralPlan) -> dict[str, int]:
    t = plan.tuning
    return {
        "CK_PARAM_TUNABLE_GEMM_M_PER_THREAD_SUB_C": t.m_per_thread,
        "CK_PARAM_TUNABLE_GEMM_N_PER_THREAD_SUB_C": t.n_per_thread,
        "CK_PARAM_TUNABLE_GEMM_M_LEVEL0_CLUSTER": t.level0_clusters[0],
        "CK_PARAM_TUNABLE_GEMM_N_LEVEL0_CLUSTER": t.level0_clusters[1],
        "CK_PARAM_TUNABLE_GEMM_M_LEVEL1_CLUSTER": t.level1_clusters[0],
        "CK_PARAM_TUNABLE_GEMM_N_LEVEL1_CLUSTER": t.level1_clusters[1],
        "CK_PARAM_TUNABLE_GEMM_C_THREAD_COPY_DST_DATA_PER_WRITE_GEMM_N1": plan.c_data_per_write,
    }


def _wave_tile(plan: XdlopsPlan) -> dict[str, int]:
    t = plan.tuning
    return {
        "CK_PARAM_GEMM_M_PER_WAVE": t.m_per_wave,
        "CK_PARAM_GEMM_N_PER_WAVE": t.n_per_wave,
        "CK_PARAM_TUNABLE_GEMM_KPACK": t.kpack,
        "CK_PARAM_TUNABLE_GEMM_C_THREAD_COPY_DATA_PER_ACCESS_N": plan.c_data_per_write,
    }


def _copy(matrix: str, dim: str, copy: BlockCopy | TileCopy) -> dict[str, int]:
    prefix = f"CK_PARAM_TUNABLE_GEMM_{matrix}_BLOCK_COPY"
    cluster_k, cluster_d = copy.cluster_lengths
    read = "K" if copy.read_dim == 0 else dim
    return {
        f"{prefix}_CLUSTER_LENGTHS_GEMM_K": cluster_k,
        f"{prefix}_CLUSTER_LENGTHS_GEMM_{dim}": cluster_d,
        f"{prefix}_SRC_DATA_PER_READ_GEMM_{read}": copy.data_per_read,
        f"{prefix}_DST_DATA_PER_WRITE_GEMM_{dim}": copy.data_per_write,
    }
