"""Occupancy: against the compiler's own figure, and at the edges where a register or a byte costs a wave."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from imbrex.build.amd.code_object import CodeObject
from imbrex.build.amd.occupancy import occupancy
from imbrex.build.amd.usage import Usage, usages
from imbrex.chip import gpus

ONE_WAVE = Usage("k", 32, 0, 32, 16, 0, 0, 0, 0, 24, 64)


def waves(chip: str, **changed: int) -> int:
    return occupancy(replace(ONE_WAVE, **changed), chip).waves_per_simd


@pytest.mark.parametrize("chip", gpus("AMD"))
def test_as_the_compiler_says(chip: str, amd_code: Callable[[str], CodeObject]) -> None:
    """Every kernel here has workgroups that fill the SIMDs evenly, or LDS in whole granules."""
    text = amd_code(chip).assembly
    said = [int(n) for n in re.findall(r"^; Occupancy: (\d+)", text, re.M)]
    found = usages(text)
    assert {u.kernel: occupancy(u, chip).waves_per_simd for u in found} == dict(
        zip([u.kernel for u in found], said, strict=True)
    )
    assert len(set(said)) >= 4, "the kernels differ"


def test_registers_of_a_unified_file() -> None:
    """512 registers of a lane, given in eights."""
    table = {64: 8, 65: 7, 72: 7, 80: 6, 88: 5, 96: 5, 104: 4, 128: 4, 136: 3, 168: 3, 176: 2, 256: 2, 257: 1}
    assert {n: waves("gfx942", total_vgprs=n) for n in table} == table


def test_registers_of_gfx908() -> None:
    """256 of each kind, given in fours; ten waves at most."""
    table = {24: 10, 28: 9, 32: 8, 36: 7, 40: 6, 48: 5, 64: 4, 65: 3, 84: 3, 85: 2, 128: 2, 129: 1}
    assert {n: waves("gfx908", total_vgprs=n) for n in table} == table


def test_scalar_registers_cost_a_wave_at_most() -> None:
    assert (waves("gfx942", sgprs=96), waves("gfx942", sgprs=102)) == (8, 7)


def test_lds_holds_whole_workgroups() -> None:
    found = occupancy(replace(ONE_WAVE, lds_bytes=16384, block_size=256), "gfx942")
    assert (found.workgroups_per_cu, found.waves_per_simd, found.limit) == (4, 4, "lds")
    one_more = occupancy(replace(ONE_WAVE, lds_bytes=16385, block_size=256), "gfx942")
    assert one_more.workgroups_per_cu == 3
    assert occupancy(replace(ONE_WAVE, lds_bytes=65536, block_size=256), "gfx950").workgroups_per_cu == 2


def test_lds_of_gfx950_comes_in_1280_bytes() -> None:
    """Five times 32 KiB are its 160 KiB, but each takes 26 granules of them."""
    found = occupancy(replace(ONE_WAVE, lds_bytes=32768, block_size=256), "gfx950")
    assert found.workgroups_per_cu == 4
    assert occupancy(replace(ONE_WAVE, lds_bytes=32000, block_size=256), "gfx950").workgroups_per_cu == 5


def test_barriers_bound_small_workgroups() -> None:
    small = replace(ONE_WAVE, total_vgprs=24)
    two = occupancy(replace(small, block_size=128), "gfx908")
    assert (two.workgroups_per_cu, two.waves_per_simd, two.limit) == (16, 8, "barriers")
    assert occupancy(small, "gfx908").limit == "slots", "a single wave needs no barrier"


def test_a_workgroup_needs_all_its_waves_at_once() -> None:
    """Three waves a SIMD are twelve a compute unit: one workgroup of eight."""
    found = occupancy(replace(ONE_WAVE, total_vgprs=168, block_size=512), "gfx942")
    assert (found.workgroups_per_cu, found.waves_per_simd, found.limit) == (1, 2, "registers")
