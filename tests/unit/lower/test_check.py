"""What `checked` refuses of matrix instructions and direct moves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.dtype import ACROSS, DTYPES, F16, F32
from imbrex.index.expr import lin, var, xor
from imbrex.index.rule import Guard
from imbrex.lower.check import checked
from imbrex.lower.common_subexpressions import named_once
from imbrex.lower.prune import pruned
from imbrex.lower.stmt import (
    Alloc,
    Buffer,
    Evaluate,
    Exchange,
    For,
    Kernel,
    Let,
    MatrixMultiply,
    Move,
    MulAdd,
    PanelGemm,
    Ref,
    Stmt,
    indices,
    is_collective,
)
from imbrex.problem.epilogue import parse
from imbrex.view.mma import instruction
from imbrex.view.mma.vector import CPU_UNITS

ONE = instruction("mfma_f32_32x32x8_f16")
A, B, C = (Buffer(n, t, e, "private") for n, t, e in (("a", F16, 8), ("b", F16, 8), ("c", F32, 32)))
SOURCE, LDS = Buffer("source", F16, 4096, "global"), Buffer("lds", F16, 1024, "lds")
ITEM = var("workitem", 128)
MULTIPLY = MatrixMultiply(ONE, Ref(C, lin(16)), Ref(A, lin(4)), Ref(B, lin(0)))
DIRECT = Move(Ref(LDS, ITEM * 8), Ref(SOURCE, ITEM * 16), 8, direct=True)


def kernel(*body: Stmt, items: int = 128) -> Kernel:
    return Kernel("k", (SOURCE,), frozenset(), 1, items, (*map(Alloc, (A, B, C, LDS)), *body))


HELD, ARRAY = Buffer("held", F32, 16, "private"), Buffer("array", F32, 64, "global")
PANEL = PanelGemm(
    Ref(ARRAY, lin(64 - 24)),
    Ref(HELD, lin(15)),
    Ref(HELD, lin(15)),
    lin(8),
    3,
    4,
    10,
    None,
    False,
    CPU_UNITS["fma"],
)
LAST: dict[str, tuple[Stmt, tuple[str, ...]]] = {
    "move": (Move(Ref(HELD, lin(12)), Ref(ARRAY, lin(60)), 4), ("dest", "source")),
    "evaluate": (
        Evaluate(
            Ref(HELD, lin(12)), parse("relu(x)").expression, (("x", Ref(ARRAY, lin(64 - 16)), 5),), F32, 4
        ),
        ("dest", "values"),
    ),
    "multiply": (MulAdd(Ref(HELD, lin(15)), Ref(HELD, lin(15)), Ref(ARRAY, lin(63))), ("c", "a", "b")),
    "exchange": (Exchange(Ref(HELD, lin(8)), Ref(ARRAY, lin(56)), 8, False), ("dest", "source")),
    "panel": (PANEL, ("c", "a", "b")),
    "panel at an edge": (
        replace(PANEL, a=Ref(HELD, lin(13)), b=Ref(HELD, lin(12)), guards=(Guard(ITEM, 64),)),
        ("a", "b"),
    ),
}
"""Accesses of the last elements that there are, and their parts."""


@pytest.mark.parametrize(
    ("name", "part"), [(name, part) for name, (_, parts) in LAST.items() for part in parts]
)
def test_an_access_of_one_element_more_is_refused(name: str, part: str) -> None:
    """But where a guard says which ones exist."""
    stmt, _ = LAST[name]

    def moved(ref: Ref, *guards: Guard) -> Ref:
        return replace(ref, offset=ref.offset + 1, guards=guards)

    def with_part(*guards: Guard) -> Kernel:
        of = getattr(stmt, part)
        changed = (
            tuple((x, moved(ref, *guards), y) for x, ref, y in of) if part == "values" else moved(of, *guards)
        )
        return kernel(Alloc(HELD), replace(stmt, **{part: changed}), items=1)  # type: ignore[arg-type]

    checked(kernel(Alloc(HELD), stmt, items=1))
    with pytest.raises(AssertionError, match=r"elements .* of (held|array), of"):
        checked(with_part())
    checked(with_part(Guard(var("row", 9), 8)))


def test_a_matrix_instruction_stays_in_its_registers() -> None:
    checked(kernel(MULTIPLY))
    with pytest.raises(AssertionError, match="elements 17 to 32 of c"):
        checked(kernel(replace(MULTIPLY, c=Ref(C, lin(17)))))
    with pytest.raises(AssertionError, match="elements 5 to 8 of a"):
        checked(kernel(replace(MULTIPLY, a=Ref(A, lin(5)))))
    with pytest.raises(AssertionError, match="not in registers"):
        checked(kernel(replace(MULTIPLY, b=Ref(LDS, lin(0)))))


def test_a_wave_stays_together() -> None:
    in_one_lane = replace(MULTIPLY, a=Ref(A, lin(4), (Guard(ITEM, 64),)))
    with pytest.raises(AssertionError, match="guarded"):
        checked(kernel(in_one_lane))
    with pytest.raises(AssertionError, match="different registers of a"):
        checked(kernel(replace(MULTIPLY, a=Ref(A, ITEM % 2 * 4))))
    checked(kernel(replace(MULTIPLY, a=Ref(A, ITEM // 64 * 4))))
    with pytest.raises(AssertionError, match="not whole waves of 64"):
        checked(kernel(MULTIPLY, items=96))


@pytest.mark.parametrize("width", [2, 8])
def test_a_direct_move_is_in_the_order_of_the_lanes(width: int) -> None:
    checked(kernel(replace(DIRECT, dest=Ref(LDS, ITEM * width), width=width)))
    by_wave = Ref(LDS, ITEM % 64 * width + ITEM // 64 * 512)
    checked(kernel(replace(DIRECT, dest=by_wave, width=width)))


@pytest.mark.parametrize(
    "place", [ITEM * 7, 1016 - ITEM * 8, xor(ITEM, ITEM // 8 % 8) * 8, ITEM // 64 * 8], ids=str
)
def test_a_direct_move_to_other_places_is_refused(place: object) -> None:
    with pytest.raises(AssertionError, match="not one after the other"):
        checked(kernel(replace(DIRECT, dest=Ref(LDS, place))))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": Ref(C, lin(0))}, "from private to lds"),
        ({"width": 1}, "of 2 bytes"),
        ({"width": 4}, "of 8 bytes"),
        ({"alpha": 2.0}, "only moves"),
        ({"dest": Ref(LDS, ITEM * 8, (Guard(ITEM, 64),))}, "only moves"),
        ({"source": Ref(Buffer("wide", F32, 4096, "global"), ITEM * 8)}, "only moves"),
    ],
)
def test_a_direct_move_only_moves(change: dict[str, object], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        checked(kernel(replace(DIRECT, **change)))  # type: ignore[arg-type]


TURNED = Move(Ref(A, lin(4)), Ref(LDS, ITEM * 4), 4, turned=True)


def test_whole_waves_transpose_eight_bytes_each_into_the_same_registers() -> None:
    checked(kernel(TURNED))
    changes: list[tuple[dict[str, object], str]] = [
        ({"source": Ref(B, lin(0))}, "from private to private"),
        ({"width": 2}, "transpose 8 bytes, not 4"),
        ({"source": Ref(LDS, ITEM * 4, (Guard(ITEM, 64),))}, "lanes of a wave part"),
        ({"dest": Ref(A, ITEM % 2 * 4)}, "different registers of a"),
    ]
    for change, message in changes:
        with pytest.raises(AssertionError, match=message):
            checked(kernel(replace(TURNED, **change)))  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="not whole waves"):
        checked(kernel(TURNED, items=96))


def test_lanes_transpose_a_pack_of_12_bytes_each() -> None:
    """From where LDS holds it, to the pack along k."""
    rows = ACROSS["f6e2m3fn"]
    shelf = Buffer("shelf", rows.in_lds, 128, "lds")
    pack = Buffer("pack", DTYPES["f6e2m3fn"], 2, "private")
    move = Move(Ref(pack, lin(1)), Ref(shelf, ITEM), 1, turned=True)
    bare = Kernel("k", (SOURCE,), frozenset(), 1, 128, (Alloc(shelf), Alloc(pack), move))
    checked(bare)
    other = Ref(Buffer("other", rows, 2, "private"), lin(1))
    with pytest.raises(AssertionError, match="_held to f6e2m3fn, not f6e2m3fn_across"):
        checked(replace(bare, body=(*bare.body[:2], Alloc(other.buffer), replace(move, dest=other))))


def test_three_words_past_registers_lie_in_places_of_four() -> None:
    packs = DTYPES["f6e2m3fn"]
    source = Buffer("packs", packs, 4096, "global")
    for of, told in ((packs.in_lds, None), (packs, "lanes write 12 bytes, 12 apart")):
        shelf = Buffer("shelf", of, 128, "lds")
        move = Move(Ref(shelf, ITEM), Ref(source, ITEM * 4), 1, direct=True)
        bare = Kernel("k", (source,), frozenset(), 1, 128, (Alloc(shelf), move))
        if told is None:
            checked(bare)
        else:
            with pytest.raises(AssertionError, match=told):
                checked(bare)


def test_where_work_items_meet() -> None:
    assert is_collective(TURNED)
    assert is_collective(For("i", 2, (For("j", 2, (MULTIPLY,)),)))
    assert is_collective(DIRECT)
    assert not is_collective(For("i", 2, (replace(DIRECT, direct=False),)))


def test_operands_are_used_and_their_indices_shared() -> None:
    step = var("step", 6)
    multiply = replace(MULTIPLY, a=Ref(A, step % 2 * 4))
    kept = named_once(pruned(checked(kernel(For("step", 6, (multiply,))))))
    assert [s.buffer for s in kept.body if isinstance(s, Alloc)] == [A, B, C]
    (loop,) = (s for s in kept.body if isinstance(s, For))
    assert isinstance(loop.body[0], Let) and loop.body[0].index == step % 2
    assert lin(16) in indices(MULTIPLY)


def test_the_wave_is_that_of_the_instructions() -> None:
    assert kernel().wave == 64 and replace(kernel(), lanes=32).wave == 32
    assert kernel(MatrixMultiply(instruction("wmma_f32_16x16x16_f16_w32"), *[Ref(C, lin(0))] * 3)).wave == 32
