"""Every layout at every (lane, register): against AMD's calculator, and for gfx950 against formulas."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from imbrex.view.mma import CHIPS, Instruction, Operand, elements, in_registers, instruction, instructions
from imbrex.view.mma.layout import accumulator, operand

Ints = npt.NDArray[np.int64]
OPERANDS: tuple[Operand, ...] = ("a", "b", "c")


class Fact(NamedTuple):
    """One line of the calculator's facts."""

    chip: str
    mnemonic: str
    cycles: int
    layouts: tuple[str, str, str]

    @property
    def instruction(self) -> Instruction:
        suffix = "_gfx12" if self.chip == "gfx12" else ""
        return instruction(f"{self.mnemonic.removeprefix('v_')}{suffix}")


def facts() -> Iterator[Fact]:
    for line in (Path(__file__).parent / "layouts.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            chip, mnemonic, cycles, *layouts = (cell.strip() for cell in line.split("|"))
            a, b, c = layouts
            yield Fact(chip, mnemonic, int(cycles), (a, b, c))


FACTS = list(facts())


def from_bits(layout: str) -> Ints:
    """[lane, register] -> (row, column, block), -1 where nothing is held, of a layout as bits."""
    lane_bits, register_bits = (part.split() for part in layout.split("/"))
    lane, register = np.indices((1 << len(lane_bits), 1 << len(register_bits)))
    found = np.zeros((*lane.shape, 3), np.int64)
    held = np.ones(lane.shape, np.bool_)
    for number, bits in ((lane, lane_bits), (register, register_bits)):
        for position, bit in enumerate(bits):
            value = number >> position & 1
            if bit == "0":
                held &= value == 0
            elif bit != "-":
                found[..., "rcb".index(bit[0])] += value << int(bit[1:])
    return np.where(held[..., None], found, -1)


@pytest.mark.parametrize("fact", FACTS, ids=lambda f: f"{f.chip}-{f.mnemonic}")
def test_the_calculator_agrees_at_every_lane_and_register(fact: Fact) -> None:
    found = fact.instruction
    assert found.cycles[fact.chip] == fact.cycles
    for name, layout in zip(OPERANDS, fact.layouts, strict=True):
        assert np.array_equal(elements(found, name), from_bits(layout)), name


def test_control_two_bits_exchanged_are_seen() -> None:
    a, _, c = next(f for f in FACTS if f.mnemonic == "v_mfma_f32_32x32x8_f16").layouts
    found = instruction("mfma_f32_32x32x8_f16")
    assert not np.array_equal(elements(found, "a"), from_bits(a.replace("c2 / c0 c1", "c0 / c2 c1")))
    assert not np.array_equal(elements(found, "c"), from_bits(c.replace("r3 r4", "r4 r3")))


@pytest.mark.parametrize("chip", [c for c in CHIPS if c not in ("gfx950", "sm_90a")])
def test_the_table_has_what_the_calculator_has(chip: str) -> None:
    assert {i.name for i in instructions(chip)} == {f.instruction.name for f in FACTS if f.chip == chip}


def k_of_gfx950(found: Instruction, name: Operand, lane: Ints, slot: Ints) -> Ints:
    """k of an operand: neighbours of one lane group, but two chunks of 16 for 8 bits in f8f6f4."""
    edge = found.m if name == "a" else found.n
    group = lane // edge
    if found.element(name) in ("fp8", "bf8") and found.k * edge == 2048:
        return found.k // 2 * (slot // 16) + 16 * group + slot % 16
    return found.k * edge // 64 * group + slot


@pytest.mark.parametrize(
    "found", [i for i in instructions("gfx950") if i.chips == ("gfx950",)], ids=lambda i: i.name
)
def test_gfx950_by_formula(found: Instruction) -> None:
    lane, slot = np.indices((64, found.a_elements))
    zero = np.zeros_like(lane)
    assert np.array_equal(
        elements(found, "a"), np.stack([lane % found.m, k_of_gfx950(found, "a", lane, slot), zero], -1)
    )
    lane, slot = np.indices((64, found.b_elements))
    assert np.array_equal(
        elements(found, "b"), np.stack([k_of_gfx950(found, "b", lane, slot), lane % found.n, zero], -1)
    )
    lane, slot = np.indices((64, found.c_elements))
    zero = np.zeros_like(lane)
    step = 64 // found.n * 4
    m = step * (slot // 4) + 4 * (lane // found.n) + slot % 4
    assert np.array_equal(elements(found, "c"), np.stack([m, lane % found.n, zero], -1))


@pytest.mark.parametrize("found", in_registers(), ids=lambda i: i.name)
def test_every_element_is_held_and_only_copies_are_held_twice(found: Instruction) -> None:
    copies = found.wave // 16 if found.chips == ("gfx11",) else 1
    for name in OPERANDS:
        sizes = [d.size for d in found.map(name).lower]
        row, column, block = elements(found, name)[elements(found, name)[..., 0] >= 0].T
        flat = (block * sizes[1] + row) * sizes[2] + column
        count = np.bincount(flat, minlength=int(np.prod(sizes)))
        assert count.size == np.prod(sizes)
        assert set(count.tolist()) == {1 if name == "c" else copies}, name


@pytest.mark.parametrize("found", in_registers(), ids=lambda i: i.name)
def test_a_and_b_share_their_k(found: Instruction) -> None:
    """Lanes of one group hold the same k of A and of B where both have one width: what lets k be permuted."""
    a, b = elements(found, "a"), elements(found, "b")
    if (found.a_type in ("fp8", "bf8")) == (found.b_type in ("fp8", "bf8")):
        assert np.array_equal(a[..., 1], b[..., 0])
    else:
        assert not np.array_equal(a[..., 1], b[..., 0])


def test_a_layout_reads_as_rules() -> None:
    assert str(operand("a", 16, 16, 1)).splitlines() == [
        "(lane=64, register=4)",
        "  lane -> merge -> k_group, m_lane; register -> passthrough -> k_slot",
        "(k_group=4, m_lane=16, k_slot=4)",
        "   -> fixed(0) -> block; m_lane -> passthrough -> m; k_group, k_slot -> unmerge -> k",
        "(block=1, m=16, k=16)",
    ]


def test_a_layout_without_copies_has_an_inverse() -> None:
    layout = accumulator(32, 32, 2, 4)
    back = layout.inverse()
    lane, register = np.indices((64, 32))
    (block, m, n), _ = layout.evaluate([lane, register])
    (lane_again, register_again), _ = back.evaluate([block, m, n])
    assert np.array_equal(lane_again, lane) and np.array_equal(register_again, register)
