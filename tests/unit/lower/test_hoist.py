"""Masks before a loop answer as the guards in it did, at every step and for every work item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from imbrex.chip import GPU_MACHINES
from imbrex.config import configuration, tuning
from imbrex.dtype import F32
from imbrex.index.expr import lin, var
from imbrex.index.rule import Guard
from imbrex.lower.build import program
from imbrex.lower.hoist import Axis, Mask, hoisted
from imbrex.lower.stmt import Alloc, Barrier, Buffer, For, Kernel, Mark, Move, Ref, Stmt, walk
from imbrex.pipeline import Request, levels
from imbrex.problem import Conv2d

NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
CONV = Conv2d("forward", 2, 32, 9, 7, 16, 3, 3, pad_h=1, pad_w=1, **NHWC)
GENERAL = "v1:general:64,32,32,8,2,2"
CASES = {
    "3x3": (CONV, GENERAL),
    "dilated": (replace(CONV, dilation=(2, 3)), GENERAL),
    "strided": (replace(CONV, stride=(2, 1), pad_h=(1, 2)), GENERAL),
    "5x3": (replace(CONV, y=5, x=3), GENERAL),
    "backward data": (replace(CONV, direction="backward_data"), GENERAL),
    "matrix instructions": (replace(CONV, c=64), "v1:xdlops:32,32,4,16,16,4"),
}


def kernel_of(problem: Conv2d, text: str) -> Kernel:
    return lowered(Request(problem, GPU_MACHINES["gfx942"], "emulate", tuning.parse(text)))


def lowered(request: Request) -> Kernel:
    *_, last = levels(request)
    return program(last.module, frozenset({2})).kernels[0]


def loads(kernel: Kernel) -> list[tuple[Move, tuple[For, ...]]]:
    """The loads of a kernel, with the loops around them, in order."""
    return list(_loads(kernel.body, ()))


def _loads(body: Sequence[Stmt], loops: tuple[For, ...]) -> Iterator[tuple[Move, tuple[For, ...]]]:
    for stmt in body:
        if isinstance(stmt, For):
            yield from _loads(stmt.body, (*loops, stmt))
        elif isinstance(stmt, Move) and stmt.source.buffer.space == "global":
            yield stmt, loops


def everywhere(kernel: Kernel, loops: Sequence[For]) -> dict[str, Any]:
    """Every value of every variable, each along its own axis."""
    axes = [(kernel.workgroup, kernel.grid_size), (kernel.workitem, kernel.block_size)]
    axes += [(f.var, f.count) for f in loops]
    return dict(zip([n for n, _ in axes], np.ix_(*(np.arange(size) for _, size in axes)), strict=True))


def hold(guards: Sequence[Guard], env: dict[str, Any]) -> Any:
    answer: Any = np.True_
    for guard in guards:
        value = guard.index.eval(env)
        answer = answer & (value >= 0) & (value < guard.size)
    return answer


def masks(kernel: Kernel) -> dict[str, Any]:
    """The words that the marks of a kernel leave: buffer -> (workgroup, workitem, word)."""
    found: dict[str, Any] = {}
    for stmt in kernel.body:
        for loops, mark in _marks((stmt,), ()):
            buffer = mark.mask.buffer
            shape = (kernel.grid_size, kernel.block_size, buffer.elements)
            words = found.setdefault(buffer.name, np.zeros(shape, np.int64))
            env = everywhere(kernel, loops)
            size = np.broadcast_shapes(*(np.shape(v) for v in env.values()))
            fails = np.broadcast_to(~hold(mark.guards, env), size)
            bits = np.broadcast_to(1 << np.asarray(mark.bit.eval(env)), size) * fails
            at = np.broadcast_to(mark.mask.offset.eval(env), size)
            group, item = (np.broadcast_to(env[n], size) for n in (kernel.workgroup, kernel.workitem))
            np.bitwise_or.at(words, (group, item, at), bits)
    return found


def _marks(body: Sequence[Stmt], loops: tuple[For, ...]) -> Iterator[tuple[tuple[For, ...], Mark]]:
    for stmt in body:
        if isinstance(stmt, For):
            yield from _marks(stmt.body, (*loops, stmt))
        elif isinstance(stmt, Mark):
            yield loops, stmt


def exists(kernel: Kernel, move: Move, loops: Sequence[For], words: dict[str, Any]) -> Any:
    """Where the source of a move exists, at every point."""
    env = everywhere(kernel, loops)
    answer = hold(move.source.guards, env)
    if (bit := move.source.missing) is not None:
        word = words[bit.buffer.name][env[kernel.workgroup], env[kernel.workitem], bit.offset.eval(env)]
        answer = answer & ((word >> bit.bit.eval(env)) & 1 == 0)
    return np.broadcast_to(answer, np.broadcast_shapes(*(np.shape(v) for v in env.values())))


@pytest.mark.parametrize("case", CASES)
def test_masks_answer_as_the_guards_did(case: str) -> None:
    before = kernel_of(*CASES[case])
    after = hoisted(before)
    words = masks(after)
    assert words, "a window beyond the edge has guards that the loop changes"
    pairs = list(zip(loads(before), loads(after), strict=True))
    masked = [(one, two) for one, two in pairs if two[0].source.missing is not None]
    assert masked
    for (move, loops), (other, _) in masked:
        assert move.source.guards and not any(g.index.mentions(loops[0].var) for g in other.source.guards), (
            "what the loop changes is in the mask"
        )
        want = exists(before, move, loops, {})
        assert np.array_equal(exists(after, other, loops, words), want)
        moved = replace(other.source, missing=replace(other.source.missing, bit=_next(other)))
        assert not np.array_equal(exists(after, replace(other, source=moved), loops, words), want)


def _next(move: Move) -> Any:
    assert move.source.missing is not None
    return move.source.missing.bit + 1


def test_what_has_no_few_answers_stays() -> None:
    """NCHW with k = (c, y, x): each lane is at a place of its own in the window, in every step."""
    problem = Conv2d("forward", 1, 8, 9, 7, 16, 3, 3, pad_h=1, pad_w=1)
    taps_last = configuration.parse(f"v2:v4r4+product={GENERAL}@data_parallel")
    before = lowered(Request(problem, GPU_MACHINES["gfx942"], "emulate", config=taps_last))
    assert not any(isinstance(s, Mark) for s in walk(hoisted(before).body))
    assert loads(hoisted(before)) == loads(before)


def test_equal_guards_share_a_mask() -> None:
    """The loop is unrolled by two: both halves ask the same words, at other places; so does the load of the
    steps that it leaves, at its own, the last one.
    """
    after = hoisted(kernel_of(*CASES["3x3"]))
    asked = [(m.source.missing, f) for m, f in loads(after) if m.source.missing is not None]
    assert [any(f.var == "step" for f in loops) for _, loops in asked] == [True, True, False]
    assert len({str(bit.bit) for bit, _ in asked}) == 3
    assert len({bit.buffer for bit, _ in asked}) == 1
    assert not asked[2][0].bit.variables
    assert sum(isinstance(s, Mark) for s in walk(after.body)) == 1


A = Buffer("a", F32, 1 << 20, "global")
REGISTERS = Buffer("r", F32, 4, "private")


def one_load(index: Any, size: int, steps: int, inner: int = 1) -> Kernel:
    """A load in a loop with a barrier, guarded by one guard."""
    load: Stmt = Move(Ref(REGISTERS, lin(0)), Ref(A, lin(0), (Guard(index, size),)))
    body = (Barrier(), For("item", inner, (load,)) if inner > 1 else load)
    return Kernel("k", (A,), frozenset(), 3, 64, (Alloc(REGISTERS), For("step", steps, body)))


ITEM, STEP, INNER = var("workitem", 64), var("step", 32), var("item", 2)


@pytest.mark.parametrize(
    ("behind", "is_asked"),
    [(31, True), (0, True), (32, False), (-1, False)],
    ids=["in the loop", "first", "one more than a word has", "before"],
)
def test_a_load_behind_the_loop_asks_a_bit_of_its_words(behind: int, is_asked: bool) -> None:
    before = one_load(STEP + ITEM, 60, 32)
    load = Move(Ref(REGISTERS, lin(0)), Ref(A, lin(0), (Guard(ITEM + behind, 60), Guard(ITEM, 50))))
    before = replace(before, body=(*before.body, load))
    after = hoisted(before)
    (_, (move, loops)), (_, (other, _)) = loads(before), loads(after)
    assert (other.source.missing is not None) == is_asked
    assert len(other.source.guards) == 2 - is_asked
    assert np.array_equal(exists(after, other, loops, masks(after)), exists(before, move, loops, {}))


def test_a_load_behind_the_loop_may_ask_one_value_more() -> None:
    """Of 16 steps a word has bits to spare; another lane's guard, or another size, is none of it."""
    step = var("step", 16)
    before = one_load(step + ITEM, 60, 16)
    loads_behind = tuple(
        Move(Ref(REGISTERS, lin(0)), Ref(A, lin(0), (guard,)))
        for guard in (Guard(ITEM + 16, 60), Guard(2 * ITEM + 3, 60), Guard(ITEM + 3, 61))
    )
    before = replace(before, body=(*before.body, *loads_behind))
    after = hoisted(before)
    pairs = list(zip(loads(before), loads(after), strict=True))
    assert [two[0].source.missing is not None for _, two in pairs] == [True, True, False, False]
    for (move, loops), (other, _) in pairs:
        assert np.array_equal(exists(after, other, loops, masks(after)), exists(before, move, loops, {}))


