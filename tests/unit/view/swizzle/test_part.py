"""Parts: the digits that make a dimension are read off the map of every instruction, and say what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import Embed, Merge, PassThrough, Unmerge, Xor
from imbrex.view.mma import Operand, in_registers
from imbrex.view.swizzle.part import Digit, Part, held_parts, refined

OPERANDS: tuple[Operand, ...] = ("a", "b", "c")


def from_parts(parts: tuple[Part, ...], lane: Any, register: Any) -> Any:
    """The coordinate that the parts make."""
    total: Any = 0
    for part in parts:
        holder = lane if part.kind == "lane" else register
        total = total + part.digit.step * (holder // part.stride % part.size)
    return total


@pytest.mark.parametrize("operand", OPERANDS)
def test_parts_make_the_map_of_every_instruction(operand: Operand) -> None:
    for found in in_registers():
        layout = found.map(operand)
        coords, valid = layout.evaluate(list(np.indices([d.size for d in layout.upper])))
        lane, register = np.indices([d.size for d in layout.upper])
        for dim, coord in zip(layout.lower, coords, strict=True):
            parts = held_parts(layout, dim.name)
            assert parts is not None, (found, dim)
            made = from_parts(parts, lane, register)
            assert np.array_equal(np.where(valid, made, 0), np.where(valid, coord, 0)), (found, dim)


def layout_of(*entries: Any, order: list[str], **sizes: int) -> Map:
    return Map((layer_over((Dim("m", 8),), *entries, order=order, **sizes),))


def test_control_what_no_digits_make_has_no_parts() -> None:
    tilted = layout_of((Embed((1, 3)), "lane register", "m"), order=["lane", "register"], lane=2, register=3)
    assert held_parts(tilted, "m") is None
    dims = (Dim("m", 4), Dim("k", 4))
    mixed = Map((layer_over(dims, (Xor(), "lane register", "m k")),))
    assert held_parts(mixed, "k") is None and held_parts(mixed, "m") is not None


def test_registers_that_run_from_the_first_coordinate_are_elements() -> None:
    below = layer_over((Dim("m", 8),), (Unmerge(), "high lane low", "m"), high=2, lane=2, low=2)
    above = layer_over(below.upper, (Merge(), "register", "high low"), (PassThrough(), "lane", "lane"))
    parts = held_parts(Map((above, below)), "m")
    assert parts is not None
    assert [(p.kind, p.size, p.digit.step, p.stride) for p in parts] == [
        ("outer", 2, 4, 2),
        ("lane", 2, 2, 1),
        ("element", 2, 1, 1),
    ]


def test_a_digit_is_refined_where_it_cuts_parts_in_whole() -> None:
    lane, element = (
        Part("m", "lane", Digit("instruction", 4, 4), 16),
        Part("m", "element", Digit("instruction", 4), 1),
    )
    whole = refined(Digit("instruction", 16), (lane, element))
    assert whole == (lane, element)
    middle = refined(Digit("instruction", 4, 2), (lane, element))
    assert middle is not None
    assert [(p.kind, p.size, p.digit.step, p.stride) for p in middle] == [
        ("lane", 2, 4, 16),
        ("element", 2, 2, 2),
    ]
    assert refined(Digit("instruction", 3), (lane, element)) is not None
    assert refined(Digit("instruction", 2, 3), (lane, element)) is None
