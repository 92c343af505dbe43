"""The hot loop's counts and models, on assembly small enough to work out by hand."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from imbrex.build.amd.code_object import compile_code_object
from imbrex.build.amd.hot_loop import (
    Conflicts,
    Inst,
    bound_of,
    counts_of,
    hot_loop,
    hot_loop_of,
    mca_busy,
    read_code,
    simulated_busy,
)
from imbrex.build.amd.hot_loop.kind import Access, access_of, unit_of
from imbrex.build.amd.hot_loop.purpose import purposes
from imbrex.build.amd.report import resources
from imbrex.diagnostic import Diagnostic

HAND = Path(__file__).resolve().parents[4] / "benchmarks" / "amd"
NONE = set[str]()
F16 = "v_mfma_f32_16x16x16_f16 v[0:3], v[20:21], v[22:23], v[0:3]"
F32 = "v_mfma_f32_16x16x4_f32 v[0:3], v20, v22, v[0:3]"


def function(body: str, name: str = "kernel") -> str:
    return f"\t.type\t{name},@function\n{name}:                ; @{name}\n{body}\n.Lfunc_end0:\n"


def insts(text: str) -> tuple[Inst, ...]:
    return read_code(function(text)).insts


def looped(text: str) -> tuple[Inst, ...]:
    return hot_loop_of(read_code(function(f".LBB0_1:\n{text}\ns_cbranch_scc1 .LBB0_1\ns_endpgm")))


def test_an_instruction_is_read_with_its_registers() -> None:
    text = (
        "\tds_read_b128 v[4:7], v72 offset:16384   ; 16-byte Folded Reload\n\ts_waitcnt vmcnt(3) lgkmcnt(0)"
    )
    read, wait = insts(text)
    assert (read.name, read.operands, read.modifiers) == (
        "ds_read_b128",
        ("v[4:7]", "v72"),
        ("offset:16384",),
    )
    assert read.writes == {"v4", "v5", "v6", "v7"}
    assert read.reads == {"v72"}
    assert wait.modifiers == ("vmcnt(3)", "lgkmcnt(0)")


@pytest.mark.parametrize(
    ("text", "writes", "reads"),
    [
        ("v_add_u32_e32 v1, v2, v3", {"v1"}, {"v2", "v3"}),
        ("v_add_co_u32_e32 v1, vcc, s4, v3", {"v1", "vcc"}, {"s4", "v3"}),
        ("v_addc_co_u32_e32 v1, vcc, v2, v3, vcc", {"v1", "vcc"}, {"v2", "v3", "vcc"}),
        ("v_cndmask_b32_e32 v1, v2, v3, vcc", {"v1"}, {"v2", "v3", "vcc"}),
        ("ds_write_b64 v1, v[2:3] offset:8", NONE, {"v1", "v2", "v3"}),
        ("buffer_store_dword v1, v2, s[4:7], s8 offen", NONE, {"v1", "v2", "s4", "s5", "s6", "s7", "s8"}),
        ("s_cmp_lt_i32 s1, s2", {"scc"}, {"s1", "s2"}),
        ("s_cbranch_vccnz .LBB0_1", NONE, {"vcc"}),
        ("buffer_load_dword v1, s[4:7], 0 offen lds", NONE, {"v1", "s4", "s5", "s6", "s7"}),
        ("s_nop 3", NONE, NONE),
    ],
)
def test_registers_written_and_read(text: str, writes: set[str], reads: set[str]) -> None:
    (inst,) = insts(text)
    assert (inst.writes, inst.reads) == (writes, reads)


def test_a_kernel_is_found_by_name() -> None:
    both = function("s_endpgm", "first") + function("s_nop 0\ns_endpgm", "second")
    assert [i.name for i in read_code(both, "second").insts] == ["s_nop", "s_endpgm"]
    with pytest.raises(Diagnostic, match="holds the functions first, second; asked for secnd") as caught:
        read_code(both, "secnd")
    assert caught.value.hint == "did you mean 'second'?"
    with pytest.raises(Diagnostic, match="asked for None"):
        read_code(both)


@pytest.mark.parametrize(
    ("text", "unit", "access"),
    [
        ("ds_read_b128 v[0:3], v4", "lds", Access("lds", "read", 16)),
        ("ds_read2_b64 v[0:3], v4 offset1:1", "lds", Access("lds", "read", 16)),
        ("ds_read_u16_d16 v0, v4", "lds", Access("lds", "read", 2)),
        ("ds_read_b64_tr_b16 v[0:1], v4", "lds", Access("lds", "read", 8)),
        ("ds_write2st64_b32 v0, v1, v2", "lds", Access("lds", "write", 8)),
        ("ds_add_u32 v0, v1", "lds", Access("lds", "atomic", 4)),
        ("ds_bpermute_b32 v0, v1, v2", "lds", None),
        ("buffer_load_dwordx4 v[0:3], v4, s[4:7], s8 offen", "vmem", Access("global", "read", 16)),
        ("buffer_load_dword v4, s[4:7], s8 offen lds", "vmem", Access("global", "read", 4, direct=True)),
        ("global_load_lds_dwordx4 v4, s[4:5]", "vmem", Access("global", "read", 16, direct=True)),
        ("global_load_ushort v0, v4, s[4:5]", "vmem", Access("global", "read", 2)),
        ("global_store_dwordx2 v4, v[0:1], s[4:5]", "vmem", Access("global", "write", 8)),
        ("global_atomic_add_f32 v4, v0, s[4:5]", "vmem", Access("global", "atomic", 4)),
        (F16, "matrix", None),
        ("v_perm_b32 v0, v1, v2, s3", "valu", None),
        ("s_load_dwordx2 s[0:1], s[4:5], 0x0", "smem", None),
        ("s_setprio 1", "other", None),
    ],
)
def test_what_an_instruction_does(text: str, unit: str, access: Access | None) -> None:
    (inst,) = insts(text)
    assert unit_of(inst) == unit
    assert access_of(inst) == access


@pytest.mark.parametrize("kind", ["b", "u", "i"])
@pytest.mark.parametrize("bits", [8, 16, 32, 64, 96, 128])
def test_an_access_of_lds_has_the_bits_of_its_name(kind: str, bits: int) -> None:
    if kind == "b" or bits <= 16:
        (read,) = insts(f"ds_read_{kind}{bits} v0, v4")
        assert access_of(read) == Access("lds", "read", bits // 8)
        (write,) = insts(f"ds_write2_{kind}{bits} v0, v4, v5")
        assert access_of(write) == Access("lds", "write", bits // 4)


@pytest.mark.parametrize(
    ("kind", "wide"),
    [("ubyte", 1), ("sbyte", 1), ("byte", 1), ("ushort", 2), ("sshort", 2), ("short", 2), ("dword", 4),
     ("dwordx2", 8), ("dwordx3", 12), ("dwordx4", 16), ("ubyte_d16", 1), ("short_d16_hi", 2)],
)  # fmt: skip
def test_an_access_of_memory_has_the_bytes_of_its_name(kind: str, wide: int) -> None:
    for space in ("buffer", "global", "flat", "scratch"):
        (load,) = insts(f"{space}_load_{kind} v0, v4")
        (store,) = insts(f"{space}_store_{kind} v4, v0")
        assert access_of(load) == Access("global", "read", wide)
        assert access_of(store) == Access("global", "write", wide)


def test_the_hot_loop_is_the_innermost_with_most_products() -> None:
    code = f"""
