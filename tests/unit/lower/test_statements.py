"""Statements keep their promises: what `check` refuses, what `prune` drops, what `share` names."""

from __future__ import annotations

import pytest

from imbrex.dtype import F32
from imbrex.index.expr import lin, var
from imbrex.index.rule import Guard
from imbrex.lower.check import checked
from imbrex.lower.common_subexpressions import named_once
from imbrex.lower.prune import pruned
from imbrex.lower.stmt import Alloc, Barrier, Buffer, For, Kernel, Let, Move, Ref, Stmt, View, walk

A = Buffer("a", F32, 64, "global")
LDS = Buffer("lds", F32, 64, "lds")
REGISTERS = Buffer("r", F32, 4, "private")
ITEM = var("workitem", 16)


def kernel(*body: Stmt) -> Kernel:
    return Kernel("k", (A,), frozenset({"a"}), 1, 16, (Alloc(LDS), Alloc(REGISTERS), *body))


WRITE = Move(Ref(LDS, ITEM * 4), Ref(REGISTERS, lin(0)), 4)
READ = Move(Ref(REGISTERS, lin(0)), Ref(LDS, ITEM * 4), 4)


def test_a_barrier_separates_a_write_from_a_read() -> None:
    checked(kernel(WRITE, Barrier(), READ))
    with pytest.raises(AssertionError, match="no barrier between a write of lds"):
        checked(kernel(WRITE, READ))


def test_a_barrier_separates_a_read_from_the_next_write() -> None:
    checked(kernel(WRITE, Barrier(), READ, Barrier(), WRITE))
    with pytest.raises(AssertionError, match="no barrier between a read of lds"):
        checked(kernel(WRITE, Barrier(), READ, WRITE))


def test_a_loop_meets_what_its_last_round_left() -> None:
    checked(kernel(For("i", 3, (WRITE, Barrier(), READ, Barrier()))))
    with pytest.raises(AssertionError, match="no barrier"):
        checked(kernel(For("i", 3, (WRITE, Barrier(), READ))))
    checked(kernel(For("i", 1, (WRITE, Barrier(), READ))))


def test_parts_of_lds_that_do_not_overlap_need_no_barrier() -> None:
    raw = Buffer("raw", F32, 64, "lds")
    even, odd = (Buffer(name, F32, 32, "lds") for name in ("even", "odd"))
    views = (Alloc(raw), View(even, raw, 0), View(odd, raw, 128))
    write = Move(Ref(even, ITEM * 2), Ref(REGISTERS, lin(0)), 2)
    read = Move(Ref(REGISTERS, lin(0)), Ref(odd, ITEM * 2), 2)
    checked(kernel(*views, write, read))
    overlapping = (Alloc(raw), View(even, raw, 0), View(odd, raw, 64))
    with pytest.raises(AssertionError, match="no barrier"):
        checked(kernel(*overlapping, write, read))


@pytest.mark.parametrize(
    ("offset", "width", "is_inside"), [(ITEM * 4, 4, True), (ITEM * 4 + 1, 4, False), (ITEM - 1, 1, False)]
)
def test_accesses_stay_inside_their_buffers(offset: object, width: int, is_inside: bool) -> None:
    body = kernel(Move(Ref(REGISTERS, lin(0)), Ref(A, offset), width))  # type: ignore[arg-type]
    if is_inside:
        checked(body)
    else:
        with pytest.raises(AssertionError, match=r"of a, of 64"):
            checked(body)


def test_a_guard_answers_for_what_it_guards() -> None:
    offset = ITEM * 8
    guarded = Ref(A, offset, (Guard(offset, 64),))
    checked(kernel(Move(Ref(REGISTERS, lin(0)), guarded, 1)))


def test_unused_buffers_are_dropped() -> None:
    assert [s for s in pruned(kernel(WRITE)).body if isinstance(s, Alloc)] == [Alloc(LDS), Alloc(REGISTERS)]
    assert [s for s in pruned(kernel()).body if isinstance(s, Alloc)] == []


def test_a_name_stands_at_the_depth_where_it_is_known() -> None:
    step = var("step", 4)
    lane, inner = ITEM // 3, (ITEM + step) // 5
    loop = For(
        "step",
        4,
        (Move(Ref(REGISTERS, lin(0)), Ref(A, lane + inner)), Move(Ref(REGISTERS, lin(1)), Ref(A, lane))),
    )
    (*_, let, named) = named_once(kernel(loop)).body
    assert isinstance(let, Let) and let.index == lane
    assert isinstance(named, For)
    assert [s.index for s in named.body if isinstance(s, Let)] == [inner]


def test_sharing_keeps_every_address() -> None:
    """Substituting the names back gives the offsets that were there before."""
    step = var("step", 4)
    offsets = [(ITEM // 3) % 4 + step, (ITEM * 4 + step) // 7 % 5, (ITEM // 3) * 2]
    loop = For("step", 4, tuple(Move(Ref(REGISTERS, lin(0)), Ref(A, o)) for o in offsets))
    body = named_once(kernel(loop)).body
    for item in range(16):
        for s in range(4):
            env = {"workitem": item, "step": s}
            found: list[int] = []
            for stmt in walk(body):
                if isinstance(stmt, Let):
                    env[stmt.name] = stmt.index.eval(env)
                elif isinstance(stmt, Move):
                    found.append(stmt.source.offset.eval(env))
            assert found == [o.eval({"workitem": item, "step": s}) for o in offsets]
