"""Launches that overlap: a kernel that waits by itself for what is ahead of it may be launched before that
has ended, and begins where all workgroups of the one ahead have told that it may.

Products by warpgroups wait: at their start, for the launch ahead to be complete.  Law: a launch is complete
only when all ahead of it are, for its own workgroups do not end before they have waited; so whoever waits for
the one ahead waits for all.  And what is launched early reads what those ahead of it may still write by the
copy engine, or by loads that stay behind the wait and are coherent (device/cuda/epilogue_operands.h).
Ordinary loads of an array that a kernel only reads are neither (`ld.global.nc`), and are for arrays that do
not change while the kernel is there.

Kernels of lanes are launched as usual: without `__restrict__` their loads are coherent, but stay where the
text has them, and depthwise strips take up to half again as long; to begin early saves 1 to 3 % (H200).

Siblings are launches one behind the other of which none reads or writes what another writes: the phases of a
strided window, each with its own part of the result.  They need not wait for each other at their start.
- The eldest waits for what is ahead, and only then do its workgroups let the next one begin.  So when a
  sibling begins, all workgroups of the eldest have seen that everything ahead is complete; it is, for whoever
  comes later, and what was written then lies where the copy engine looks for it, in L2.
- The others let the next one begin at once: what is true when a sibling begins stays true.
- Each of them waits at its end.  It is complete only when the one ahead of it is, and so the law above holds
  for what follows the youngest.
- Nobody waits for ever: a sibling begins when all workgroups of those ahead of it run, and these wait for
  nothing that comes later.  Those whose workgroups wait for each other are none all the same.
The bases: offsets of what is stored (`index.apart`), and buffers by name; where they prove nothing, launches
are no siblings.

Sources: CUDA C++ Programming Guide, "Programmatic Dependent Launch"; PTX ISA, griddepcontrol, ld.global.nc.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Literal, TypeAlias

from imbrex.index.apart import GuardedOffset, are_apart
from imbrex.lower.stmt import Kernel, Program, ZeroFill
from imbrex.lower.warpgroup.parts import PingPong, SplitRows
from imbrex.lower.warpgroup.pipeline import Pipeline

__all__ = ["OPENING", "LaunchOverlap", "early", "launch_overlaps", "lets"]

OPENING = "imbrex::let_next_start();"
"""How a kernel begins that lets the next one begin."""

LaunchOverlap: TypeAlias = Literal["after_all", "eldest", "sibling"]
"""When a product begins, as device/cuda/launch_overlap.h names it: after all that is ahead; so, but the next
one is its sibling; as a sibling of the one ahead.
"""


def early(program: Program, permitted: Container[str]) -> frozenset[str]:
    """Kernels to launch early: siblings; of those that are permitted, a product behind another launch, and
    one that begins the call.
    """
    found = {name for name, order in launch_overlaps(program).items() if order == "sibling"}
    found |= {after.name for _, after in _overlapping(program) if after.name in permitted}
    for first, *_ in _in_a_call(program):
        if isinstance(first, Kernel) and first.name in permitted and _reads_by_engine(first):
            found.add(first.name)
    return frozenset(found)


def lets(program: Program) -> frozenset[str]:
    """Kernels that let the next one begin as soon as all of their workgroups have."""
    return frozenset(one.name for one, _ in _overlapping(program))


def launch_overlaps(program: Program) -> Mapping[str, LaunchOverlap]:
    """Siblings, by their names; all other products begin `after_all` that is ahead."""
    found: dict[str, LaunchOverlap] = {}
    for launches in _in_a_call(program):
        kin: list[Kernel] = []
        for launch in launches:
            if not isinstance(launch, Kernel) or not _stands_alone(launch):
                kin = []
                continue
            kin = [*kin, launch] if all(_are_siblings(launch, other) for other in kin) else [launch]
            if len(kin) > 1:
                found |= {kin[0].name: "eldest", launch.name: "sibling"}
    return found


def _overlapping(program: Program) -> Iterator[tuple[Kernel, Kernel]]:
    """A launch, and the one right behind it that waits by itself."""
    for launches in _in_a_call(program):
        for one, after in pairwise(launches):
            if isinstance(one, Kernel) and isinstance(after, Kernel) and _reads_by_engine(after):
                yield one, after


def _in_a_call(program: Program) -> Iterator[Sequence[Kernel | ZeroFill]]:
    """Launches that one call makes: all, but of a run-time size those of each bucket, behind all zeros."""
    zeros = [launch for launch in program.launches if isinstance(launch, ZeroFill)]
    of_buckets = groupby(program.kernels, lambda kernel: kernel.when)
    calls = [list(kernels) for _, kernels in of_buckets]
    if len(calls) == 1:
        yield program.launches
    else:
        yield from ([*zeros, *kernels] for kernels in calls)


def _reads_by_engine(kernel: Kernel) -> bool:
    """Do both operands come by the copy engine?"""
    return kernel.pipeline is not None and not kernel.pipeline.has_lanes


def _stands_alone(kernel: Kernel) -> bool:
    """Does it read two operands by the copy engine and write C, and touch nothing else?"""
    pipeline = kernel.pipeline
    if pipeline is None or pipeline.has_lanes or pipeline.workspace is not None:
        return False
    if not isinstance(pipeline.team, SplitRows | PingPong):
        return False  # a kernel of another kind
    out = pipeline.c
    has_arrays = out.finish is not None and (bool(out.finish.arrays) or out.kept is not None)
    return out.method == "set" and out.beta == 0.0 and not has_arrays


def _are_siblings(one: Kernel, other: Kernel) -> bool:
    """Does neither read what the other writes, and do both write different elements?"""
    x, y = one.pipeline, other.pipeline
    if x is None or y is None or _reads(x) & {y.c.buffer.name} or _reads(y) & {x.c.buffer.name}:
        return False
    stored = (GuardedOffset(one.c.offset, one.c.guards) for one in (x, y))
    return x.c.buffer.name != y.c.buffer.name or are_apart(*stored)


def _reads(pipeline: Pipeline) -> set[str]:
    return {pipeline.a.buffer.name, pipeline.b.buffer.name}
