"""Bank conflicts of one access whose phases are neighbouring lanes, by `view.stage.banks.cycles`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from imbrex.chip import BANK_BYTES, Phases
from imbrex.view.stage.banks import cycles


def bank_conflicts(
    offsets: Sequence[int], bytes_per_lane: int, banks: int = 32, lanes_per_phase: int | None = None
) -> int:
    """Extra cycles.

    offsets: byte offset of each lane.
    lanes_per_phase: lanes served together; by default as many as fill all banks once.
    """
    phase = lanes_per_phase or max(1, banks * BANK_BYTES // max(BANK_BYTES, bytes_per_lane))
    wave = -(-len(offsets) // phase) * phase
    lanes = tuple(tuple(range(start, start + phase)) for start in range(0, wave, phase))
    padded = np.array([[*offsets, *[-1] * (wave - len(offsets))]])
    how = Phases(bytes_per_lane, "read", banks, lanes, "neighbours")
    return int(cycles(padded, bytes_per_lane, how).sum())
