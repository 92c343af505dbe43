"""The table: finding an instruction, and what is said where there is none."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.view.mma import CHIPS, in_packs, instruction, instructions, nearest, on_chip, taking
from imbrex.view.mma.fragment import k_parts


@pytest.mark.parametrize(
    "name",
    [
        "mfma_f32_32x32x8_f16",
        "v_mfma_f32_32x32x8_f16",
        "v_mfma_f32_32x32x8f16",
        "mfma_f32_32x32x8f16",
        "__builtin_amdgcn_mfma_f32_32x32x8f16",
    ],
)
def test_every_spelling_finds_it(name: str) -> None:
    assert instruction(name).name == "mfma_f32_32x32x8_f16"


def test_names_are_unique_and_lead_back() -> None:
    table = instructions()
    assert len({i.name for i in table}) == len(table)
    assert [i for i in table if instruction(i.name) is not i] == []


@pytest.mark.parametrize(
    ("chip", "count"),
    [
        ("gfx908", 20),
        ("gfx90a", 27),
        ("gfx942", 32),
        ("gfx950", 86),
        ("gfx11", 12),
        ("gfx12", 22),
        ("sm_90a", 328),
    ],
)
def test_how_many_a_chip_has(chip: str, count: int) -> None:
    assert len(instructions(chip)) == count


def test_by_the_type_of_a() -> None:
    assert [i.name for i in instructions("gfx942", "xf32")] == [
        "mfma_f32_32x32x4_xf32",
        "mfma_f32_16x16x8_xf32",
    ]


@pytest.mark.parametrize(
    ("name", "elements", "registers", "k_base"),
    [
        ("mfma_f32_32x32x1_2b_f32", (1, 1, 32), (1, 1, 32), 1),
        ("mfma_f32_32x32x8_f16", (4, 4, 16), (2, 2, 16), 4),
        ("mfma_f64_16x16x4_f64", (1, 1, 4), (2, 2, 8), 1),
        ("mfma_i32_16x16x64_i8", (16, 16, 4), (4, 4, 4), 16),
        ("mfma_f32_16x16x128_fp8_fp8", (32, 32, 4), (8, 8, 4), 16),
        ("mfma_f32_16x16x128_fp6_fp4", (32, 32, 4), (6, 4, 4), 32),
        ("wmma_f16_16x16x16_f16_w32", (16, 16, 8), (8, 8, 8), 16),
        ("wmma_f16_16x16x16_f16_w32_gfx12", (8, 8, 8), (4, 4, 4), 4),
        ("wmma_i32_16x16x16_iu4_w64_gfx12", (8, 8, 4), (1, 1, 4), 8),
    ],
)
def test_what_a_lane_holds(
    name: str, elements: tuple[int, ...], registers: tuple[int, ...], k_base: int
) -> None:
    found = instruction(name)
    assert (found.a_elements, found.b_elements, found.c_elements) == elements
    assert (found.registers("a"), found.registers("b"), found.registers("c")) == registers
    assert k_parts(found.a).slots == k_base


@pytest.mark.parametrize("chip", CHIPS)
def test_registers_hold_every_element_once(chip: str) -> None:
    """But of RDNA3's, whose operands several lanes hold."""
    for found in instructions(chip):
        shapes = {"a": (found.m, found.k), "b": (found.k, found.n), "c": (found.m, found.n)}
        for operand in found.held:
            bits = prod(shapes[operand]) * found.blocks * found.register_bits(operand)
            copies = found.wave // 16 if chip == "gfx11" and operand != "c" else 1
            held = found.registers(operand) * 32 * found.wave
            assert held == max(copies * bits, 32 * found.wave), (found.name, operand)


@pytest.mark.parametrize("pack", [2, 16])
def test_a_pack_is_neighbours_of_its_lane(pack: int) -> None:
    """Of each operand of f8f6f4, whose elements may be of different bits: register r of packs holds registers
    r * pack and so on of single elements.
    """
    scaled = [i for i in instructions("gfx950") if i.scale_a is not None]
    assert len(scaled) == 50
    for one in scaled:
        packed = in_packs(one, pack)
        for operand in ("a", "b"):
            lanes, registers = (d.size for d in packed.map(operand).upper)
            at = np.arange(lanes)[:, None, None], np.arange(registers)[:, None], np.arange(pack)
            k = [d.name for d in one.map(operand).lower].index("k")
            single, _ = one.map(operand).evaluate([at[0], at[1] * pack + at[2]])
            counted, _ = packed.map(operand).evaluate([at[0], at[1]])
            assert np.array_equal(single[k], np.asarray(counted[k]) * pack + at[2]), (one, operand)
    with pytest.raises(Diagnostic, match="mfma_f32_16x16x128_fp8_fp4 takes no packs of 32 neighbours"):
        in_packs(instruction("mfma_f32_16x16x128_fp8_fp4"), 32)


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
def test_packs_are_in_the_registers_of_their_elements(chip: str) -> None:
    asked = [i for i in instructions(chip) if i.blocks == 1 and k_parts(i.a).slots == i.a_elements > 1]
    assert len(asked) > 9
    for found in asked:
        packed = in_packs(found, 2)
        for operand in found.held:
            assert packed.registers(operand) == found.registers(operand), (found.name, operand)


