"""What a few instructions do, and what the emulator says of those that are wrong."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from imbrex.build.isa import isa
from imbrex.build.shared_library import build_shared
from imbrex.cdna.execute import Launch, Strictness, _hidden  # pyright: ignore[reportPrivateUsage]
from imbrex.cdna.machine import FLAGS
from imbrex.diagnostic import Diagnostic

Run = Callable[..., int]

GIVEN = np.arange(64, dtype=np.int32)
LOAD = "  global_load_dword v2, v1, s[4:5]\n"
STORE = "  global_store_dword v1, v2, s[6:7]\n"
WAIT = "  s_waitcnt vmcnt(0)\n"


def result() -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.full(64, -1, np.int32)


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ("v_add_u32_e32 v2, 5, v2", GIVEN + 5),
        ("v_mov_b32_dpp v2, v2 row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:1",
         np.where(GIVEN % 16 == 15, 0, GIVEN + 1)),
        ("v_mov_b32_dpp v2, v2 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf", GIVEN ^ 3),
        ("s_mov_b32 s8, 0x0c0c0001\n  v_perm_b32 v2, v2, v2, s8", GIVEN << 8),
        ("v_lshlrev_b32_e32 v3, 8, v2\n"
         "  v_mov_b32_sdwa v2, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1",
         GIVEN),
        ("v_cmp_gt_i32_e32 vcc, 32, v2\n  v_cndmask_b32_e64 v2, 7, v2, vcc", np.where(GIVEN < 32, GIVEN, 7)),
        ("s_mov_b64 exec, 0xff\n  v_mov_b32_e32 v2, 9\n  s_mov_b64 exec, -1", np.where(GIVEN < 8, 9, GIVEN)),
        ("v_readlane_b32 s8, v2, 11\n  v_mov_b32_e32 v2, s8", GIVEN * 0 + 11),
        ("ds_write_b32 v1, v2\n  v_xor_b32_e32 v3, 4, v1\n  s_waitcnt lgkmcnt(0)\n  ds_read_b32 v2, v3\n"
         "  s_waitcnt lgkmcnt(0)", GIVEN ^ 1),
        ("v_accvgpr_write_b32 a3, v2\n  v_accvgpr_read_b32 v2, a3", GIVEN),
    ],
    ids=["add", "row_shl", "quad_perm", "perm", "sdwa", "cndmask", "exec", "readlane", "lds", "agpr"],
)  # fmt: skip
def test_lanes(body: str, want: np.ndarray[tuple[int], np.dtype[np.int32]], run: Run) -> None:
    found = result()
    run(f"{LOAD}{WAIT}  {body}\n{STORE}", GIVEN, found)
    assert np.array_equal(found, want)


TRANSPOSING = """
  v_lshlrev_b32_e32 v1, 2, v1
  v_xor_b32_e32 v6, {other}, v1
  global_load_dwordx4 v[2:5], v1, s[4:5]
  s_waitcnt vmcnt(0)
  ds_write_b128 v1, v[2:5]
  s_waitcnt lgkmcnt(0)
  ds_read_{size}_tr_b{bits} {to}, v6
  s_waitcnt lgkmcnt(0)
  global_store_dwordx4 v1, v[8:11], s[6:7]
