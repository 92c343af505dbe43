"""A launch, executed: registers set as the dispatcher sets them, then the core, then what it found.

Law: memory is what the caller names and nothing else; results of loads are there when they were waited for,
and no earlier.
Source: LLVM, "User Guide for AMDGPU Backend", section "Initial Kernel Execution State".
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from imbrex.cdna.code_object import Bytes, CodeObject, Kernel, aligned
from imbrex.cdna.fault import fault_of, race_of
from imbrex.cdna.generation import facts_of
from imbrex.cdna.machine import LaunchStruct, OutcomeStruct, RegionStruct, SettingsStruct, core
from imbrex.chip import GPU_MACHINES
from imbrex.diagnostic import Diagnostic

__all__ = ["Launch", "Memory", "Strictness", "execute"]

_STACK_BYTES = 16384
_WAVE = 64
_SEATS = 64
"""Workgroups that are under way at a time, most of which wait for others."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes that a kernel may touch."""

    address: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Launch:
    """grid: workgroups.  block: work items of one.  dynamic_lds: bytes besides the kernel's own."""

    grid: Sequence[int]
    block: Sequence[int]
    dynamic_lds: int = 0

    @property
    def axes(self) -> tuple[tuple[int, int], ...]:
        """Workgroups, and work items of one, along x, y and z."""
        return tuple(zip((*self.grid, 1, 1)[:3], (*self.block, 1, 1)[:3], strict=True))


@dataclass(frozen=True, slots=True)
class Strictness:
    """is_deferred: loads come at the wait that forces them, and not at once.  finds_races: of waves that
    touch one byte of LDS without a barrier between.  seed: of a random order of waves, 0 for their own.
    """

    is_deferred: bool = True
    finds_races: bool = True
    seed: int = 0
    most_steps: int = 20_000_000_000


@dataclass
class _State:
    """What lives as long as the launch."""

    memory: list[Memory]
    kept: list[Bytes] = field(default_factory=lambda: list[Bytes]())

    def allocate(self, count: int) -> Bytes:
        """New memory that the kernel may touch."""
        made = aligned(max(count, 64))
        self.kept.append(made)
        self.memory.append(Memory(made.ctypes.data, len(made)))
        return made


