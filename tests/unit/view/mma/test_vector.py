"""Units of CPUs: their maps, and that panels are what these say."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.chip import CPU_ISAS
from imbrex.dtype import DTYPES
from imbrex.index.map import Dim, Map
from imbrex.view.gemm import tile
from imbrex.view.mma.vector import CPU_UNITS, CpuUnit, units_of

LANES = 16


@pytest.mark.parametrize("unit", CPU_UNITS.values(), ids=str)
def test_every_sum_is_of_one_row_and_one_column(unit: CpuUnit) -> None:
    """Over all lanes and registers: A's row, B's column and C's element agree, and k is the register."""
    lane, register = np.indices((LANES, unit.together))
    (_, m, k_a), _ = unit.a(LANES).evaluate([lane, register])
    (_, k_b, n), _ = unit.b(LANES).evaluate([lane, register])
    (_, m_c, n_c), _ = unit.c(LANES).evaluate([lane, np.zeros_like(register)])
    column = n_c if unit.rows > 1 else lane
    for found, wanted in ((m, m_c), (n, n_c), (k_a, k_b), (n, column), (k_a, register)):
        np.testing.assert_array_equal(np.broadcast_to(found, lane.shape), np.broadcast_to(wanted, lane.shape))


@pytest.mark.parametrize("unit", CPU_UNITS.values(), ids=str)
def test_a_vector_of_a_panel_is_what_the_lanes_multiply(unit: CpuUnit) -> None:
    """The elements of B's map, lane by lane of a row of C, are neighbours in a panel, in that order."""
    width = LANES // unit.rows
    (_, rows, _), _ = unit.c(LANES).evaluate([np.arange(LANES), np.zeros(LANES, int)])
    own = np.flatnonzero(np.broadcast_to(rows, LANES) == 0)
    k, columns = 3 * unit.together, 2 * LANES
    view = Map(tile.panels((Dim("k", k), Dim("n", columns)), "n", columns, unit.packed))
    sizes = [d.size for d in view.upper]
    (panel_k, panel_n), _ = view.evaluate(list(np.indices(sizes)))
    order = np.stack([np.broadcast_to(x, sizes).ravel() for x in (panel_k, panel_n)])
    lane, register = np.meshgrid(own, np.arange(unit.together), indexing="ij")
    (_, k_b, n), _ = unit.b(LANES).evaluate([lane, register])
    for step, vector in np.ndindex(3, columns // width):
        first = (step * columns + vector * width) * unit.together
        wanted = [
            np.broadcast_to(k_b, lane.shape) + step * unit.together,
            np.broadcast_to(n, lane.shape) + vector * width,
        ]
        got = order[:, first : first + lane.size]
        np.testing.assert_array_equal(got, np.stack([x.ravel() for x in wanted]))


def test_levels_without_a_unit_widen() -> None:
    for level in ("avx512", "avx2", "neon", "generic"):
        for dtype in DTYPES.values():
            assert units_of(CPU_ISAS[level], dtype) == (CPU_UNITS["fma"],)
    assert CPU_UNITS["vpdpbusd"] in units_of(CPU_ISAS["avx_vnni"], DTYPES["i8"])
