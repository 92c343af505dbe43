"""What phases make of the shapes of a product; see `view.conv.phase_tiles`."""

from __future__ import annotations

from imbrex.ir.chosen import Phased
from imbrex.ir.source import expect
from imbrex.view.conv.phase_box import ONE_PHASE, PhaseBox

__all__ = ["columns_of_phases", "phase_box_of"]


def phase_box_of(phased: Phased | None) -> PhaseBox:
    """Phase box of an attribute; one phase where there is none."""
    return ONE_PHASE if phased is None else phased.data.box


def columns_of_phases(phased: Phased, k: int, columns: int) -> int:
    """The columns of C: those of B for every phase.  Parts of K name phases."""
    phases = phased.data
    count, box = len(phases.of), phases.box
    expect(columns % box.run == 0, f"{columns} columns are not whole runs of {box.run}", "phases", "run")
    expect(k % count == 0, f"k {k} is not {count} equal parts", "phases", "of")
    message = f"lengths of parts of K are from 1 to {k // count}, got {list(phases.lengths)}"
    expect(max(phases.lengths) <= k // count, message, "phases", "lengths")
    return columns * box.count
