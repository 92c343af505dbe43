"""The resource report of each kernel: what it uses, how many waves fit, how busy its hot loop is.

Law: every number is counted in, or computed from, the assembly text that the code object was made of; except
bank conflicts, which are counted from the statements that became that text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from imbrex.build.amd.hot_loop import Conflicts, HotLoop, hot_loop
from imbrex.build.amd.lds import LdsCost
from imbrex.build.amd.occupancy import Occupancy, occupancy
from imbrex.build.amd.usage import Usage, usages
from imbrex.chip import GPU_MACHINES
from imbrex.numeral import counted

__all__ = ["Resources", "resources"]


@dataclass(frozen=True)
class Resources:
    """Needs of one kernel.  hot_loop: None where no loop multiplies matrices.  lds: None if not counted."""

    usage: Usage
    occupancy: Occupancy
    hot_loop: HotLoop | None
    lds: LdsCost | None = None

    @property
    def registers(self) -> int:
        """VGPRs of a lane."""
        return self.usage.vgprs

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        loop = None if self.hot_loop is None else self.hot_loop.to_json()
        conflicts = None if self.lds is None else self.lds.extra_cycles
        return {
            **asdict(self.usage),
            "lds_conflict_cycles": conflicts,
            "occupancy": asdict(self.occupancy),
            "hot_loop": loop,
        }

    def rows(self) -> Iterator[tuple[str, str]]:
        """Facts for people: name, text."""
        u, o = self.usage, self.occupancy
        spilled = f"{u.spills} spilled, {u.scratch_bytes} bytes of scratch" if u.spills else "none spilled"
        yield "registers", f"{u.vgprs} VGPRs, {u.agprs} AGPRs, {u.sgprs} SGPRs; {spilled}"
        yield (
            "lds",
            f"{u.lds_bytes} bytes a workgroup of {counted(u.block_size, 'work item')}{self._conflicts}",
        )
        waves = counted(o.waves_per_simd, "wave")
        groups = counted(o.workgroups_per_cu, "workgroup")
        yield "occupancy", f"{waves} a SIMD, {groups} a compute unit, bounded by {o.limit}"
        if self.hot_loop is not None:
            yield from _loop_rows(self.hot_loop)

    @property
    def _conflicts(self) -> str:
        if self.lds is None or not self.usage.lds_bytes:
            return ""
        lost = self.lds.extra_cycles
        return f"; {counted(lost, 'cycle')} lost to bank conflicts" if lost else "; no bank conflict"


def resources(
    assembly: str, chip: str, *, lds: Mapping[str, LdsCost] | None = None, ask_mca: bool = False
) -> tuple[Resources, ...]:
    """Resources of every kernel in the text.

    lds: by kernel.  ask_mca: llvm-mca's opinion of the hot loop, too, where it is installed.
    """
    costs = lds or {}
    return tuple(_resources(u, assembly, chip, costs.get(u.kernel), ask_mca) for u in usages(assembly))


def _resources(usage: Usage, assembly: str, chip: str, lds: LdsCost | None, ask_mca: bool) -> Resources:
    fits = occupancy(usage, chip)
    gpu = GPU_MACHINES[chip]
    of_group = max(1, usage.block_size // gpu.wave_size // gpu.simds)
    loop = hot_loop(
        assembly,
        chip,
        kernel=usage.kernel,
        waves=fits.waves_per_simd,
        waves_of_group=of_group,
        conflicts=Conflicts() if lds is None else Conflicts(lds.read, lds.write),
        ask_mca=ask_mca,
    )
    return Resources(usage, fits, loop, lds)


def _loop_rows(loop: HotLoop) -> Iterator[tuple[str, str]]:
    counts = loop.counts
    matrix = ", ".join(f"{count} {name}" for name, count in counts.matrix.items())
    yield "hot loop", f"{counted(counts.total, 'instruction')}: {matrix}"
    kinds: tuple[tuple[str, Mapping[int, int]], ...] = (
        ("LDS reads", counts.lds_reads),
        ("LDS writes", counts.lds_writes),
        ("loads", counts.loads),
        ("loads to LDS", counts.direct_loads),
        ("stores", counts.stores),
    )
    widths = [f"{word} {_widths(found)}" for word, found in kinds if found]
    yield "", "; ".join([*widths, f"{counts.index} on indices, {counts.data} on data, {counts.salu} scalar"])
    shares = [f"{loop.bound.busy:.0%} at best", f"{loop.busy:.0%} in the timeline"]
    if loop.mca is not None:
        shares.append(f"{loop.mca:.0%} for one wave by llvm-mca")
    yield "matrix unit", f"busy {', '.join(shares)}; at best bounded by {loop.bound.limit}"


def _widths(found: Mapping[int, int]) -> str:
    return " + ".join(f"{count} x {width} bytes" for width, count in found.items())
