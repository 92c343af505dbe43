"""Sums of 2 x 2: what a lane multiplies belongs to its sum, and all lanes together are a product."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.chip import CPU_ISAS
from imbrex.view.mma.vector import BFMMLA, SDOT, SMMLA, CpuUnit


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("unit", [SDOT, SMMLA, BFMMLA])
def test_lanes_together_are_a_product(unit: CpuUnit, lanes: int) -> None:
    rng, columns = np.random.default_rng(0), lanes // unit.rows
    a, b = (rng.integers(-9, 9, shape) for shape in ((unit.rows, unit.together), (unit.together, columns)))
    found = np.full((unit.rows, columns), 99)
    register = np.arange(unit.together)
    for lane in range(lanes):
        (_, m, k), _ = unit.a(lanes).evaluate([np.full_like(register, lane), register])
        (_, other_k, n), _ = unit.b(lanes).evaluate([np.full_like(register, lane), register])
        (_, row, column), _ = unit.c(lanes).evaluate([np.array([lane]), np.array([0])])
        assert found[row, column] == 99, "no two lanes hold one sum"
        np.testing.assert_array_equal(k, other_k)
        found[row, column] = (a[m, k] * b[k, n]).sum()
    np.testing.assert_array_equal(found, a @ b)
    assert unit.packed == unit.together


def test_a_register_tile_of_pairs_has_whole_pairs() -> None:
    neon = CPU_ISAS["neon"]
    assert neon.vector_registers == 32
    assert (SDOT.tallest(neon, 3), SMMLA.tallest(neon, 3)) == (9, 8)
    assert (SDOT.registers(7, 2), SMMLA.registers(7, 2)) == (17, 21)