def execute(
    code: CodeObject,
    name: str,
    launch: Launch,
    arguments: Sequence[bytes],
    memory: Sequence[Memory],
    strict: Strictness | None = None,
) -> int:
    """Runs a kernel to its end; how many instructions of waves that took.  A Diagnostic for a fault or race.

    arguments: the bytes of each, pointers among them, which point into `memory`.
    """
    strict = strict or Strictness()
    kernel, grid, block = code.kernels[name], *zip(*launch.axes, strict=True)
    if prod(block) > kernel.most_items:
        raise Diagnostic(f"{name}: {prod(block)} work items a workgroup > {kernel.most_items}")
    lds_bytes = kernel.lds_bytes + launch.dynamic_lds
    most = GPU_MACHINES[code.chip].lds_bytes
    if lds_bytes > most:
        raise Diagnostic(f"{name}: lds_bytes {lds_bytes} > {most} on {code.chip}")
    state = _State([*memory, Memory(code.base, len(code.image))])
    waves = -(-prod(block) // _WAVE)
    each = max(kernel.scratch_bytes, _STACK_BYTES if kernel.grows else 0) + 15 & ~15
    seats = 1 if kernel.grows else min(_SEATS, prod(grid))
    scratch = state.allocate(each * _WAVE * waves * seats)
    scratch[:] = 0xCD
    constants = state.allocate(kernel.argument_bytes)
    _write_arguments(kernel, constants, arguments, launch)
    packet = state.allocate(_WAVE)
    items = [g * b for g, b in zip(grid, block, strict=True)]
    struct.pack_into("<4xHHH2xIIII", packet.data, 0, *block, *items, each)
    registers = _launch_struct(code, kernel, launch, (packet, constants), each)
    settings, held = _settings(code, strict, lds_bytes, state.memory)
    settings.scratch, settings.scratch_bytes, settings.seats = scratch.ctypes.data, each, seats
    steps = _run(code, name, registers, settings, waves)
    del held
    return steps


def _run(code: CodeObject, name: str, launch: LaunchStruct, settings: SettingsStruct, waves: int) -> int:
    """The core, and what it found."""
    outcome = OutcomeStruct()
    memory = aligned(settings.seats * core().imbrex_cdna_bytes(-1, waves, settings.lds_bytes))
    failed = core().imbrex_cdna_run(
        code.structs, len(code.instructions), ctypes.byref(launch), ctypes.byref(settings),
        ctypes.c_void_p(memory.ctypes.data), ctypes.byref(outcome),
    )  # fmt: skip
    if failed:
        raise fault_of(code, name, outcome.fault)
    if outcome.race_bytes:
        raise race_of(code, name, outcome.race, outcome.race_bytes)
    return outcome.steps


def _write_arguments(kernel: Kernel, to: Bytes, given: Sequence[bytes], launch: Launch) -> None:
    hidden = dict(_hidden(launch))
    rest = iter(given)
    for argument in kernel.arguments:
        if argument.kind.startswith("hidden_"):
            value = hidden.get(argument.kind, 0).to_bytes(argument.bytes, "little")
        else:
            value = next(rest, b"")
        if len(value) != argument.bytes:
            raise Diagnostic(f"{kernel.name}: an argument of {argument.bytes} bytes, got {len(value)}")
        to[argument.offset : argument.offset + argument.bytes] = np.frombuffer(value, np.uint8)
    if next(rest, None) is not None:
        raise Diagnostic(f"{kernel.name} takes fewer than {len(given)} arguments")


def _hidden(launch: Launch) -> Iterator[tuple[str, int]]:
    """What the loader adds to the arguments: sizes of the launch; zeros are left out."""
    for axis, (groups, items) in zip("xyz", launch.axes, strict=True):
        yield f"hidden_block_count_{axis}", groups
        yield f"hidden_group_size_{axis}", items
    items = [groups * items for groups, items in launch.axes]
    yield "hidden_grid_dims", 3 if items[2] > 1 else 2 if items[1] > 1 else 1
    yield "hidden_dynamic_lds_size", launch.dynamic_lds
    yield "hidden_shared_base", 1 << 16
    yield "hidden_private_base", 2 << 16


def _launch_struct(
    code: CodeObject, kernel: Kernel, given: Launch, memory: tuple[Bytes, Bytes], scratch_bytes: int
) -> LaunchStruct:
    """What the first scalar registers hold, in the order of the descriptor's bits."""
    packet, constants = (part.ctypes.data for part in memory)
    launch, words = LaunchStruct(), list[int]()
    launch.grid[:], launch.block[:] = zip(*given.axes, strict=True)
    launch.flat_scratch = launch.group_x = launch.group_y = launch.group_z = launch.group_info = -1
    launch.scratch_offset = -1
    for bit, value in enumerate(
        (_swizzled(), _pair(packet), _pair(packet), _pair(constants), [0, 0], [0, 0])
    ):
        if kernel.system >> bit & 1:
            launch.flat_scratch = len(words) if bit == 5 else launch.flat_scratch
            words += value
    if kernel.system >> 6 & 1:
        words.append(scratch_bytes)
    first = kernel.preload_offset
    words += struct.unpack_from(f"<{kernel.preloaded}I", memory[1].data, 4 * first)
    users = kernel.setup >> 1 & 31
    words = words if kernel.preloaded else words[:users]
    words += [0] * (users - len(words))
    launch.users = at = len(words)
    launch.user[:at] = words
    for bit, name in ((7, "group_x"), (8, "group_y"), (9, "group_z"), (10, "group_info")):
        if kernel.setup >> bit & 1:
            setattr(launch, name, at)
            at += 1
    if kernel.setup & 1 and facts_of(code.chip).has_scratch_offset:
        launch.scratch_offset = at
    launch.entry = next(k for k, i in enumerate(code.instructions) if i.address == kernel.entry)
    return launch


def _swizzled() -> list[int]:
    """The resource of scratch as a buffer: all of it, by lanes."""
    return [0, 1 << 31, 0xFFFFFFFF, 1 << 23]


def _pair(address: int) -> list[int]:
    return [address & 0xFFFFFFFF, address >> 32]


def _settings(
    code: CodeObject, strict: Strictness, lds_bytes: int, memory: Sequence[Memory]
) -> tuple[SettingsStruct, object]:
    """The struct, and what it points to."""
    settings = SettingsStruct()
    regions = (RegionStruct * len(memory))(*((m.address, m.address + m.bytes) for m in memory))
    low = code.instructions[0].address
    positions = np.full((code.instructions[-1].address - low) // 4 + 1, -1, np.int32)
    for position, instruction in enumerate(code.instructions):
        positions[(instruction.address - low) // 4] = position
    settings.region, settings.regions = regions, len(memory)
    settings.at, settings.code_words = positions.ctypes.data, len(positions)
    settings.code_base, settings.code_low = code.base, low
    settings.seed, settings.most_steps = strict.seed, strict.most_steps
    settings.is_deferred, settings.finds_races = strict.is_deferred, strict.finds_races
    facts = facts_of(code.chip)
    settings.chip, settings.lds_bytes = facts.core_number, lds_bytes
    settings.flushes = facts.flushes_halves
    return settings, (regions, positions)
