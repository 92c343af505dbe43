"""Every matrix instruction of the table, over the lanes of a wave, against a plain product.

The expected matrices come from the maps by way of NumPy, the results by way of the printed formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.unit.emit.emulate.launched import launched, program

from imbrex.dtype import DTYPES, DType
from imbrex.emit.emulate.matrix import model
from imbrex.index.expr import lin, var
from imbrex.index.map import Map
from imbrex.lower.stmt import Alloc, Buffer, For, MatrixMultiply, Move, Ref, Stmt
from imbrex.view.mma import Instruction, Operand, in_registers, instruction


@dataclass(frozen=True)
class Case:
    """An instruction, and the types of A, B and C on one of its chips."""

    one: Instruction
    types: tuple[DType, ...]

    def __str__(self) -> str:
        return "-".join(map(str, (self.one, *self.types)))


def cases() -> list[Case]:
    """Every instruction whose elements an array can have one by one, in each meaning that chips give to its
    types.
    """
    operands: tuple[Operand, ...] = ("a", "b", "c")
    named = [(one, [one.format(x, chip) for x in operands]) for one in in_registers() for chip in one.chips]
    single = {name for name, of in DTYPES.items() if of.pack == 1}
    known = [Case(one, tuple(DTYPES[n] for n in names)) for one, names in named if set(names) <= single]
    return list({str(case): case for case in known}.values())


@dataclass(frozen=True)
class Run:
    """One instruction on random registers: what each register of each lane held before and after."""

    one: Instruction
    before: dict[str, Any]
    after: Any

    def matrix(self, operand: Operand) -> Any:
        """A, B or C as the registers hold it."""
        map = self.one.map(operand)
        places, exists = lanes(map)
        out = np.zeros([d.size for d in map.lower])
        out[tuple(p[exists] for p in places)] = self.before[operand].astype(np.float64)[exists]
        return out

    @property
    def wanted(self) -> Any:
        places, exists = lanes(self.one.c)
        want = self.before["c"].astype(np.float64)
        product = self.matrix("a") @ self.matrix("b")
        want[exists] += product[tuple(p[exists] for p in places)]
        return want


def lanes(map: Map) -> tuple[list[Any], Any]:
    """The lower coordinates of each lane's registers, lane by lane, and whether it holds anything there."""
    points = np.indices([d.size for d in map.upper]).reshape(2, -1)
    coords, exists = map.evaluate(list(points))
    return [np.broadcast_to(x, points[0].shape) for x in coords], np.broadcast_to(exists, points[0].shape)


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    """Each case, with waves of one size in one program."""
    rng, found = np.random.default_rng(0), {}
    for wave in (32, 64):
        of_wave = [case for case in cases() if case.one.wave == wave]
        places = [_arguments(case, i) for i, case in enumerate(of_wave)]
        arguments = [b for buffers in places for b in buffers]
        bodies = [_body(case.one, buffers) for case, buffers in zip(of_wave, places, strict=True)]
        arrays = [rng.integers(-3, 4, b.elements).astype(b.dtype.numpy) for b in arguments]
        before = [a.copy() for a in arrays]
        launched(program(bodies, arguments, wave, {b[2].name for b in places}), arrays)
        for i, case in enumerate(of_wave):
            given = dict(zip("abc", before[3 * i :], strict=False))
            found[str(case)] = Run(case.one, given, arrays[3 * i + 2])
    return found


def _arguments(case: Case, number: int) -> list[Buffer]:
    """Arrays with the registers of all lanes, lane by lane."""
    counts = (case.one.a_elements, case.one.b_elements, case.one.c_elements)
    return [
        Buffer(f"{x}_{number}", t, case.one.wave * count, "global")
        for x, t, count in zip("abc", case.types, counts, strict=True)
    ]


def _body(one: Instruction, places: list[Buffer]) -> list[Stmt]:
    item = var("workitem", one.wave)
    registers = [Buffer(f"{b.name}_r", b.dtype, b.elements // one.wave, "private") for b in places]
    body: list[Stmt] = [Alloc(r) for r in registers]
    pairs = list(zip(registers, places, strict=True))
    for name, (own, whole) in zip("ijk", pairs, strict=True):
        i = var(name, own.elements)
        body.append(For(name, own.elements, (Move(Ref(own, i), Ref(whole, item * own.elements + i)),)))
    a, b, c = (Ref(r, lin(0)) for r in registers)
    own, whole = pairs[2]
    i = var("l", own.elements)
    back = For("l", own.elements, (Move(Ref(whole, item * own.elements + i), Ref(own, i)),))
    return [*body, MatrixMultiply(one, c, a, b), back]


@pytest.mark.parametrize("case", cases(), ids=str)
def test_product(case: Case, runs: dict[str, Run]) -> None:
    run = runs[str(case)]
    np.testing.assert_array_equal(run.after.astype(np.float64), run.wanted)


def test_exchanged_operands_show(runs: dict[str, Run]) -> None:
    """The control: B's registers in A's place give another product."""
    run = runs["mfma_f32_32x32x8_f16-f16-f16-f32"]
    before = run.before | {"a": run.before["b"], "b": run.before["a"]}
    assert (Run(run.one, before, run.after).wanted != run.after).any()


def test_formulas_are_the_maps() -> None:
    text = "\n".join(model(instruction("mfma_f32_32x32x8_f16")))
    assert "int a(int lane, int slot) { return 8 * (lane % 32) + 4 * (lane / 32) + slot; }" in text
    assert "wave = 64, blocks = 1;" in text and "m = 32, n = 32, k = 8;" in text
    assert "imbrex::xf32_of(x)" in "\n".join(model(instruction("mfma_f32_32x32x4_xf32")))


def test_one_slot_is_not_named() -> None:
    assert "int a(int lane, int) { return lane; }" in "\n".join(model(instruction("mfma_f32_4x4x1_16b_f32")))
