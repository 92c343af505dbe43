"""HotLoop: everything that is said of a kernel's hot loop, as one value."""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.build.amd.hot_loop.bound import Bound, Conflicts, bound_of
from imbrex.build.amd.hot_loop.count import Counts, counts_of
from imbrex.build.amd.hot_loop.loop import hot_loop_of
from imbrex.build.amd.hot_loop.mca import mca_busy
from imbrex.build.amd.hot_loop.text import read_code
from imbrex.build.amd.hot_loop.timeline import simulated_busy

__all__ = ["HotLoop", "hot_loop"]


@dataclass(frozen=True)
class HotLoop:
    """chip and waves say what the model assumed.  waves: of one SIMD.

    bound: if nothing ever waited for a result.  busy: the timeline's share, never far above the bound's.
    mca: llvm-mca's share for a single wave; None where the tool is absent or was not asked.
    """

    chip: str
    waves: int
    counts: Counts
    conflicts: Conflicts
    bound: Bound
    busy: float
    mca: float | None

    def to_json(self) -> dict[str, object]:
        return {
            "chip": self.chip,
            "waves_per_simd": self.waves,
            "counts": self.counts.to_json(),
            "index_per_matrix": self.counts.index_per_matrix,
            "lds_conflicts": {"read": self.conflicts.read, "write": self.conflicts.write},
            "bound": self.bound.to_json(),
            "matrix_busy": self.busy,
            "matrix_busy_mca": self.mca,
        }


def hot_loop(
    assembly: str,
    chip: str,
    *,
    kernel: str | None = None,
    waves: int = 1,
    waves_of_group: int = 1,
    conflicts: Conflicts | None = None,
    ask_mca: bool = False,
) -> HotLoop | None:
    """The hot loop of `kernel`, or of the text's only one; None where no loop holds a matrix instruction.

    waves: of one SIMD at a time (the kernel's occupancy).  waves_of_group: of those, one workgroup's.
    conflicts: none unless told; the text does not show which banks lanes meet in.
    """
    conflicts = conflicts or Conflicts()
    loop = hot_loop_of(read_code(assembly, kernel))
    if not loop:
        return None
    return HotLoop(
        chip=chip,
        waves=waves,
        counts=counts_of(loop),
        conflicts=conflicts,
        bound=bound_of(loop, chip, waves, conflicts),
        busy=simulated_busy(loop, chip, waves, conflicts, waves_of_group),
        mca=mca_busy(loop, chip) if ask_mca else None,
    )
