"""Units of CPUs: their maps, and that panels are what these say."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.chip import CPU_ISAS
from imbrex.dtype import DTYPES
from imbrex.index.map import Dim, Map
from imbrex.view.gemm import tile
from imbrex.view.mma.vector import CPU_UNITS, CpuUnit, fastest_unit, units_of

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
        pairs = (CPU_UNITS["vpmaddwd"],) if level.startswith("avx") else ()
        for dtype in DTYPES.values():
            own = pairs if dtype == DTYPES["i8"] else ()
            assert units_of(CPU_ISAS[level], dtype) == (CPU_UNITS["fma"], *own)
    assert CPU_UNITS["vpdpbusd"] in units_of(CPU_ISAS["avx_vnni"], DTYPES["i8"])


def test_i8_is_multiplied_by_the_most_that_a_level_has() -> None:
    found = {level: str(fastest_unit(machine, DTYPES["i8"])) for level, machine in CPU_ISAS.items()}
    x86 = {level: unit for level, unit in found.items() if CPU_ISAS[level].arch == "x86_64"}
    vnni = ("avx512_bf16", "avx512_vnni", "avx_vnni")
    pairs = dict.fromkeys(("avx512", "avx2"), "vpmaddwd")
    assert x86 == {"amx": "tdpbssd", **dict.fromkeys(vnni, "vpdpbusd"), **pairs}
    assert found["generic"] == found["neon"] == "fma"


@pytest.mark.parametrize("unit", [u for u in CPU_UNITS.values() if u.operand], ids=str)
def test_what_panels_hold_has_room_for_what_is_multiplied(unit: CpuUnit) -> None:
    """Every value of the operand, and in a word, as wide as a sum, what a lane takes at a time."""
    operand, held = DTYPES[unit.operand], unit.panel(DTYPES[unit.operand])
    assert held.largest >= operand.largest and held.accumulator == operand.accumulator
    if unit.rows == 1:
        assert held.bytes * unit.together == held.accumulator.bytes
