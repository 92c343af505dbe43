"""Transposition in registers: which loops are one, and that nothing else is taken for one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.dtype import F16, F32, I8
from imbrex.emit.gpu.turn import turn_of
from imbrex.index.expr import lin, var
from imbrex.lower.stmt import Buffer, For, Move, Ref, Stmt

STAGED, TURNED = (Buffer(name, I8, 64, "private") for name in ("staged", "turned"))
ROW, COLUMN = var("row", 8), var("column", 4)


def loops(move: Stmt, rows: int = 8, columns: int = 4) -> For:
    return For("row", rows, (For("column", columns, (move,)),))


WHOLE = Move(Ref(TURNED, ROW * 4 + COLUMN), Ref(STAGED, COLUMN * 8 + ROW))


def test_a_transposition_is_seen() -> None:
    found = turn_of(loops(WHOLE))
    assert found is not None and (found.rows, found.columns) == (8, 4)
    assert (found.dest, found.source) == (Ref(TURNED, lin(0)), Ref(STAGED, lin(0)))


def test_it_may_lie_anywhere() -> None:
    repeat = var("repeat", 2)
    moved = Move(Ref(TURNED, ROW * 4 + COLUMN + repeat * 32), Ref(STAGED, COLUMN * 8 + ROW + repeat * 32))
    found = turn_of(loops(moved))
    assert found is not None and found.dest.offset == found.source.offset == repeat * 32


@pytest.mark.parametrize(
    "stmt",
    [
        loops(replace(WHOLE, source=Ref(STAGED, ROW * 4 + COLUMN))),
        loops(replace(WHOLE, source=Ref(STAGED, COLUMN * 16 + ROW))),
        loops(replace(WHOLE, source=Ref(STAGED, COLUMN * 8 + ROW * 2))),
        loops(replace(WHOLE, source=Ref(STAGED, COLUMN * 8 + ROW // 2))),
        loops(WHOLE, rows=4),
        loops(replace(WHOLE, width=2)),
        loops(replace(WHOLE, alpha=2.0)),
        loops(replace(WHOLE, dest=Ref(replace(TURNED, space="lds"), WHOLE.dest.offset))),
        loops(replace(WHOLE, dest=Ref(replace(TURNED, dtype=F16), WHOLE.dest.offset))),
        loops(replace(WHOLE, source=Ref(replace(STAGED, dtype=F32), WHOLE.source.offset))),
        For("row", 8, (WHOLE,)),
        For("row", 8, (For("column", 4, (WHOLE, WHOLE)),)),
        For("row", 8, (For("column", 4, (WHOLE,)), WHOLE)),
    ],
)
def test_what_is_none(stmt: For) -> None:
    assert turn_of(stmt) is None