.LBB0_1:
    {F16}
    {F16}
    {F16}
.LBB0_2:
    {F16}
    s_cbranch_vccz .LBB0_4
    v_mov_b32_e32 v9, 0
.LBB0_4:
    s_cbranch_scc1 .LBB0_2
    s_cbranch_scc1 .LBB0_1
.LBB0_5:
    v_mov_b32_e32 v8, 0
    s_cbranch_scc0 .LBB0_5
    s_endpgm"""
    loop = hot_loop_of(read_code(function(code)))
    names = ["v_mfma_f32_16x16x16_f16", "s_cbranch_vccz", "v_mov_b32", "s_cbranch_scc1"]
    assert [inst.name for inst in loop] == names


def test_a_branch_forward_is_no_loop() -> None:
    assert hot_loop_of(read_code(function(f"s_cbranch_scc1 .LBB0_1\n{F16}\n.LBB0_1:\ns_endpgm"))) == ()
    assert hot_loop(function("s_endpgm"), "gfx942") is None


@pytest.mark.parametrize(
    ("why", "text", "index", "data"),
    [
        ("an address of LDS", "v_add_u32_e32 v9, 4, v9\nds_read_b64 v[20:21], v9", 1, 0),
        (
            "an address, by way of a move",
            "v_mov_b32 v8, v7\nv_mov_b32 v9, v8\nds_read_b64 v[20:21], v9",
            2,
            0,
        ),
        ("an address of the next trip", "ds_read_b64 v[20:21], v9\nv_add_u32_e32 v9, 64, v9", 1, 0),
        (
            "a guard",
            "v_bfe_i32 v8, v7, s5, 1\nv_or_b32 v9, v8, v6\nbuffer_load_dword v1, v9, s[0:3], 0 offen",
            2,
            0,
        ),
        ("a mask of elements", "v_cmp_gt_u32 vcc, v8, v7\nv_cndmask_b32 v20, 0, v9, vcc", 1, 1),
        ("an operand", "v_perm_b32 v20, v8, v9, s1", 0, 1),
        ("a stored element", "v_cvt_f16_f32 v8, v9\nds_write_b16 v7, v8", 0, 1),
        ("a stored element by buffer", "v_mov_b32 v8, v6\nbuffer_store_dword v8, v9, s[0:3], 0 offen", 0, 1),
        ("a sum on the move", "v_accvgpr_mov_b32 a9, a8\nv_accvgpr_read_b32 v20, a9", 0, 2),
        ("a scalar", "v_readfirstlane_b32 s4, v9\ns_add_i32 s5, s4, 1", 1, 0),
        ("nothing", "v_mov_b32 v50, v51", 1, 0),
    ],
)
def test_index_arithmetic_is_told_from_data(why: str, text: str, index: int, data: int) -> None:
    loop = looped(f"{text}\n{F16}")
    found = list(purposes(loop).values())
    assert (found.count("index"), found.count("data")) == (index, data), why


def test_counts_by_width() -> None:
    loop = looped(
        f"""ds_read_b128 v[20:23], v9
        ds_read_b128 v[20:23], v9 offset:16
        ds_write_b64 v9, v[20:21]
        buffer_load_dwordx4 v[30:33], v8, s[0:3], s4 offen
        buffer_load_dword v8, s[0:3], s4 offen lds
        s_add_i32 s4, s4, 64
        s_waitcnt vmcnt(0)
        s_barrier
        {F16}
        {F16}"""
    )
    counts = counts_of(loop)
    assert dict(counts.matrix) == {"v_mfma_f32_16x16x16_f16": 2}
    assert (counts.lds_reads, counts.lds_writes) == ({16: 2}, {8: 1})
    assert (counts.loads, counts.direct_loads, counts.stores) == ({16: 1}, {4: 1}, {})
    assert (counts.index, counts.data, counts.salu) == (0, 0, 1)
    assert (counts.waits, counts.barriers, counts.total) == (1, 1, 11)
    assert counts.to_json()["lds_reads"] == {"16": 2}


def test_the_bound_by_hand() -> None:
    """Two 16-clock products; a read of 64 * 16 bytes takes 8 clocks at 128 bytes a clock, for four SIMDs."""
    loop = looped(f"{F16}\n{F16}\nds_read_b128 v[30:33], v9\nv_mov_b32 v9, v8\ns_add_i32 s4, s4, 1")
    bound = bound_of(loop, "gfx942", 1, Conflicts())
    assert (bound.matrix, bound.vector, bound.lds, bound.memory) == (32, 4 + 4 + 4, 32, 0)
    assert (bound.scalar, bound.issue) == (4, 6 * 4)
    assert (bound.busy, bound.limit) == (1.0, "matrix")
    conflicted = bound_of(loop, "gfx942", 1, Conflicts(read=2.0))
    assert (conflicted.lds, conflicted.busy, conflicted.limit) == (64, 0.5, "lds")
    assert bound_of(loop, "gfx950", 1, Conflicts()).lds == 16
    twice = bound_of(loop, "gfx942", 2, Conflicts())
    assert (twice.matrix, twice.lds, twice.issue) == (64, 64, 24)


def test_an_f32_product_shuts_out_vector_instructions() -> None:
    vector = "v_mov_b32 v40, v41\n" * 4
    assert bound_of(looped(F16 * 1 + "\n" + vector), "gfx942", 1, Conflicts()).vector == 4 + 16
    assert bound_of(looped(F32 + "\n" + vector), "gfx942", 1, Conflicts()).busy == 32 / 48


def test_the_timeline_of_products_alone_is_full() -> None:
    """But for the branch, behind whose 16 clocks a second wave's products go on."""
    loop = looped("\n".join([F16] * 8))
    assert simulated_busy(loop, "gfx942", 1, Conflicts()) == pytest.approx(128 / (128 + 4), abs=0.01)
    assert simulated_busy(loop, "gfx942", 2, Conflicts()) == pytest.approx(1.0, abs=0.01)


