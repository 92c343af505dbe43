"""The table of machines: every row has its sources, and what one field says another does not contradict."""

from __future__ import annotations

import pytest

from imbrex.chip import CPU_ISAS, GPU_MACHINES, KNOWN, WARPGROUPS, WAVES, GpuMachine, gpus, target
from imbrex.diagnostic import Diagnostic
from imbrex.view.mma import CHIPS, instructions

GPUS = tuple(GPU_MACHINES.values())


@pytest.mark.parametrize("gpu", GPUS, ids=repr)
def test_every_fact_has_its_source(gpu: GpuMachine) -> None:
    told = (gpu, *gpu.phases, *(row for row in (gpu.l2, gpu.rates, gpu.multiprocessor) if row is not None))
    assert all(row.source for row in (*told, *gpu.units.values()))
    assert all(row.source for row in CPU_ISAS.values())


@pytest.mark.parametrize("gpu", GPUS, ids=repr)
def test_phases_serve_every_lane_of_a_wave_once(gpu: GpuMachine) -> None:
    assert {(p.bytes, p.access) for p in gpu.phases} >= {
        (b, a) for b in (4, 8, 16) for a in ("read", "write")
    }
    for one in gpu.phases:
        assert sorted(lane for phase in one.lanes for lane in phase) == list(range(gpu.wave_size))
        assert gpu.served(one.bytes, one.access) == gpu.served(one.bytes - 1, one.access) == one
    assert gpu.served(64, "read").bytes == 16


@pytest.mark.parametrize("gpu", GPUS, ids=repr)
def test_matrix_instructions_are_those_that_a_row_claims(gpu: GpuMachine) -> None:
    """`emulate` runs those of the chip that it is like where a tuning names them."""
    found = instructions(gpu.chip) if gpu.chip in CHIPS else ()
    assert gpu.has_wgmma == any(i.b is None for i in found)
    assert gpu.has_mfma == any(i.b is not None for i in found) or gpu not in (GPU_MACHINES[n] for n in gpus())
    assert all(i.wave == gpu.wave_size for i in found if i.b is not None)


def test_names() -> None:
    assert gpus() == (*gpus("AMD"), *gpus("NVIDIA")) and "emulate" not in gpus()
    assert all(name in KNOWN for name in gpus()), "people know them by their products"
    assert WARPGROUPS.has_warpgroups and WAVES.has_mfma and not WAVES.has_warpgroups
    assert all(target(name).name == name for name in (*GPU_MACHINES, *CPU_ISAS))
    with pytest.raises(Diagnostic, match="sm_80"):
        target("sm_80")


def test_machines_are_keys_of_caches() -> None:
    assert len({hash(gpu) for gpu in GPUS}) == len(set(GPUS)) == len(GPUS)
