"""Cells: where an element of a matrix is held, and what a lane's register holds.

Law: both are read off the layout, asked at every (lane, register).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from imbrex.diagnostic import Diagnostic
from imbrex.view.mma.instruction import BITS, Instruction, Operand

__all__ = [
    "Element",
    "LaneRegister",
    "element_at",
    "element_text",
    "elements",
    "lane_registers",
    "lane_registers_of",
    "register_text",
]

Ints = npt.NDArray[np.int64]


class Element(NamedTuple):
    """An element of A (row m, column k), B (k, n) or C (m, n)."""

    row: int
    column: int
    block: int = 0


class LaneRegister(NamedTuple):
    """The `register`-th element that a lane holds."""

    lane: int
    register: int


def elements(instruction: Instruction, operand: Operand) -> Ints:
    """[lane, register] -> (row, column, block) of the element there; -1 where there is none."""
    layout = instruction.map(operand)
    lane, register = np.indices([d.size for d in layout.upper])
    (block, row, column), exists = layout.evaluate([lane, register])
    parts = np.broadcast_arrays(row, column, block, lane)[:3]
    return np.where(np.broadcast_to(exists, lane.shape)[..., None], np.stack(parts, axis=-1), -1)


def lane_registers(instruction: Instruction, operand: Operand) -> dict[Element, tuple[LaneRegister, ...]]:
    """Every element and the registers that hold it, several where lanes hold copies; row by row."""
    found: dict[Element, list[LaneRegister]] = {}
    for lane, registers in enumerate(elements(instruction, operand).tolist()):
        for register, (row, column, block) in enumerate(registers):
            if row >= 0:
                found.setdefault(Element(row, column, block), []).append(LaneRegister(lane, register))
    order = sorted(found, key=lambda e: (e.block, e.row, e.column))
    return {element: tuple(found[element]) for element in order}


def lane_registers_of(
    instruction: Instruction, operand: Operand, wanted: Element
) -> tuple[LaneRegister, ...]:
    """The registers of lanes that hold an element; a Diagnostic where the matrix has no such element."""
    block, rows, columns = (d.size for d in instruction.map(operand).lower)
    for value, size, name in zip(wanted, (rows, columns, block), ("row", "column", "block"), strict=True):
        if not 0 <= value < size:
            raise Diagnostic(
                f"{operand.upper()} of {instruction.name} has no {name} {value}",
                hint=f"it is {rows} x {columns}, in {block} block{'s' if block > 1 else ''}, counted from 0",
            )
    return lane_registers(instruction, operand)[wanted]


def element_at(instruction: Instruction, operand: Operand, at: LaneRegister) -> Element | None:
    """The element in a register of a lane, None where it holds none; a Diagnostic where there is none."""
    held = elements(instruction, operand)
    for value, size, name in zip(at, held.shape, ("lane", "register"), strict=False):
        if not 0 <= value < size:
            raise Diagnostic(
                f"{operand.upper()} of {instruction.name} has no {name} {value}",
                hint=f"{held.shape[0]} lanes hold {held.shape[1]} elements each, counted from 0",
            )
    row, column, block = held[at.lane, at.register].tolist()
    return None if row < 0 else Element(row, column, block)


def element_text(instruction: Instruction, operand: Operand, element: Element) -> str:
    """`A[3][5]`, and of several blocks `A[3][5].1`."""
    block = f".{element.block}" if instruction.blocks > 1 else ""
    return f"{operand.upper()}[{element.row}][{element.column}]{block}"


def register_text(instruction: Instruction, operand: Operand, register: int) -> str:
    """The 32-bit registers and the bits of the `register`-th element, counted from the operand's first:
    `v1[31:16]`, `v[2:3]` for a whole pair, `v[0:1][35:30]` for bits across two.
    """
    bits = BITS[instruction.element(operand)]
    start = register * instruction.register_bits(operand)
    first, low = divmod(start, 32)
    last = (start + bits - 1) // 32
    name = f"v{first}" if first == last else f"v[{first}:{last}]"
    return name if low == 0 and bits == 32 * (last - first + 1) else f"{name}[{low + bits - 1}:{low}]"
