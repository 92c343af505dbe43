"""The machine in numbers, for `doctor`, for the note beside a benchmark, and for the tuning's cache
blocks.
"""

from __future__ import annotations

import functools
import os
import platform
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from imbrex.build.isa import Isa, host_isa
from imbrex.numeral import counted

__all__ = ["HostMachine", "host_machine", "usable_cores"]


@dataclass(frozen=True, slots=True)
class HostMachine:
    """cores: those this process may use.  Cache sizes are those of one core's view; None where the system
    tells none.
    """

    cpu: str
    isa: Isa
    cores: int
    logical_cores: int
    l1d_bytes: int | None
    l2_bytes: int | None
    l3_bytes: int | None
    memory_bytes: int | None
    system: str
    python: str

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; the instruction set shortened to its level."""
        facts = asdict(self)
        facts["isa"] = self.isa.level
        return facts

    def __str__(self) -> str:
        caches = ", ".join(
            f"{name} {_human(size)}"
            for name, size in (("L1d", self.l1d_bytes), ("L2", self.l2_bytes), ("L3", self.l3_bytes))
            if size is not None
        )
        parts = [
            self.cpu or "unknown CPU",
            self.isa.level,
            f"{self.cores} of {counted(self.logical_cores, 'core')}",
            caches,
        ]
        return ", ".join(part for part in (*parts, self.system) if part)


@functools.cache
def host_machine() -> HostMachine:
    """This machine, read once."""
    isa = host_isa()
    caches = _cache_sizes(Path("/sys/devices/system/cpu/cpu0/cache"))
    return HostMachine(
        cpu=isa.cpu,
        isa=isa,
        cores=usable_cores(),
        logical_cores=os.cpu_count() or 1,
        l1d_bytes=caches.get(1),
        l2_bytes=caches.get(2),
        l3_bytes=caches.get(3),
        memory_bytes=_memory_bytes(),
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
    )


def usable_cores() -> int:
    """Cores that this process may keep busy: its affinity mask, cut by the control group's quota."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota_cores(Path("/sys/fs/cgroup/cpu.max"))
    return affinity if quota is None else max(1, min(affinity, quota))


def _quota_cores(path: Path) -> int | None:
    """`cpu.max` holds `quota period` in microseconds, or `max period` (Linux,
    Documentation/admin-guide/cgroup-v2).
    """
    match _text(path).split():
        case [quota, period] if quota.isdigit() and period.isdigit() and int(period) > 0:
            return -(-int(quota) // int(period))
        case _:
            return None


def _cache_sizes(directory: Path) -> dict[int, int]:
    """Level -> bytes of the caches that hold data."""
    sizes: dict[int, int] = {}
    for index in sorted(directory.glob("index*")):
        level, size = _text(index / "level"), re.fullmatch(r"(\d+)([KMG]?)", _text(index / "size"))
        if _text(index / "type") == "Instruction" or not level.isdigit() or size is None:
            continue
        sizes[int(level)] = int(size[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[size[2]]
    return sizes


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _human(size: int) -> str:
    for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << shift:
            return f"{size / (1 << shift):g} {unit}"
    return f"{size} B"
