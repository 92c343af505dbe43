"""The throughput bound: how busy the matrix pipe can be if nothing ever waits for a result.

For one trip of every wave that a SIMD holds, each resource needs so many clocks:

    matrix   sum over matrix instructions of their clocks
    vector   the issue port that vector and matrix instructions share: `shadow` clocks for a matrix
             instruction (all of its clocks where it is exclusive), a turn for a vector instruction
    lds      64 lanes * bytes / rate * conflicts, of four SIMDs' waves; what loads write there directly, too
    memory   64 lanes * bytes / rate, of four SIMDs' waves; in both, fewer than 4 bytes count as 4
    scalar   a turn for a scalar instruction
    issue    a turn for every instruction of ONE wave, waits and barriers among them: a wave issues in order

    share = matrix / max(matrix, vector, lds, memory, scalar, issue)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from imbrex.build.amd.hot_loop.kind import access_of, unit_of
from imbrex.build.amd.hot_loop.rates import matrix_clocks, modelled, rates_of, vector_clocks
from imbrex.build.amd.hot_loop.text import Inst
from imbrex.chip import NARROWEST, TURN, GpuMachine

__all__ = ["Bound", "Conflicts", "bound_of", "transfer_clocks"]


@dataclass(frozen=True)
class Conflicts:
    """How many times as long LDS accesses take as without bank conflicts: 1.0 is none."""

    read: float = 1.0
    write: float = 1.0


@dataclass(frozen=True)
class Bound:
    """Clocks of a SIMD for one trip of all its waves, by resource."""

    matrix: float
    vector: float
    lds: float
    memory: float
    scalar: float
    issue: float

    @property
    def busy(self) -> float:
        """The part of the time that the matrix pipe is busy, at best."""
        return self.matrix / max(asdict(self).values())

    @property
    def limit(self) -> str:
        """The resource that takes longest; `matrix` where it is as long as any."""
        return max(asdict(self).items(), key=lambda item: (item[1], item[0] == "matrix"))[0]

    def to_json(self) -> dict[str, object]:
        return {"clocks": asdict(self), "share": self.busy, "limit": self.limit}


def bound_of(loop: Sequence[Inst], chip: str, waves: int, conflicts: Conflicts) -> Bound:
    """waves: of one SIMD."""
    gpu = modelled(chip)
    rates = rates_of(gpu)
    matrix = vector = lds = memory = scalar = 0.0
    for inst in loop:
        match unit_of(inst):
            case "matrix":
                clocks, is_exclusive = matrix_clocks(inst, gpu)
                matrix += clocks
                vector += clocks if is_exclusive else rates.shadow
            case "valu":
                vector += vector_clocks(inst)
            case "lds":
                lds += transfer_clocks(inst, gpu, conflicts)
            case "vmem":
                memory += transfer_clocks(inst, gpu, conflicts)
                if (access := access_of(inst)) is not None and access.direct:
                    lds += gpu.wave_size * max(NARROWEST, access.bytes) / rates.lds_bytes
            case "salu" | "smem":
                scalar += TURN
            case "wait" | "barrier" | "branch" | "other":
                pass
    shared = waves * gpu.simds
    return Bound(
        matrix=waves * matrix,
        vector=waves * vector,
        lds=shared * lds,
        memory=shared * memory,
        scalar=waves * scalar,
        issue=TURN * len(loop),
    )


def transfer_clocks(inst: Inst, gpu: GpuMachine, conflicts: Conflicts) -> float:
    """Clocks that one wave's access holds LDS, or the path to the first-level cache."""
    access, rates = access_of(inst), rates_of(gpu)
    if access is None:  # a lane swap through LDS
        return gpu.wave_size * 4 / rates.lds_bytes
    moved = gpu.wave_size * max(NARROWEST, access.bytes)
    if access.space == "global":
        return moved / rates.l1_bytes
    return moved / rates.lds_bytes * (conflicts.read if access.way == "read" else conflicts.write)