def test_a_wait_for_memory_shows_and_more_waves_hide_it() -> None:
    """8 products take 128 clocks; the load behind them 640, give or take some of them."""
    loop = looped(
        "buffer_load_dwordx4 v[30:33], v9, s[0:3], 0 offen\ns_waitcnt vmcnt(0)\n" + "\n".join([F16] * 8)
    )
    shares = [simulated_busy(loop, "gfx942", waves, Conflicts()) for waves in (1, 2, 4)]
    assert shares[0] == pytest.approx(128 / (128 + 640), abs=0.02)
    assert shares[1] == pytest.approx(2 * shares[0], rel=0.1)
    assert 2.5 * shares[0] < shares[2] < 4.1 * shares[0]  # data returns in order, to all waves
    in_flight = looped(
        "\n".join(["s_waitcnt vmcnt(8)", "buffer_load_dwordx4 v[30:33], v9, s[0:3], 0 offen", *[F16] * 8])
    )
    assert simulated_busy(in_flight, "gfx942", 1, Conflicts()) > 0.9


def test_a_barrier_holds_a_workgroup_together() -> None:
    """Waves of one workgroup wait for LDS at the same time; waves of two take turns."""
    work = "ds_read_b128 v[30:33], v9\ns_waitcnt lgkmcnt(0)\n" + "\n".join([F16] * 8) + "\ns_barrier"
    loop = looped(work)
    together = simulated_busy(loop, "gfx942", 2, Conflicts(), waves_of_group=2)
    apart = simulated_busy(loop, "gfx942", 2, Conflicts(), waves_of_group=1)
    assert together < apart - 0.1


