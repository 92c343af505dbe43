"""How statements of a GPU become loops over work items."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from tests.unit.emit.emulate.launched import built, launched, program

from imbrex.dtype import F16, F32
from imbrex.emit.emulate.lanes import LanePrinter, models
from imbrex.index.expr import Lin, lin, var
from imbrex.index.rule import Guard
from imbrex.lower.stmt import Alloc, Barrier, Buffer, Fill, For, Kernel, MatrixMultiply, Move, Ref, Stmt
from imbrex.view.mma import instruction

ONE = instruction("mfma_f32_16x16x16_f16")
A, B, C = (Buffer(n, t, e, "private") for n, t, e in (("a", F16, 8), ("b", F16, 8), ("c", F32, 16)))
ITEM = var("workitem", 128)
STEP, TILE = var("step", 2), var("tile", 4)
MULTIPLY = MatrixMultiply(ONE, Ref(C, TILE * 4), Ref(A, STEP * 4), Ref(B, STEP * 4))

SOURCE, RESULT = (Buffer(n, F32, 256, "global") for n in ("source", "result"))
LDS, ROW = Buffer("lds", F32, 256, "lds"), Buffer("row", F32, 2, "private")


def printed(*body: Stmt) -> str:
    kernel = Kernel("k", (), frozenset(), 1, 128, (*map(Alloc, (A, B, C)), *body))
    return "\n".join(LanePrinter(kernel).body(kernel.body))


def test_loops_around_matrix_instructions_stay_loops() -> None:
    text = printed(For("step", 2, (For("tile", 4, (MULTIPLY,)),)))
    assert text.count("imbrex::multiply<mfma_f32_16x16x16_f16>") == 1
    assert "for (int32_t workitem = 0; workitem < 128; workitem += 64) {" in text
    assert "c + (workitem * 16 + 4 * tile), 16, a + (workitem * 8 + 4 * step), 8" in text


def test_all_lanes_do_what_is_before_a_matrix_instruction() -> None:
    text = printed(Fill(A, 1.0), MULTIPLY, Fill(B, 2.0))
    first, multiply, last = (text.index(s) for s in ("fill(a", "multiply<", "fill(b"))
    assert first < multiply < last
    assert text.count("for (int32_t workitem = 0; workitem < 128; ++workitem)") == 2


def test_an_instruction_is_printed_once_for_all_kernels() -> None:
    made = program([[*map(Alloc, (A, B, C)), MULTIPLY]] * 2, [], 128, set())
    assert "\n".join(models(made, flushes_halves=False)).count("struct mfma_f32_16x16x16_f16") == 1


def direct(place: Lin) -> list[Stmt]:
    """The first 200 elements go to LDS past the registers, and back to global memory from there."""
    guard = Guard(ITEM * 2, 200)
    return [
        Alloc(LDS),
        Alloc(ROW),
        Move(Ref(LDS, place), Ref(SOURCE, ITEM * 2, (guard,)), 2, direct=True),
        Barrier(),
        Move(Ref(ROW, lin(0)), Ref(LDS, ITEM * 2), 2),
        Move(Ref(RESULT, ITEM * 2), Ref(ROW, lin(0)), 2),
    ]


def test_direct_move() -> None:
    """Neighbours in the order of the lanes; zero where the source does not exist."""
    source, result = np.arange(1, 257, dtype=np.float32), np.full(256, -1, np.float32)
    launched(program([direct(ITEM * 2)], [SOURCE, RESULT], 128, {"result"}), [source, result])
    np.testing.assert_array_equal(result, np.where(np.arange(256) < 200, source, 0))


@pytest.mark.parametrize(("place", "stops"), [(ITEM * 2, False), (254 - ITEM * 2, True)], ids=str)
def test_a_direct_move_to_another_place_stops_the_program(place: Lin, stops: bool) -> None:
    path = built(program([direct(place)], [SOURCE, RESULT], 128, {"result"}))
    script = f"import ctypes; x = (ctypes.c_float * 256)(); ctypes.CDLL({str(path)!r}).imbrex_whole(x, x, 1)"
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert (done.returncode != 0) is stops, done.stderr.decode()


def test_an_atomic_add_ends_with_its_vector() -> None:
    """Two of four registers a work item: what lies behind them is added nowhere."""
    wide = Buffer("wide", F32, 4, "private")
    body = [
        Alloc(wide),
        Fill(wide, 7.0),
        Move(Ref(wide, lin(0)), Ref(SOURCE, ITEM * 2), 2),
        Move(Ref(RESULT, ITEM * 2), Ref(wide, lin(0)), 2, method="atomic_add"),
    ]
    source, result = np.arange(256, dtype=np.float32), np.full(256, 3, np.float32)
    launched(program([body], [SOURCE, RESULT], 128, {"result"}), [source, result])
    np.testing.assert_array_equal(result, source + 3)
