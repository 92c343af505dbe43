"""Launches that overlap: a kernel that waits by itself for what is ahead of it may be launched before that
has ended, and begins where all workgroups of the one ahead have told that it may.

Products by warpgroups wait.  Law: a kernel that is launched early reads what those ahead of it may still
write by the copy engine alone.  Ordinary loads of an array that a kernel only reads go past what keeps caches
coherent (`ld.global.nc`), and are for arrays that do not change while the kernel is there.

Sources: CUDA C++ Programming Guide, "Programmatic Dependent Launch"; PTX ISA, griddepcontrol, ld.global.nc.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from imbrex.emit.cuda.geometry import has_lanes
from imbrex.lower.stmt import Kernel, Program

__all__ = ["OPENING", "early", "lets"]

OPENING = "imbrex::let_next_start();"
"""How a kernel begins that lets the next one begin."""


def early(program: Program, is_short: bool) -> frozenset[str]:
    """Kernels to launch early: a product behind its copies; where a call is short, one that is all of it, but
    for those whose workgroups wait for each other, which lose by it.
    """
    found = {after.name for _, after in _overlapping(program)}
    first = program.launches[0]
    if is_short and isinstance(first, Kernel) and _reads_by_engine(first):
        if not _has_further(first) and not _has_flags(first):
            found.add(first.name)
    return frozenset(found)


def lets(program: Program) -> frozenset[str]:
    """Kernels that let the next one begin as soon as all of their workgroups have."""
    return frozenset(one.name for one, _ in _overlapping(program))


def _overlapping(program: Program) -> Iterator[tuple[Kernel, Kernel]]:
    """A launch, and the one right behind it that is launched early."""
    for one, after in pairwise(program.launches):
        if isinstance(one, Kernel) and isinstance(after, Kernel) and _reads_by_engine(after):
            yield one, after


def _reads_by_engine(kernel: Kernel) -> bool:
    """Do both operands come by the copy engine?"""
    return kernel.warpgroups is not None and not has_lanes(kernel.warpgroups)


def _has_further(kernel: Kernel) -> bool:
    """Does an epilogue read arrays?"""
    gemm = kernel.warpgroups
    return gemm is not None and gemm.c.finish is not None and bool(gemm.c.finish.arrays)


def _has_flags(kernel: Kernel) -> bool:
    """Do sums of a tile go through memory?"""
    return kernel.warpgroups is not None and kernel.warpgroups.flags is not None
