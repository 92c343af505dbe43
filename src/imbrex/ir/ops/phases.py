"""What a product says of the phases of a strided gradient; see `view.conv.phase_tiles`."""

from __future__ import annotations

from typing import NamedTuple

from imbrex.ir.attrs import Ints
from imbrex.ir.source import expect
from imbrex.view.conv.phase_box import ONE_PHASE, PhaseBox

__all__ = ["Phased", "columns_of_phases", "phase_box_of"]


class Phased(NamedTuple):
    """What a product says of its phases, see `GridwiseOp`."""

    phases: Ints | None = None
    phase_box: Ints | None = None
    part_k: Ints | None = None


def phase_box_of(given: Ints | None) -> PhaseBox:
    """Phase box of an attribute; one phase where there is none."""
    return ONE_PHASE if given is None else PhaseBox(*given.data)


def columns_of_phases(phased: Phased, k: int, columns: int) -> int:
    """The columns of C: those of B for every phase.  Parts of K name phases."""
    given, lengths = phased.phase_box, phased.part_k
    message = "'phases', 'phase_box' and 'part_k' are given together"
    expect(phased.phases is not None and given is not None and lengths is not None, message, "phases")
    assert phased.phases is not None and given is not None and lengths is not None
    phases = phased.phases.data
    message = f"'phase_box' takes three positive numbers, rows, run and residues; got {list(given.data)}"
    expect(len(given.data) == 3 and min(given.data) > 0, message, "phase_box")
    box = phase_box_of(given)
    expect(columns % box.run == 0, f"{columns} columns are not whole runs of {box.run}", "phase_box")
    expect(len(phases) > 0 and k % len(phases) == 0, f"k {k} is not {len(phases)} equal parts", "phases")
    message = f"'phases' are from 0 to {box.count - 1}, got {list(phases)}"
    expect(0 <= min(phases) and max(phases) < box.count, message, "phases")
    most = k // len(phases)
    message = f"'part_k' are from 1 to {most}, got {list(lengths.data)}"
    expect(len(lengths.data) > 0 and all(0 < x <= most for x in lengths.data), message, "part_k")
    return columns * box.count