def test_words_are_of_32_bits() -> None:
    assert any(isinstance(s, Mark) for s in walk(hoisted(one_load(STEP + ITEM, 60, 32)).body))
    longer = var("step", 33)
    assert not any(isinstance(s, Mark) for s in walk(hoisted(one_load(longer + ITEM, 60, 33)).body))


def test_what_has_few_answers_is_masked_beside_what_has_not() -> None:
    """A window of 7 x 7 has 49 places; 7 of them, of its rows or its columns, fit a word."""
    before = kernel_of(replace(CONV, y=7, x=7, h=14, w=14, pad_h=3, pad_w=3), GENERAL)
    after = hoisted(before)
    (move, loops), *_ = [(m, f) for m, f in loads(after) if m.source.missing is not None]
    (kept,) = move.source.guards
    assert kept.index.mentions(loops[0].var)
    place = loads(before)[[m.source.missing for m, _ in loads(after)].index(move.source.missing)]
    assert np.array_equal(exists(after, move, loops, masks(after)), exists(before, *place, {}))


def test_a_loop_inside_takes_a_word_a_turn() -> None:
    before = one_load(STEP // 4 + ITEM + INNER * 16, 60, 32, inner=2)
    after = hoisted(before)
    assert masks(after)["missing"].shape == (3, 64, 2)
    ((move, loops),), ((other, _),) = loads(before), loads(after)
    assert np.array_equal(exists(after, other, loops, masks(after)), exists(before, move, loops, {}))


def test_a_loop_inside_that_guards_do_not_ask_takes_no_word_more() -> None:
    before = one_load(STEP // 4 + ITEM, 60, 32, inner=2)
    after = hoisted(before)
    assert masks(after)["missing"].shape == (3, 64, 1)
    ((move, loops),), ((other, _),) = loads(before), loads(after)
    assert np.array_equal(exists(after, other, loops, masks(after)), exists(before, move, loops, {}))


def test_a_mask_has_no_loop_of_one_turn() -> None:
    axes = [Axis("word", 1), Axis("other", 2)], [Axis("bit", 3), Axis("one", 1)]
    made = Mask(REGISTERS, (Guard(STEP, 9),), *axes).statements
    assert [(s.var, s.count) for s in walk(made) if isinstance(s, For)] == [("other", 2), ("bit", 3)]


def test_names_are_new() -> None:
    taken = Buffer("missing", F32, 4, "private")
    before = one_load(STEP + ITEM, 60, 32)
    after = hoisted(replace(before, body=(Alloc(taken), *before.body)))
    names = [s.buffer.name for s in after.body if isinstance(s, Alloc)]
    assert len(names) == len(set(names)) == 3
