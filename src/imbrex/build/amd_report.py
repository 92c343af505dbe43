"""The resource report of each kernel: what it uses, how many waves fit, how busy its hot loop is.

Law: every number is counted in, or computed from, the assembly text that the code object was made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from imbrex.build.amd_occupancy import SIMDS, WAVE_SIZE, Occupancy, occupancy
from imbrex.build.amd_usage import Usage, usages
from imbrex.build.hot_loop import HotLoop, hot_loop

__all__ = ["Resources", "resources"]


@dataclass(frozen=True)
class Resources:
    """Of one kernel.  hot_loop: None where no loop holds a matrix instruction."""

    usage: Usage
    occupancy: Occupancy
    hot_loop: HotLoop | None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        loop = None if self.hot_loop is None else self.hot_loop.to_json()
        return {**asdict(self.usage), "occupancy": asdict(self.occupancy), "hot_loop": loop}

    def rows(self) -> Iterator[tuple[str, str]]:
        """As facts for people: name, text."""
        u, o = self.usage, self.occupancy
        spilled = f"{u.spills} spilled, {u.scratch_bytes} bytes of scratch" if u.spills else "none spilled"
        yield "registers", f"{u.vgprs} VGPRs, {u.agprs} AGPRs, {u.sgprs} SGPRs; {spilled}"
        yield "lds", f"{u.lds_bytes} bytes a workgroup of {u.block_size} work items"
        waves = "1 wave" if o.waves_per_simd == 1 else f"{o.waves_per_simd} waves"
        groups = "1 workgroup" if o.workgroups_per_cu == 1 else f"{o.workgroups_per_cu} workgroups"
        yield "occupancy", f"{waves} a SIMD, {groups} a compute unit, bounded by {o.limit}"
        if self.hot_loop is not None:
            yield from _loop_rows(self.hot_loop)


def resources(assembly: str, chip: str, *, ask_mca: bool = False) -> tuple[Resources, ...]:
    """Of every kernel in the text.  ask_mca: llvm-mca's opinion of the hot loop, too, where it is here."""
    return tuple(_resources(usage, assembly, chip, ask_mca) for usage in usages(assembly))


def _resources(usage: Usage, assembly: str, chip: str, ask_mca: bool) -> Resources:
    fits = occupancy(usage, chip)
    of_group = max(1, usage.block_size // WAVE_SIZE // SIMDS)
    loop = hot_loop(
        assembly,
        chip,
        kernel=usage.kernel,
        waves=fits.waves_per_simd,
        waves_of_group=of_group,
        ask_mca=ask_mca,
    )
    return Resources(usage, fits, loop)


def _loop_rows(loop: HotLoop) -> Iterator[tuple[str, str]]:
    counts = loop.counts
    matrix = ", ".join(f"{count} {name}" for name, count in counts.matrix.items())
    yield "hot loop", f"{counts.total} instructions: {matrix}"
    kinds: tuple[tuple[str, Mapping[int, int]], ...] = (
        ("LDS reads", counts.lds_reads),
        ("LDS writes", counts.lds_writes),
        ("loads", counts.loads),
        ("loads to LDS", counts.direct_loads),
        ("stores", counts.stores),
    )
    told = [f"{word} {_widths(found)}" for word, found in kinds if found]
    yield "", "; ".join([*told, f"{counts.index} on indices, {counts.data} on data, {counts.salu} scalar"])
    shares = [f"{loop.bound.share:.0%} at best", f"{loop.busy:.0%} in the timeline"]
    if loop.mca is not None:
        shares.append(f"{loop.mca:.0%} for one wave by llvm-mca")
    yield "matrix unit", f"busy {', '.join(shares)}; at best bounded by {loop.bound.limit}"


def _widths(found: Mapping[int, int]) -> str:
    return " + ".join(f"{count} x {width} bytes" for width, count in found.items())
