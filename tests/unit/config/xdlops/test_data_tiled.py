"""Products over packed arrays: the tile kernel of each type and chip, its tuning, and what it does to LDS."""

from __future__ import annotations

import pytest

from imbrex.chip import GPU_MACHINES, GpuMachine
from imbrex.config import legal
from imbrex.config.access import access_of, context_of
from imbrex.config.xdlops.data_tiled import data_tiled_tuning, in_full, usual_kernel
from imbrex.config.xdlops.mfma import eligible
from imbrex.config.xdlops.plan import XdlopsPlan
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DTYPES, F16, F32
from imbrex.view.copy.data_tiled import DataTiled
from imbrex.view.gemm.product import plain
from imbrex.view.swizzle import SEEDS, TileKernel, kernel_name, tile_kernel

CHIPS = ("gfx908", "gfx90a", "gfx942", "gfx950")
SERVED = [
    (dtype.name, chip)
    for dtype in DTYPES.values()
    for chip in CHIPS
    if dtype.pack == 1 and any(i.blocks == 1 and i.m == 16 for i in eligible(dtype, chip))
]


def planned(kernel: TileKernel, dtype: str, chip: str = "gfx942") -> XdlopsPlan:
    tiled = DataTiled(kernel, plain(512, 512, 512))
    machine = GPU_MACHINES[chip]
    assert isinstance(machine, GpuMachine)
    return data_tiled_tuning(kernel).plan(context_of(tiled.gemm, DTYPES[dtype]), machine)


@pytest.mark.parametrize(("dtype", "chip"), SERVED)
def test_usual_kernels_load_16_bytes_and_are_legal(dtype: str, chip: str) -> None:
    kernel = usual_kernel(DTYPES[dtype], chip)
    assert kernel.tile[:2] == (128, 128) and kernel.workitems == 256
    assert min(kernel.load_bytes(o) for o in ("a", "b")) >= 16
    plan = planned(kernel, dtype, chip)
    assert legal.check(plan.tuning, plan.context, plan.machine) == ()
    fastest = max(
        i.flops / i.cycles[chip] for i in eligible(DTYPES[dtype], chip) if i.blocks == 1 and i.m == 16
    )
    assert kernel.instruction.flops / kernel.instruction.cycles[chip] == fastest


def test_on_gfx942_they_are_the_seeds_tiles() -> None:
    """8 x 8 instructions, shared by four waves: the same packed tiles but for who takes what."""
    for dtype, seed in (("f32", SEEDS[3]), ("f16", SEEDS[5]), ("i8", SEEDS[7])):
        usual, whole = usual_kernel(DTYPES[dtype], "gfx942"), tile_kernel(seed)
        assert kernel_name(usual) == seed.replace("8x8", "4x4") + "_w2x2"
        assert usual.tile == whole.tile
        for operand in ("a", "b"):
            assert usual.swizzle(operand).offset == whole.swizzle(operand).offset


@pytest.mark.parametrize("name", [*(seed for seed in SEEDS if "8x8" in seed), "f16_32x32x8_2x2_Kx2_w2x2"])
def test_accesses_are_wide_and_free_of_conflicts(name: str) -> None:
    dtype = name.split("_")[0]
    plan = planned(tile_kernel(name), dtype)
    bytes = DTYPES[dtype].bytes
    assert plan.a_copy.data_per_read == plan.b_copy.data_per_write == 16 // bytes
    assert plan.c_data_per_write == 4
    assert [traffic.extra for traffic in plan.lds_traffic] == [0, 0]


def test_control_lanes_along_k_meet_in_one_bank() -> None:
    """What would happen if the copy did not follow the packed tile."""
    kernel = tile_kernel("f16_16x16x16_8x8_Kx2")
    unpacked = context_of(plain(512, 512, 512, transpose_b=True), F16)
    plan = data_tiled_tuning(kernel).plan(unpacked, GPU_MACHINES["gfx942"])
    assert min(traffic.extra for traffic in plan.lds_traffic) > 0


def test_packed_arrays_are_seen() -> None:
    """Vectors along k of neighbouring rows follow each other; single elements are no vectors."""
    for name, dtype, is_packed in (("f16_16x16x16_2x2_Kx2", F16, True), ("f32_16x16x4", F32, False)):
        tiled = DataTiled(tile_kernel(name), plain(256, 256, 256))
        assert access_of(tiled.gemm.a, dtype).is_packed is is_packed
        assert not access_of(tiled.view.a, dtype).is_packed


def test_algorithms_have_names() -> None:
    gpu = GPU_MACHINES["gfx942"]
    assert in_full("data_tiled", F16, gpu) == "data_tiled:f16_16x16x16_4x4_Kx2_w2x2"
    assert in_full("data_tiled:anything", F16, gpu) == "data_tiled:anything"
    with pytest.raises(Diagnostic, match="no matrix instruction of gfx908 multiplies f64"):
        usual_kernel(DTYPES["f64"], "gfx908")
