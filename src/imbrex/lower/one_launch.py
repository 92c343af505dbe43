"""Launches that join the workgroups of the launch before: one kernel of both, or two that follow each other.

Law: both programs do the same.  A launch that joins has the workgroups of the one before; a GPU that runs
workgroups side by side runs both as one, and the `Join` is where they meet.
"""

from __future__ import annotations

from dataclasses import replace

from imbrex.lower.stmt import Alloc, Join, Kernel, Program, ZeroFill, walk

__all__ = ["apart", "in_one_launch"]


def in_one_launch(program: Program) -> Program:
    """The program with each kernel that joins another behind it, as one."""
    made: list[Kernel | ZeroFill] = []
    for step in program.launches:
        before = made[-1] if made else None
        if isinstance(step, Kernel) and isinstance(before, Kernel) and _joins(step):
            made[-1] = _both(before, step)
        else:
            made.append(step)
    return replace(program, launches=tuple(made))


def apart(program: Program) -> Program:
    """The program without joins: what a launch waits for has ended when it begins."""
    steps = (_alone(step) if isinstance(step, Kernel) else step for step in program.launches)
    return replace(program, launches=tuple(steps))


def _joins(kernel: Kernel) -> bool:
    return any(isinstance(stmt, Join) for stmt in kernel.body)


def _alone(kernel: Kernel) -> Kernel:
    return replace(kernel, body=tuple(stmt for stmt in kernel.body if not isinstance(stmt, Join)))


def _both(first: Kernel, second: Kernel) -> Kernel:
    """Names are those of one program, so that no two are the same."""
    assert first.arguments == second.arguments, (first.name, second.name)
    sizes = (first.grid_size, first.block_size), (second.grid_size, second.block_size)
    assert sizes[0] == sizes[1], f"{second.name} joins workgroups {sizes[0]} by {sizes[1]}"
    shared = [s for s in walk(second.body) if isinstance(s, Alloc) and s.buffer.space == "lds"]
    assert not shared, f"{second.name} has LDS beside that of {first.name}: {shared}"
    maps = dict(first.maps) | dict(second.maps)
    outputs = first.outputs | second.outputs
    return replace(first, body=(*first.body, *second.body), outputs=outputs, maps=tuple(maps.items()))
