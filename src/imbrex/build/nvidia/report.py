"""The resource report of each kernel of a cubin: what ptxas gave it, and how many workgroups fit a processor.

Law: registers, stack, spills and static shared memory are those of the log that came with the cubin; threads,
dynamic shared memory and clusters those of its launch.  What makes a kernel slow for certain is an error of
the report: registers spilled, and wgmma that waits for itself (remarks C7510 and following of ptxas).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from imbrex.numeral import counted

__all__ = ["CubinUsage", "Geometry", "KernelResources", "kernel_resources", "usages"]

_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)'")
_OF = re.compile(r"Function properties for (?P<name>\S+)")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_BARRIERS = re.compile(r"used (\d+) barriers")
_SHARED = re.compile(r"(\d+) bytes smem")
_REMARK = re.compile(r"(?:ptxas )?(?:info *: *)?(?P<remark>\(C\d+\).*|.*\bwarning\b.*)", re.I)
_SERIALIZED = "wgmma.mma_async instructions are serialized"
_IN = re.compile(r"function '?(?P<name>\w+)'?")

# CUDA C++ Programming Guide, "Technical specifications per compute capability", column 9.0; a workgroup takes
# 1 KiB of shared memory for the system, registers go to warps in 256s.
_REGISTERS, _THREADS, _WORKGROUPS, _SHARED_BYTES = 65536, 2048, 32, 228 * 1024
_SYSTEM_BYTES, _REGISTER_UNIT, _WARP = 1024, 256, 32


@dataclass(frozen=True, slots=True)
class CubinUsage:
    """Registers are 32-bit, of one thread, as the kernel starts; `setmaxnreg` moves them between warps later.

    stack_bytes, spill_*: of one thread.  static_shared_bytes: of a workgroup.  remarks: ptxas' own of it.
    """

    kernel: str
    registers: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    static_shared_bytes: int
    barriers: int
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Geometry:
    """What a launch asks: threads of a workgroup, its dynamic shared memory, workgroups of a cluster."""

    kernel: str
    block_size: int
    dynamic_shared_bytes: int = 0
    cluster: int = 1


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What one kernel needs."""

    usage: CubinUsage
    geometry: Geometry

    @property
    def registers(self) -> int:
        """Registers of a thread, as the kernel starts."""
        return self.usage.registers

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a workgroup, static and dynamic."""
        return self.usage.static_shared_bytes + self.geometry.dynamic_shared_bytes

    @property
    def workgroups_per_processor(self) -> int:
        """As many as registers, shared memory and threads admit; 0 where not even one fits."""
        warps = -(-self.geometry.block_size // _WARP)
        of_warp = -(-self.usage.registers * _WARP // _REGISTER_UNIT) * _REGISTER_UNIT
        return min(
            _WORKGROUPS,
            _THREADS // max(_WARP, warps * _WARP),
            _REGISTERS // max(1, warps * of_warp),
            _SHARED_BYTES // (self.shared_bytes + _SYSTEM_BYTES),
        )

    @property
    def errors(self) -> tuple[str, ...]:
        """What nobody wants in a kernel, each in a line."""
        u = self.usage
        found = [r for r in u.remarks if _SERIALIZED in r]
        if u.spill_store_bytes or u.spill_load_bytes:
            spilled = f"{u.spill_store_bytes} bytes of spill stores, {u.spill_load_bytes} of spill loads"
            found.append(f"registers are spilled: {spilled}")
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            **asdict(self.usage),
            "remarks": list(self.usage.remarks),
            "block_size": self.geometry.block_size,
            "dynamic_shared_bytes": self.geometry.dynamic_shared_bytes,
            "cluster": self.geometry.cluster,
            "workgroups_per_processor": self.workgroups_per_processor,
            "errors": list(self.errors),
        }

    def rows(self) -> Iterator[tuple[str, str]]:
        """Facts for people: name, text."""
        u, g = self.usage, self.geometry
        spilled = u.spill_store_bytes + u.spill_load_bytes
        spills = f"{spilled} bytes of spills" if spilled else "none spilled"
        each = f"{u.registers} of {counted(g.block_size, 'thread')} each"
        yield "registers", f"{each}; {spills}, {u.stack_bytes} bytes of stack"
        yield (
            "shared",
            f"{self.shared_bytes} bytes a workgroup: {u.static_shared_bytes} static, "
            f"{g.dynamic_shared_bytes} dynamic; {counted(u.barriers, 'barrier')}",
        )
        groups = self.workgroups_per_processor
        many = counted(groups, "workgroup")
        yield "occupancy", f"{many} a processor, clusters of {g.cluster}"
        yield from (("error", error) for error in self.errors)
        yield from (("remark", r) for r in u.remarks if r not in self.errors)


def kernel_resources(log: str, geometries: Sequence[Geometry]) -> tuple[KernelResources, ...]:
    """Resources of each kernel that is launched, in the order of launches; log: the compiler's."""
    used = {usage.kernel: usage for usage in usages(log)}
    first = {g.kernel: g for g in reversed(geometries)}
    return tuple(
        KernelResources(used[name], first[name]) for name in dict.fromkeys(g.kernel for g in geometries)
    )


def usages(log: str) -> tuple[CubinUsage, ...]:
    """What the log says of every kernel, in its order; functions that were not inlined are left out."""
    found: dict[str, CubinUsage] = {}
    remarks: list[str] = []
    entry = of = ""
    for line in log.splitlines():
        if started := _ENTRY.search(line):
            entry = of = started["name"]
            found[entry] = CubinUsage(entry, 0, 0, 0, 0, 0, 0)
        elif named := _OF.search(line):
            of = named["name"]
        elif entry and of == entry and (numbers := _STACK.search(line)):
            stack, stores, loads = (int(n) for n in numbers.groups())
            found[entry] = replace(
                found[entry], stack_bytes=stack, spill_store_bytes=stores, spill_load_bytes=loads
            )
        elif entry and (registers := _USED.search(line)):
            found[entry] = replace(
                found[entry],
                registers=int(registers[1]),
                barriers=_number(_BARRIERS, line),
                static_shared_bytes=_number(_SHARED, line),
            )
        elif remark := _REMARK.match(line):
            remarks.append(remark["remark"].strip())
    return tuple(replace(u, remarks=_of(u.kernel, remarks)) for u in found.values())


def _of(kernel: str, remarks: Sequence[str]) -> tuple[str, ...]:
    """Lines that name the kernel, and those that name none."""
    named = ((remark, _IN.search(remark)) for remark in remarks)
    return tuple(dict.fromkeys(remark for remark, name in named if name is None or name["name"] == kernel))


def _number(pattern: re.Pattern[str], line: str) -> int:
    found = pattern.search(line)
    return int(found[1]) if found else 0