"""
"""16 bytes a lane; each reads those of another one."""


def elements(array: np.ndarray[Any, Any], bits: int) -> np.ndarray[Any, Any]:
    """Those of each row of bytes, the first in the lowest bits."""
    ones = np.unpackbits(array, axis=-1, bitorder="little").reshape(len(array), -1, bits)
    return ones @ (1 << np.arange(bits))


@pytest.mark.parametrize(("bits", "size"), [(16, 8), (8, 8), (6, 12), (4, 8)])
def test_lanes_transpose_what_they_read(bits: int, size: int, run: Run) -> None:
    """Eight or twelve bytes each, from anywhere: 16 lanes read a matrix of 16 columns by rows; lane l gets
    column l.
    """
    given = np.random.default_rng(bits).integers(0, 1 << 32, 256, dtype=np.uint32)
    found = np.zeros_like(given)
    to = "v[8:9]" if size == 8 else "v[8:10]"
    text = TRANSPOSING.format(other=80, size=f"b{8 * size}", bits=bits, to=to)
    run(text, given, found, chip="gfx950")
    read = elements(given.view(np.uint8).reshape(64, 16)[np.arange(64) ^ 5, :size], bits)
    want = np.stack([group.reshape(-1, 16).T for group in np.split(read, 4)]).reshape(64, -1)
    assert np.array_equal(elements(found.view(np.uint8).reshape(64, 16)[:, :size], bits), want)


@pytest.mark.parametrize(
    ("other", "before", "told"),
    [
        (4, "", r"LDS is read across 16 bytes: at 0x4, lane 0"),
        (80, "  s_mov_b64 exec, 0xff\n", "all lanes of a wave transpose, and some are off"),
    ],
)
def test_lanes_that_transpose_are_all_there_at_aligned_places(
    other: int, before: str, told: str, run: Run
) -> None:
    text = before + TRANSPOSING.format(other=other, size="b96", bits=6, to="v[8:10]")
    with pytest.raises(Diagnostic, match=told):
        run(text, np.zeros(256, np.uint32), np.zeros(256, np.uint32), chip="gfx950")


@pytest.mark.parametrize(("load", "size"), [("dword", 4), ("dwordx3", 12), ("dwordx4", 16)])
def test_lanes_load_past_their_registers_in_order(load: str, size: int, run: Run) -> None:
    """Three words take the place of four, and the fourth stays as it was."""
    given = np.random.default_rng(size).integers(0, 1 << 32, 256, dtype=np.uint32)
    found = np.zeros_like(given)
    body = f"""
  v_lshlrev_b32_e32 v1, 2, v1
  v_mov_b32_e32 v2, -1
  v_mov_b32_e32 v3, -1
  v_mov_b32_e32 v4, -1
  v_mov_b32_e32 v5, -1
  ds_write_b128 v1, v[2:5]
  s_waitcnt lgkmcnt(0)
  s_mov_b32 m0, 0
  global_load_lds_{load} v1, s[4:5]
  s_waitcnt vmcnt(0)
  ds_read_b128 v[8:11], v1
  s_waitcnt lgkmcnt(0)
  global_store_dwordx4 v1, v[8:11], s[6:7]
"""
    run(body, given, found, chip="gfx950")
    read, apart = given.view(np.uint8).reshape(64, 16)[:, :size], 16 if size == 12 else size
    want = np.full(1024, 255, np.uint8)
    want[: 64 * apart].reshape(64, apart)[:, :size] = read
    assert np.array_equal(found.view(np.uint8), want)


def test_a_load_comes_at_its_wait_and_no_earlier(run: Run) -> None:
    """Two loads; a wait that leaves one under way brings the first of them only."""
    early, late = "  global_load_dword v3, v1, s[4:5]\n", result()
    run(f"{early}{LOAD}  s_waitcnt vmcnt(1)\n{STORE}", GIVEN, late)
    assert (late == 0x7FC0DEAD).all()
    run(f"{LOAD}{early}  s_waitcnt vmcnt(1)\n{STORE}", GIVEN, late)
    assert np.array_equal(late, GIVEN)


def test_scalar_loads_come_in_any_order(run: Run) -> None:
    """So that a wait that leaves one under way brings none."""
    found = result()
    two = "  s_load_dword s8, s[4:5], 0x4\n  s_load_dword s9, s[4:5], 0x8\n"
    for wait, want in (("lgkmcnt(1)", 0xDEADBEEF), ("lgkmcnt(0)", 1)):
        run(f"{two}  s_waitcnt {wait}\n  v_mov_b32_e32 v2, s8\n{STORE}", GIVEN, found)
        assert (found.view(np.uint32) == want).all()


EXCHANGE = """
  ds_write_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  {barrier}
  v_xor_b32_e32 v3, 0x100, v1
  ds_read_b32 v2, v3
  s_waitcnt lgkmcnt(0)
