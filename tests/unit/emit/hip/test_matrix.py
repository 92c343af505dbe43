"""The inline function of every matrix instruction compiles to that instruction, on each chip that has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from imbrex.build.amd.code_object import compile_code_object
from imbrex.build.toolchain import WARNINGS
from imbrex.chip import gpus
from imbrex.dtype import DTYPES, dtype
from imbrex.emit.bundle import device_headers
from imbrex.emit.hip.matrix import wrappers
from imbrex.index.expr import lin
from imbrex.lower.stmt import Buffer, Kernel, MatrixMultiply, Program, Ref
from imbrex.view.mma import Instruction, instruction, instructions


def multiply(one: Instruction, chip: str) -> MatrixMultiply:
    sizes = {"c": one.c_elements, "a": one.a_elements, "b": one.b_elements}
    refs = [
        Ref(Buffer(f"{name}_", dtype(one.format(name, chip)), size, "private"), lin(0))  # type: ignore[arg-type]
        for name, size in sizes.items()
    ]
    return MatrixMultiply(one, *refs)


def program(*stmts: MatrixMultiply) -> Program:
    return Program("p", (), (Kernel("k", (), frozenset(), 1, 64, stmts),), frozenset())


def whole_bytes(chip: str) -> list[Instruction]:
    """Those whose elements have addresses of their own.  Packs come in the same instructions, in fewer
    registers than the builtin's vector has, which the compiler finds only where it optimises.
    """
    known = {name for name, of in DTYPES.items() if of.pack == 1}
    return [i for i in instructions(chip) if known.issuperset(i.format(o, chip) for o in ("a", "b", "c"))]


def unit(stmts: list[MatrixMultiply]) -> str:
    """A kernel for each statement, which fills, multiplies and stores."""
    lines = ['#include "device/hip/lds.h"', *wrappers(program(*stmts))]
    for stmt in stmts:
        kinds = {name: getattr(stmt, name).buffer.dtype.c_name for name in "cab"}
        name = stmt.instruction.name
        lines += [
            'extern "C" __global__ void __launch_bounds__(64)',
            f"k_{name}({kinds['c']} *c, const {kinds['a']} *a, const {kinds['b']} *b) {{",
            f"  imbrex::{name}(c, a, b);",
            "}",
        ]
    return "\n".join([*lines, ""])


@pytest.mark.parametrize("chip", gpus("AMD"))
def test_each_is_what_it_says(chip: str, tmp_path: Path) -> None:
    found = whole_bytes(chip)
    assert len(found) > 15
    sources = {**device_headers(chip), "all.cpp": unit([multiply(one, chip) for one in found])}
    flags = (*WARNINGS, "-Werror", "-O0")
    text = compile_code_object(sources, "all.cpp", chip, tmp_path, flags=flags).with_suffix(".s").read_text()
    bodies = dict(re.findall(r"^k_(\w+):(.*?)s_endpgm", text, re.M | re.S))
    for one in found:
        assert re.search(rf"\b{one.mnemonic_on(chip)}\b", bodies[one.name]), one.name
        assert bodies[one.name].count("v_mfma") == 1


def test_an_operand_is_whole(tmp_path: Path) -> None:
    """A buffer of another type than the instruction takes does not compile."""
    one = multiply(instruction("mfma_f32_32x32x8_f16"), "gfx942")
    wrong = MatrixMultiply(
        one.instruction, one.c, Ref(Buffer("a", DTYPES["f32"], 4, "private"), lin(0)), one.b
    )
    sources = {**device_headers("gfx942"), "one.cpp": unit([wrong])}
    with pytest.raises(Exception, match="an operand is whole"):
        compile_code_object(sources, "one.cpp", "gfx942", tmp_path)


def test_each_is_printed_once() -> None:
    one, other = (
        multiply(instruction(n), "gfx942") for n in ("mfma_f32_32x32x8_f16", "mfma_f64_16x16x4_f64")
    )
    text = "\n".join(wrappers(program(one, other, one)))
    assert text.count("IMBREX_INLINE void mfma_f32_32x32x8_f16(") == 1
    assert "get<double, 1>(a)" in text and "get<vec<double, 4>, 4>(c)" in text
    assert wrappers(program()) == []
