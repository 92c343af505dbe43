"""What stays in order in a loop over K: loads before products, stores after them."""

from __future__ import annotations

import pytest

from imbrex.dtype import F32
from imbrex.emit.gpu.schedule import in_order, phase_of
from imbrex.index.expr import lin
from imbrex.lower.stmt import Alloc, Barrier, Buffer, Comment, For, MatrixMultiply, Move, Ref, Stmt
from imbrex.view.mma import instruction

ARRAY, LDS = Buffer("a", F32, 64, "global"), Buffer("lds", F32, 64, "lds")
STAGED, OPERAND, SUM = (Buffer(name, F32, 16, "private") for name in ("staged", "operand", "sum"))


def move(dest: Buffer, source: Buffer) -> Move:
    return Move(Ref(dest, lin(0)), Ref(source, lin(0)), direct=(dest, source) == (LDS, ARRAY))


ONE = MatrixMultiply(
    instruction("mfma_f32_32x32x2_f32"), Ref(SUM, lin(0)), Ref(OPERAND, lin(0)), Ref(OPERAND, lin(0))
)
LOAD, STORE, DIRECT = move(STAGED, ARRAY), move(LDS, STAGED), move(LDS, ARRAY)
MULTIPLY = For("k", 2, (move(OPERAND, LDS), ONE))


@pytest.mark.parametrize(
    ("stmt", "phase"),
    [
        (For("i", 2, (LOAD,)), "load"),
        (DIRECT, "load"),
        (MULTIPLY, "multiply"),
        (STORE, "store"),
        (move(STAGED, OPERAND), "store"),
        (Barrier(), "meet"),
        (Comment("a"), None),
        (Alloc(STAGED), None),
    ],
)
def test_phases(stmt: Stmt, phase: str | None) -> None:
    assert phase_of(stmt) == phase


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ((Barrier(), LOAD, Alloc(OPERAND), MULTIPLY, STORE), {MULTIPLY, STORE}),
        ((Barrier(), LOAD, MULTIPLY, Barrier(), STORE), {MULTIPLY, Barrier()}),
        ((Barrier(), DIRECT, MULTIPLY, Comment("b")), {MULTIPLY}),
        ((Barrier(), LOAD, STORE), set[Stmt]()),
    ],
)
def test_order_is_kept_around_products(body: tuple[Stmt, ...], kept: set[Stmt]) -> None:
    """The compiler may not move anything past these; the first barrier of a loop follows no product in it."""
    assert {s for i, (s, stays) in enumerate(in_order(body)) if stays and i} == kept
