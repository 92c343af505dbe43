"""What every kernel keeps: accesses inside their buffers, no races in LDS, waves that stay together.

A fault here is a broken promise of the levels above, never bad input: it is an AssertionError with the
statement.
"""

from __future__ import annotations

from imbrex.index.expr import Lin, lin, var
from imbrex.lower.races import free_of_races
from imbrex.lower.stmt import (
    Await,
    Evaluate,
    Exchange,
    Join,
    Kernel,
    MatrixMultiply,
    Move,
    MulAdd,
    Pack,
    PanelGemm,
    Pipeline,
    Ref,
    Signal,
    Stmt,
    Unpack,
    walk,
)
from imbrex.lower.warpgroup.pipeline import Lanes
from imbrex.view.mma.wave import TURNED_BYTES

DIRECT_BYTES = (4, 12, 16)
"""What one lane of a direct move can carry: global_load_lds_dword, and _dwordx3 and _dwordx4 on gfx950."""


def checked(kernel: Kernel) -> Kernel:
    """The kernel itself; AssertionError where it breaks a promise.  Run it before `named_once`."""
    for stmt in walk(kernel.body):
        for ref, width in _accesses(stmt):
            _inside(ref, width, stmt)
        if isinstance(stmt, MatrixMultiply):
            _together(stmt, kernel)
        elif isinstance(stmt, Move) and stmt.turned:
            _turned(stmt, kernel)
        elif isinstance(stmt, Move) and stmt.direct:
            _in_lane_order(stmt, kernel)
    if kernel.block_size > 1:
        free_of_races(kernel)
    return kernel


def _inside(ref: Ref, width: int, stmt: Stmt) -> None:
    """An access that no guard protects lies in its buffer for every value of the variables."""
    if ref.guards:
        return
    low, high = ref.offset.bounds
    assert low >= 0 and high + width <= ref.buffer.elements, (
        f"elements {low} to {high + width - 1} of {ref.buffer.name}, of {ref.buffer.elements}, in {stmt}"
    )


def _accesses(stmt: Stmt) -> list[tuple[Ref, int]]:
    match stmt:
        case Move():
            return [(stmt.dest, stmt.width), (stmt.source, stmt.width)]
        case Evaluate():
            reach = [(ref, (stmt.width - 1) * step + 1) for _, ref, step in stmt.values]
            return [(stmt.dest, stmt.width), *reach]
        case MulAdd():
            return [(r, 1) for r in (stmt.c, stmt.a, stmt.b)]
        case MatrixMultiply(one, c, a, b):
            scales = [(ref, stmt.scale_count) for ref in stmt.scales]
            return [(c, one.c_elements), (a, one.a_elements), (b, one.b_elements), *scales]
        case PanelGemm():
            last = (stmt.m - 1) * stmt.c_step + stmt.n
            return (
                [(stmt.a, stmt.m), (stmt.b, stmt.n)]
                if stmt.guards
                else [(stmt.c, last), (stmt.a, 1), (stmt.b, 1)]
            )
        case Exchange():
            return [(stmt.dest, stmt.count), (stmt.source, stmt.count)]
        case Signal() | Join() | Await(count=None):
            return [(stmt.flag, 1)]
        case Await():
            return [(stmt.flag, 0)]  # who owns nothing waits for none, and may stand behind the last flag
        case Pack():
            return [(stmt.dest, 1)]
        case Unpack():
            return [(stmt.tile, 1)]
        case Pipeline(c=c):
            loads = [(f.buffer, f.access) for f in (stmt.a, stmt.b) if isinstance(f.access, Lanes)]
            ordinary = [(Ref(buffer, by.offset, by.guards), 1) for buffer, by in loads]
            kept = [(c.kept.ref, 1)] if c.kept is not None else []
            return [(Ref(c.buffer, c.offset, c.guards), 1), *kept, *ordinary]
        case _:
            return []


def _together(stmt: MatrixMultiply, kernel: Kernel) -> None:
    """A matrix instruction runs in whole waves, on the same registers in every lane, and under no guard."""
    whole = f"{kernel.block_size} work items are not whole waves of {stmt.instruction.wave}"
    assert kernel.block_size % stmt.instruction.wave == 0, f"{whole}, in {stmt}"
    for ref in (stmt.c, *stmt.read):
        assert ref.buffer.space == "private", f"{ref.buffer.name} is not in registers, in {stmt}"
        assert not ref.guards, f"{ref.buffer.name} is guarded, so that lanes of a wave part, in {stmt}"
        parted = f"lanes of a wave name different registers of {ref.buffer.name}, in {stmt}"
        assert _lane_step(ref.offset, kernel) == 0, parted


def _in_lane_order(stmt: Move, kernel: Kernel) -> None:
    """A direct move fills LDS in the order of the lanes, a whole number of 32-bit words each."""
    spaces = stmt.source.buffer.space, stmt.dest.buffer.space
    assert spaces == ("global", "lds"), f"a direct move from {spaces[0]} to {spaces[1]}, in {stmt}"
    plain = not stmt.dest.guards and stmt.method == "set" and (stmt.alpha, stmt.beta) == (1.0, 0.0)
    source, dest = stmt.source.buffer.dtype, stmt.dest.buffer.dtype
    assert plain and source == dest.loaded, f"a direct move only moves: {stmt}"
    size = stmt.width * source.bytes
    apart = stmt.width * dest.bytes
    assert apart == (16 if size == 12 else size), f"lanes write {size} bytes, {apart} apart, in {stmt}"
    assert size in DIRECT_BYTES, f"a direct move of {size} bytes, not {DIRECT_BYTES}, in {stmt}"
    order = f"lanes write {stmt.dest.offset}, not one after the other, in {stmt}"
    assert _lane_step(stmt.dest.offset, kernel) == stmt.width, order


def _turned(stmt: Move, kernel: Kernel) -> None:
    """Whole waves transpose, into the same registers in every lane, and under no guard."""
    whole = f"{kernel.block_size} work items are not whole waves of {kernel.wave}"
    assert kernel.block_size % kernel.wave == 0, f"{whole}, in {stmt}"
    spaces = stmt.source.buffer.space, stmt.dest.buffer.space
    assert spaces == ("lds", "private"), f"lanes transpose from {spaces[0]} to {spaces[1]}, in {stmt}"
    assert not stmt.source.guards and not stmt.dest.guards, f"lanes of a wave part, in {stmt}"
    source, dest = stmt.source.buffer.dtype, stmt.dest.buffer.dtype
    size = stmt.width * source.loaded.bytes
    most = 12 if source.bits == 6 else TURNED_BYTES
    assert size == most, f"lanes transpose {most} bytes, not {size}, in {stmt}"
    assert dest == source.along_k, f"lanes transpose {source} to {source.along_k}, not {dest}, in {stmt}"
    parted = f"lanes of a wave name different registers of {stmt.dest.buffer.name}, in {stmt}"
    assert _lane_step(stmt.dest.offset, kernel) == 0, parted


def _lane_step(offset: Lin, kernel: Kernel) -> int | None:
    """How far the offset moves from lane to lane of a wave; None where not all steps are the same."""
    wave, lane = var("wave'", -(-kernel.block_size // kernel.wave)), var("lane'", kernel.wave)
    at = offset.subs({kernel.workitem: wave * kernel.wave + lane})
    first, second = (at.subs({"lane'": lin(i)}) for i in (0, 1))
    step = second - first
    return step.const if step.is_constant and at == first + lane * step.const else None
