"""Matrix instructions as functions on private arrays: one inline function for each that a program uses."""

from __future__ import annotations

import re

from imbrex.lower.stmt import MatrixMultiply, Program, walk
from imbrex.view.mma import BUILTIN_TYPES


def wrappers(program: Program) -> list[str]:
    """The functions, in a namespace of their own; nothing where no matrix instruction is used."""
    stmts = (s for kernel in program.kernels for s in walk(kernel.body))
    used = {_signature(s): s for s in stmts if isinstance(s, MatrixMultiply)}
    if not used:
        return []
    return [
        "",
        "namespace imbrex {",
        *(line for s in used.values() for line in _wrapper(s)),
        "} // namespace imbrex",
    ]


def _signature(stmt: MatrixMultiply) -> tuple[str, ...]:
    return (stmt.instruction.name, *(r.buffer.dtype.c_name for r in (stmt.c, *stmt.read)))


def _wrapper(stmt: MatrixMultiply) -> list[str]:
    one = stmt.instruction
    name, c_type, a_type, b_type, *scale_types = _signature(stmt)
    operand, result = _type(one.builtin_operand), _type(one.builtin_result)
    held = {x: "get_first" if one.registers(x) < _words(one.builtin_operand) else "get" for x in ("a", "b")}
    taken = {
        "a": f"{held['a']}<{operand}, {one.a_elements}>(a)",
        "b": f"{held['b']}<{operand}, {one.b_elements}>(b)",
        "c": f"get<{result}, {one.c_elements}>(c)",
    }
    arguments = [taken.get(a, a) for a in one.arguments]
    scales = [f"const {kind} *scale_{x}" for kind, x in zip(scale_types, "ab", strict=False)]
    if scales:
        words = [f"int(get<word<Scales>, Scales>(scale_{x}))" for x in "ab"]
        arguments[-4:] = ["Place", words[0], "Place", words[1]]
    parameters = ", ".join([f"{c_type} *c", f"const {a_type} *a", f"const {b_type} *b", *scales])
    return [
        f"// c += a * b by all lanes of a wave: {one.mnemonic}",
        *(["// A register holds neighbouring scales, of which this takes one."] if scales else []),
        *(["template <int Scales, int Place>"] if scales else []),
        f"IMBREX_INLINE void {name}({parameters}) {{",
        f"  put(c, {one.builtin}({', '.join(arguments)}));",
        "}",
    ]


def _words(name: str) -> int:
    """Registers of a builtin's argument of ints; 0 of another."""
    return int(name.removeprefix("int") or 1) if name.startswith("int") else 0


def _type(name: str) -> str:
    """The C++ type of a builtin's argument: `half4` is a vector of four `_Float16`."""
    element, count = BUILTIN_TYPES[name], re.search(r"\d+$", name)
    return f"vec<{element}, {count.group()}>" if count else element
