"""wgmma: the shapes that there are, and every layout at every lane and register by formula."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.view.mma import (
    BITS,
    Instruction,
    LaneRegister,
    elements,
    instruction,
    instructions,
    register_text,
)

HOPPER = instructions("sm_90a")


def test_the_columns_that_there_are() -> None:
    """Any multiple of 8 for floats; for integers, from 32 on, of 16."""
    assert [i.n for i in HOPPER if (i.a_type, i.c_type) == ("bf16", "f32")] == list(range(8, 257, 8))
    whole = [i.n for i in HOPPER if (i.a_type, i.b_type) == ("s8", "u8")]
    assert whole == [8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256]


@pytest.mark.parametrize("found", HOPPER, ids=str)
def test_k_is_32_bytes_and_the_name_says_it_all(found: Instruction) -> None:
    assert found.k * BITS[found.a_type] == found.k * BITS[found.b_type] == 256
    shape, types = f"m64n{found.n}k{found.k}", (found.c_type, found.a_type, found.b_type)
    assert found.mnemonic == f"wgmma.mma_async.sync.aligned.{shape}.{'.'.join(types)}"
    assert instruction(found.mnemonic) is found
    assert found.registers("c") == found.n * BITS[found.c_type] // 64
    assert found.registers("a") == 4


@pytest.mark.parametrize("found", HOPPER, ids=str)
def test_sums_by_formula(found: Instruction) -> None:
    t, i = np.indices((128, found.n // 2))
    row = 16 * (t // 32) + t % 32 // 4 + 8 * (i // 2 % 2)
    column = 8 * (i // 4) + 2 * (t % 4) + i % 2
    assert np.array_equal(elements(found, "c"), np.stack([row, column, np.zeros_like(row)], -1))


@pytest.mark.parametrize("found", [i for i in HOPPER if i.n == 8], ids=str)
def test_a_in_registers_by_formula(found: Instruction) -> None:
    """Four registers of 32 bits: rows 8 apart in the second, the other half of k in the third, both."""
    each = 32 // BITS[found.a_type]
    t, i = np.indices((128, 4 * each))
    word, slot = i // each, i % each
    row = 16 * (t // 32) + t % 32 // 4 + 8 * (word % 2)
    k = each * (t % 4) + slot + found.k // 2 * (word // 2)
    assert np.array_equal(elements(found, "a"), np.stack([row, k, np.zeros_like(row)], -1))


def test_every_element_is_held_once() -> None:
    for found in HOPPER:
        for operand in found.held:
            held = elements(found, operand).reshape(-1, 3)
            numbers = np.ravel_multi_index(tuple(held.T), tuple(held.max(axis=0) + 1))
            assert len(np.unique(numbers)) == len(held), found


def test_no_lane_holds_b() -> None:
    found = instruction("wgmma_m64n8k16_f16_f16")
    with pytest.raises(Diagnostic, match="no lane holds B of wgmma_m64n8k16_f16_f16"):
        found.map("b")
    assert register_text(found, "c", LaneRegister(0, 3).register) == "v1[31:16]"
    assert [found.format(o, "sm_90a") for o in ("a", "b", "c")] == ["f16", "f16", "f16"]


def test_control_a_wave_of_64_holds_them_otherwise() -> None:
    other = instruction("mfma_f32_32x32x8_f16")
    t, i = np.indices((64, other.c_elements))
    assert not np.array_equal(elements(other, "c")[..., 0], 16 * (t // 32) + t % 32 // 4 + 8 * (i // 2 % 2))