def test_conflicts_slow_the_timeline() -> None:
    loop = looped("ds_read_b128 v[30:33], v9\n" * 4 + "s_waitcnt lgkmcnt(0)\n" + "\n".join([F16] * 8))
    free = simulated_busy(loop, "gfx942", 4, Conflicts())
    assert simulated_busy(loop, "gfx942", 4, Conflicts(read=4.0)) < free / 2


@pytest.mark.skipif(shutil.which("llvm-mca-22") is None, reason="llvm-mca 22 is not installed")
def test_llvm_agrees_on_products_alone() -> None:
    accumulators = [
        f"v_mfma_f32_16x16x16_f16 v[{4 * i}:{4 * i + 3}], v[80:81], v[82:83], 0" for i in range(8)
    ]
    share = mca_busy(looped("\n".join(accumulators)), "gfx942")
    assert share is not None and share > 0.95


def test_an_unknown_chip_is_a_diagnostic() -> None:
    with pytest.raises(Diagnostic, match="the hot-loop model does not know 'gfx943'"):
        bound_of(looped(F16), "gfx943", 1, Conflicts())


@pytest.mark.parametrize("dtype", ["f32", "f16", "i8"])
def test_the_hand_written_kernels_are_worth_comparing_with(dtype: str, tmp_path: Path) -> None:
    sources = {path.name: path.read_text() for path in HAND.glob("hand_*")}
    unit = f"hand_{dtype}.hip.cpp"
    code_object = compile_code_object(sources, unit, "gfx942", tmp_path)
    (found,) = resources(code_object.with_suffix(".s").read_text(), "gfx942")
    loop = found.hot_loop
    assert loop is not None
    assert (found.usage.spills, loop.counts.index, loop.counts.data) == (0, 0, 0)
    assert {*loop.counts.loads, *loop.counts.lds_reads, *loop.counts.lds_writes} == {16}
    assert loop.busy > 0.95
