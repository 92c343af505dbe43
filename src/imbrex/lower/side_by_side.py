"""Launches that do not depend on each other as one: the workgroups of each behind those of the one before.

    workgroup in [0, n0):         the first kernel
    workgroup in [n0, n0 + n1):   the second one, by its number among these
    ..

Law: the kernel does what the launches do in any order.  They have the same work items, and share LDS: one
buffer, as large as the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from imbrex.index.expr import Lin, lin, select, var
from imbrex.lower.stmt import Alloc, Buffer, Comment, For, Kernel, Let, Stmt, View, walk
from imbrex.lower.substitute import substituted

__all__ = ["side_by_side"]


def side_by_side(kernels: Sequence[Kernel]) -> Kernel:
    """One kernel of several, in their order; it has the name of the first."""
    first, *_ = kernels
    assert len({(kernel.block_size, kernel.arguments) for kernel in kernels}) == 1, first.name
    assert all(kernel.workgroup == first.workgroup and kernel.grid is None for kernel in kernels), first.name
    total = sum(kernel.grid_size for kernel in kernels)
    number, shared, start = var(first.workgroup, total), _shared(kernels), 0
    body: list[Stmt] = [] if shared is None else [Alloc(shared)]
    for position, kernel in enumerate(kernels):
        body.append(_within(kernel, position, number - start, shared))
        start += kernel.grid_size
    maps = {name: text for kernel in kernels for name, text in kernel.maps}
    outputs = frozenset(name for kernel in kernels for name in kernel.outputs)
    return replace(first, grid_size=total, body=tuple(body), outputs=outputs, maps=tuple(maps.items()))


def _within(kernel: Kernel, position: int, number: Lin, shared: Buffer | None) -> For:
    """The kernel's statements where its number of the workgroup is one of its own."""
    count, name = kernel.grid_size, f"{kernel.workgroup}_of_{position}"
    is_own = select(number, select(count - 1 - number, lin(1), lin(0)), lin(0))
    own = _lds(kernel)
    kept = (stmt for stmt in kernel.body if not isinstance(stmt, Alloc) or stmt.buffer != own)
    env = {kernel.workgroup: var(name, count)}
    body = (substituted(_in(stmt, own, shared), env) for stmt in kept)
    said = Comment(f"launch {position}, of {count} workgroups")
    return For(f"launch_{position}", 1, (said, Let(name, number), *body), end=is_own)


def _shared(kernels: Sequence[Kernel]) -> Buffer | None:
    """LDS for each of them; None where none has any."""
    found = [own for own in map(_lds, kernels) if own is not None]
    return max(found, key=lambda buffer: buffer.elements * buffer.dtype.bytes, default=None)


def _lds(kernel: Kernel) -> Buffer | None:
    """What a kernel allocates of LDS, all at once; None where it is nothing."""
    allocated = [s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)]
    found = [buffer for buffer in allocated if buffer.space == "lds"]
    assert len(found) <= 1, (kernel.name, found)
    return found[0] if found else None


def _in(stmt: Stmt, own: Buffer | None, shared: Buffer | None) -> Stmt:
    """A view of a kernel's own LDS as one of the common buffer."""
    if own is None or shared is None or not isinstance(stmt, View) or stmt.base != own:
        return stmt
    return replace(stmt, base=shared)