@pytest.mark.parametrize(
    ("chip", "a_type", "rate"),
    [
        ("gfx908", "f32", 64), ("gfx908", "f16", 256), ("gfx908", "bf16", 128), ("gfx90a", "bf16", 256),
        ("gfx90a", "f64", 64), ("gfx942", "xf32", 256), ("gfx942", "f16", 512), ("gfx942", "i8", 1024),
        ("gfx942", "fp8", 1024), ("gfx950", "f64", 32), ("gfx950", "f16", 1024), ("gfx950", "i8", 2048),
        ("gfx950", "fp8", 2048), ("gfx950", "fp4", 4096), ("gfx11", "f16", 256), ("gfx12", "iu4", 2048),
        ("sm_90a", "f16", 4096), ("sm_90a", "tf32", 2048), ("sm_90a", "e4m3", 8192), ("sm_90a", "s8", 8192),
    ],
)  # fmt: skip
def test_the_best_rate_of_a_type_is_the_chips(chip: str, a_type: str, rate: int) -> None:
    """Operations of one SIMD in a cycle: the stated peak of a chip, by its SIMDs and its clock.  A warpgroup
    has all four SIMDs of a multiprocessor.
    """
    assert max(i.rate(chip) for i in instructions(chip, a_type)) == rate


def test_formats_are_the_chips() -> None:
    found = instruction("mfma_f32_16x16x32_fp8_bf8")
    assert (found.format("a", "gfx942"), found.format("b", "gfx942")) == ("f8e4m3fnuz", "f8e5m2fnuz")
    assert (found.format("a", "gfx950"), found.format("b", "gfx950")) == ("f8e4m3fn", "f8e5m2")
    assert instruction("mfma_f32_16x16x8_xf32").format("a", "gfx942") == "f32"


@pytest.mark.parametrize("chip", CHIPS)
def test_the_nearest_is_the_chips_and_multiplies_the_same(chip: str) -> None:
    for wanted in instructions():
        near = nearest(wanted, chip)
        if near is not None:
            assert near.fits(chip) and (near.a_type, near.b_type) == (wanted.a_type, wanted.b_type)
        if wanted.fits(chip):
            assert near is wanted


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (
            lambda: instruction("mfma_f32_32x32x8_f61"),
            "there is no matrix instruction 'mfma_f32_32x32x8_f61'",
            "did you mean 'mfma_f32_32x32x8_f16'?",
        ),
        (
            lambda: instruction("v_mfma_f32_16x16x128_f8f6f4"),
            "'v_mfma_f32_16x16x128_f8f6f4' stands for 25 instructions",
            "name one: mfma_f32_16x16x128_fp8_fp8, ",
        ),
        (
            lambda: on_chip("mfma_f32_16x16x32_f16", "gfx942"),
            "gfx942 has no mfma_f32_16x16x32_f16; it is of gfx950",
            "gfx942 has mfma_f32_16x16x16_f16",
        ),
        (
            lambda: on_chip("mfma_f32_16x16x8_xf32", "gfx950"),
            "gfx950 has no mfma_f32_16x16x8_xf32; it is of gfx942",
            "gfx950 multiplies f32, f16, bf16, i8, f64, fp8, fp8 by bf8, ",
        ),
        (
            lambda: taking("gfx90a", "fp8"),
            "no matrix instruction of gfx90a multiplies fp8 by fp8; gfx942, gfx950 and gfx12 do",
            "gfx90a multiplies f32, f16, bf16, i8, f64",
        ),
        (
            lambda: taking("gfx942", "f16", "i8"),
            "no matrix instruction of gfx942 multiplies f16 by i8",
            "gfx942 multiplies f32, xf32, f16, ",
        ),
        (
            lambda: instructions("gfx94"),
            "no matrix instructions are known of 'gfx94'",
            "did you mean 'gfx942'?",
        ),
    ],
)
def test_what_is_said_where_there_is_none(call: object, message: str, hint: str) -> None:
    assert callable(call)
    with pytest.raises(Diagnostic) as caught:
        call()
    assert caught.value.message == message
    assert caught.value.hint is not None and caught.value.hint.startswith(hint)
