"""The strips of a depthwise convolution on any machine, and what windows cost as vectors of a CPU.

cycles = vectors fetched into rings * copy + vectors of sums * (taps / fma_per_cycle + store)
"""

from __future__ import annotations

from math import prod

from imbrex.chip import CpuMachine, Machine
from imbrex.config.cpu.team import team
from imbrex.config.strips import Box, Shape, box_of, fastest, strips_of, strips_that_serve

__all__ = ["chosen_box", "served_boxes", "window_cycles"]

PARTS = (1, 2, 4, 8)
"""Parts of the rows, each of a workgroup's own."""
VECTORS = (1, 2, 4)
"""Vectors of channels of a workgroup."""
RING = 0.75
"""Share of L1 that the rows of a ring may take; more wherever a single vector's do."""


def chosen_box(shape: Shape, machine: Machine) -> Box:
    """What is chosen where nobody says it."""
    if not isinstance(machine, CpuMachine):
        return box_of(shape, machine)

    def ends(box: Box) -> float:
        return team(
            window_cycles(shape, box, machine), _workgroups(shape, box), machine.threads, machine
        ).cycles

    return min(served_boxes(shape, machine), key=ends)


def served_boxes(shape: Shape, machine: Machine) -> tuple[Box, ...]:
    """The boxes that suit memory and registers."""
    if not isinstance(machine, CpuMachine):
        return strips_that_serve(shape)
    (rows, columns), groups = shape.written_size, dict(shape.conv.filter)["g"]
    lanes, is_last = machine.lanes(4), fastest(shape.read) == "g"
    slots = {min(lanes * v, groups) for v in VECTORS} if is_last else {1}
    fit = [s for s in sorted(slots) if _ring_bytes(shape, s) <= RING * machine.l1_bytes]
    heights = sorted({-(-rows // part) for part in PARTS}, reverse=True)
    return tuple(Box(s, columns, r) for s in fit or [min(slots)] for r in heights)


def window_cycles(shape: Shape, box: Box, machine: CpuMachine) -> float:
    """Cycles of all workgroups on one thread."""
    conv, prices, lanes = shape.conv, machine.prices, machine.lanes(4)
    rows, columns = box.rows, box.columns
    by_row, by_column = (1, 1) if shape.is_back else conv.strides
    read = (rows - 1) * by_row + (conv.height.window - 1) * conv.height.dilation + 1
    across = (columns - 1) * by_column + (conv.width.window - 1) * conv.width.dilation + 1
    is_last = fastest(shape.read) == "g"
    vectors = -(-box.slots // lanes)
    fetched = read * (across * vectors if is_last else -(-across // lanes))
    sums = rows * (columns * vectors if is_last else -(-columns // lanes))
    taps = conv.height.window * conv.width.window
    each = fetched * prices.copy + sums * (taps / machine.fma_per_cycle + prices.store_in_place)
    return _workgroups(shape, box) * (each + prices.coordinate * taps)


def _workgroups(shape: Shape, box: Box) -> int:
    return prod(strips_of(shape, box).numbering.sizes.values())


def _ring_bytes(shape: Shape, slots: int) -> int:
    """Bytes of the rows of a window, of so many channels, as wide as sums are."""
    height = shape.conv.height
    return (
        ((height.window - 1) * height.dilation + 1)
        * (shape.read_size[1] + shape.conv.width.window)
        * slots
        * 4
    )