"""


def test_waves_meet_at_a_barrier(run: Run) -> None:
    """Each of two waves reads what the other wrote; in any order of waves."""
    given = np.zeros(128, np.int32)
    for seed in (0, 1, 2):
        found = np.zeros(128, np.int32)
        body = EXCHANGE.format(barrier="s_barrier") + STORE
        run(body, given, found, items=128, strict=Strictness(seed=seed))
        assert np.array_equal(found, np.arange(128) ^ 64)


@pytest.mark.parametrize("barrier", ["", "s_nop 0"])
def test_a_missing_barrier_is_a_race(barrier: str, run: Run) -> None:
    given = np.zeros(128, np.int32)
    with pytest.raises(
        Diagnostic, match=r"^error: k, workgroup \(0, 0, 0\), wave \d, 0x[0-9a-f]+ `ds_.*LDS race"
    ):
        run(EXCHANGE.format(barrier=barrier) + STORE, given, given.copy(), items=128)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (f"  v_add_u32_e32 v1, 4, v1\n{LOAD}{WAIT}",
         r"`global_load_dword v2, v1, s\[4:5\]`: memory out of bounds: 4 bytes at 0x[0-9a-f]+, lane 63"),
        (f"{LOAD}{WAIT}  v_add_u32_e32 v1, -4, v1\n  v_lshlrev_b32_e32 v1, 0, v1\n"
         "  v_ashrrev_i32_e32 v1, 0, v1\n  ds_write_b32 v1, v2\n", "LDS out of bounds: 4 bytes .* lane 0"),
        ("  ds_read_b32 v2, v1 offset:1000\n", "LDS out of bounds"),
        ("  s_trap 2\n", "s_trap executed"),
        ("  .long 0xbfff0000\n", r"`.long 0xbfff0000`: an instruction that the emulator does not know"),
        ("  v_cubeid_f32 v2, v2, v2, v2\n", "`v_cubeid_f32 .*`: an instruction that the emulator does"),
        ("  s_mov_b64 s[8:9], 0\n  s_setpc_b64 s[8:9]\n", "a jump to 0x0, where no instruction is"),
    ],
    ids=["memory", "below LDS", "above LDS", "trap", "none", "unknown", "jump"],
)  # fmt: skip
def test_faults_name_their_place(body: str, told: str, run: Run) -> None:
    with pytest.raises(Diagnostic, match=rf"^error: k, workgroup \(0, 0, 0\), wave 0, 0x[0-9a-f]+ .*{told}"):
        run(body, GIVEN, result())


def test_what_does_not_end_is_stopped(run: Run) -> None:
    with pytest.raises(Diagnostic, match="it does not end"):
        run("again:\n  s_branch again\n", GIVEN, result(), strict=Strictness(most_steps=1000))


MEET = """
  s_lshl_b32 s8, s2, 2
  s_xor_b32 s9, s8, {other}
  v_mov_b32_e32 v3, 1
  v_mov_b32_e32 v4, s8
  v_mov_b32_e32 v5, s9
  global_store_dword v4, v3, s[6:7]
look:
  global_load_dword v6, v5, s[6:7]
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s10, v6
  s_cmp_eq_u32 s10, 1
  s_cbranch_scc1 met
  s_sleep 1
  s_branch look
met:
  v_mov_b32_e32 v3, 7
  global_store_dword v4, v3, s[6:7] offset:32
"""


def test_workgroups_that_sleep_wait_for_later_ones(run: Run) -> None:
    """Each of eight says that it is there, and waits for another one, before it or behind it."""
    for seed in (0, 1):
        found = result()
        run(MEET.format(other=28), GIVEN, found, groups=8, strict=Strictness(seed=seed))
        assert found[:16].tolist() == [1] * 8 + [7] * 8


def test_workgroups_that_wait_for_nobody_hang(run: Run) -> None:
    told = r"workgroup \(1, 0, 0\), wave 0, .*: workgroups wait for each other, and none of them gets on"
    with pytest.raises(Diagnostic, match=told):
        run(MEET.format(other=28), GIVEN, result(), groups=2)


def test_an_unknown_instruction_that_is_not_reached_does_no_harm(run: Run) -> None:
    found = result()
    run(f"{LOAD}{WAIT}  s_branch over\n  v_cubeid_f32 v2, v2, v2, v2\nover:\n{STORE}", GIVEN, found)
    assert np.array_equal(found, GIVEN)


def test_the_core_compiles_for_cpus_of_half_precision() -> None:
    """Where AVX512-FP16 makes ldexp instructions, clang 22 ends with a trap."""
    if isa().arch != "x86_64":
        pytest.skip("-march=sapphirerapids is of x86-64")
    folder = files("imbrex.cdna") / "core"
    sources = {f.name: f.read_text(encoding="utf-8") for f in folder.iterdir() if f.name.endswith(".h")}
    sources["float.cpp"] = (folder / "float.cpp").read_text(encoding="utf-8")
    assert build_shared(sources, flags=(*FLAGS, "-march=sapphirerapids")).path.exists()


def test_what_a_loader_adds_to_the_arguments() -> None:
    """Sizes along three axes, of which those that are not said are 1, and no LDS besides the kernel's own."""
    found = dict(_hidden(Launch((5, 3), (64,))))
    sizes = {"x": (5, 64), "y": (3, 1), "z": (1, 1)}
    for axis, (groups, items) in sizes.items():
        assert (found[f"hidden_block_count_{axis}"], found[f"hidden_group_size_{axis}"]) == (groups, items)
    assert found["hidden_grid_dims"] == 2 and found["hidden_dynamic_lds_size"] == 0
    assert dict(_hidden(Launch((1,), (64,), 512)))["hidden_dynamic_lds_size"] == 512
