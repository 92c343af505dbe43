"""Cells: an element's places and a place's element are the two ways through one layout."""

from __future__ import annotations

import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.view.mma import (
    Element,
    LaneRegister,
    Operand,
    element_at,
    instruction,
    lane_registers,
    lane_registers_of,
    register_text,
)


@pytest.mark.parametrize(
    "name", ["mfma_f32_16x16x4_4b_f16", "wmma_f32_16x16x16_f16_w64", "mfma_f64_4x4x4_4b_f64"]
)
@pytest.mark.parametrize("operand", ["a", "b", "c"])
def test_there_and_back(name: str, operand: Operand) -> None:
    found = instruction(name)
    for element, held in list(lane_registers(found, operand).items())[::29]:
        assert lane_registers_of(found, operand, element) == held
        assert {element_at(found, operand, place) for place in held} == {element}


def test_copies_are_all_named() -> None:
    found = instruction("wmma_f32_16x16x16_f16_w64")
    assert lane_registers_of(found, "a", Element(3, 5)) == tuple(
        LaneRegister(lane, 5) for lane in (3, 19, 35, 51)
    )


def test_lanes_that_hold_nothing() -> None:
    found = instruction("wmma_i32_16x16x16_iu4_w64_gfx12")
    assert element_at(found, "a", LaneRegister(33, 0)) is None
    assert element_at(found, "a", LaneRegister(1, 0)) == Element(1, 0)


@pytest.mark.parametrize(
    ("name", "operand", "register", "text"),
    [
        ("mfma_f32_32x32x8_f16", "a", 3, "v1[31:16]"),
        ("mfma_f32_32x32x8_f16", "c", 3, "v3"),
        ("mfma_f64_16x16x4_f64", "c", 1, "v[2:3]"),
        ("mfma_f32_16x16x128_fp6_fp4", "a", 5, "v[0:1][35:30]"),
        ("mfma_f32_16x16x128_fp6_fp4", "b", 9, "v1[7:4]"),
        ("wmma_f16_16x16x16_f16_w32", "c", 3, "v3[15:0]"),
        ("wmma_f16_16x16x16_f16_w32_gfx12", "c", 3, "v1[31:16]"),
    ],
)
def test_registers_and_bits(name: str, operand: Operand, register: int, text: str) -> None:
    assert register_text(instruction(name), operand, register) == text


def test_what_is_not_there_is_refused() -> None:
    found = instruction("mfma_f32_32x32x8_f16")
    with pytest.raises(
        Diagnostic, match=r"A of mfma_f32_32x32x8_f16 has no column 8\nhint: it is 32 x 8, in 1 block,"
    ):
        lane_registers_of(found, "a", Element(0, 8))
    with pytest.raises(
        Diagnostic, match=r"C of mfma_f32_32x32x8_f16 has no register 16\nhint: 64 lanes hold 16"
    ):
        element_at(found, "c", LaneRegister(0, 16))
    with pytest.raises(Diagnostic, match="has no block 1"):
        lane_registers_of(found, "c", Element(0, 0, 1))
