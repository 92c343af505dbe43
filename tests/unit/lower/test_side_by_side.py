"""Launches that do not depend on each other as one: whose workgroups are whose, and what they share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.chip import GPU_MACHINES
from imbrex.config.tuning import parse
from imbrex.index.expr import lin, var
from imbrex.lower.build import program
from imbrex.lower.side_by_side import side_by_side
from imbrex.lower.stmt import Alloc, Buffer, For, Kernel, Let, Stmt, View, indices, walk
from imbrex.lower.substitute import substituted
from imbrex.pipeline import Request, levels
from imbrex.problem import Conv2d

PROBLEM = Conv2d(
    "backward_data", 2, 32, 9, 7, 48, 3, 3, stride=(2, 2), pad_h=(1, 1), pad_w=(1, 1), dtype="f16",
    filter_layout="KYXC", input_layout="NHWC", output_layout="NHWK",
)  # fmt: skip


@pytest.fixture(scope="module")
def kernels() -> tuple[Kernel, ...]:
    machine = GPU_MACHINES["gfx942"]
    *_, threadwise = levels(Request(PROBLEM, machine, "gfx942", tuning=parse("v1:xdlops:32,32,4,16,16,8")))
    return program(threadwise.module, frozenset({1}), machine).kernels


def test_each_workgroup_runs_one_of_them(kernels: tuple[Kernel, ...]) -> None:
    """By its number among the workgroups of that one."""
    made = side_by_side(kernels)
    sizes = [kernel.grid_size for kernel in kernels]
    assert made.grid_size == sum(sizes) and made.name == kernels[0].name
    parts = [stmt for stmt in made.body if isinstance(stmt, For)]
    numbers = [next(stmt for stmt in part.body if isinstance(stmt, Let)) for part in parts]
    assert len(parts) == len(kernels) > 1 and all(part.is_condition for part in parts)
    found = list[tuple[int, int]]()
    for workgroup in range(made.grid_size):
        env = {made.workgroup: workgroup}
        own = [n for n, part in enumerate(parts) if part.end is not None and part.end.eval(env)]
        assert len(own) == 1
        found.append((own[0], int(numbers[own[0]].index.eval(env))))
    assert found == [(n, number) for n, size in enumerate(sizes) for number in range(size)]


def test_nothing_in_a_part_counts_all_workgroups(kernels: tuple[Kernel, ...]) -> None:
    for part in (stmt for stmt in side_by_side(kernels).body if isinstance(stmt, For)):
        first, *others = [stmt for stmt in walk(part.body) if indices(stmt)]
        assert isinstance(first, Let) and first.index.mentions("workgroup")
        assert not any(index.mentions("workgroup") for stmt in others for index in indices(stmt))


def test_they_share_lds(kernels: tuple[Kernel, ...]) -> None:
    """One buffer, as large as the largest; views of each are views of it."""
    (own,) = _lds(kernels[1])
    grown = replace(kernels[1], body=tuple(_grown(stmt, own, 100) for stmt in kernels[1].body))
    for given, more in ((kernels, 0), ((kernels[0], grown, *kernels[2:]), 100)):
        made = side_by_side(given)
        (shared,) = _lds(made)
        assert made.body[0] == Alloc(shared) and shared.elements == _lds(kernels[0])[0].elements + more
        views = [stmt for stmt in walk(made.body) if isinstance(stmt, View)]
        made_here = {stmt.buffer for stmt in views}
        assert views and all(stmt.base == shared or stmt.base in made_here for stmt in views)
        assert len(views) == sum(isinstance(s, View) for kernel in given for s in walk(kernel.body))


def _lds(kernel: Kernel) -> list[Buffer]:
    return [s.buffer for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.space == "lds"]


def _grown(stmt: Stmt, own: Buffer, more: int) -> Stmt:
    larger = replace(own, elements=own.elements + more)
    match stmt:
        case Alloc() if stmt.buffer == own:
            return Alloc(larger)
        case View() if stmt.base == own:
            return replace(stmt, base=larger)
        case _:
            return stmt


def test_others_do_not_go_side_by_side(kernels: tuple[Kernel, ...]) -> None:
    with pytest.raises(AssertionError):
        side_by_side((kernels[0], replace(kernels[1], block_size=2 * kernels[1].block_size)))


def test_bounds_of_loops_and_names_are_substituted() -> None:
    number, env = var("workgroup", 9), {"workgroup": var("own", 4) + 2}
    inner = Let("twice", number * 2)
    found = substituted(For("i", 9, (inner,), start=number, end=number + 3), env)
    own = var("own", 4)
    assert found == For("i", 9, (Let("twice", own * 2 + 4),), start=own + 2, end=own + 5)
    assert substituted(For("i", 3, (Let("one", lin(1)),)), env) == For("i", 3, (Let("one", lin(1)),))
