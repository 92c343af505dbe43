"""A matrix instruction as C++: its sizes, and where each lane's registers lie in its matrices.

The functions are printed from the instruction's maps.  `imbrex::multiply` (device/emulate/matrix.h) runs such
a struct over a wave.
"""

from __future__ import annotations

from imbrex.emit import c
from imbrex.index.expr import var
from imbrex.index.map import Map
from imbrex.index.query import address
from imbrex.view.mma import Instruction


def model(instruction: Instruction) -> list[str]:
    """The struct that stands for an instruction."""
    one = instruction
    held = {"a": one.a, "b": one.map("b"), "c": one.c}
    lines = [
        f"// {one.mnemonic}: A[block][m][k], B[block][k][n] and C[block][m][n], row-major, and the place in",
        "// each of what register `slot` of a lane holds; -1 where it holds nothing.",
        f"struct {one.name} {{",
        f"  static constexpr int wave = {one.wave}, blocks = {one.blocks};",
        f"  static constexpr int m = {one.m}, n = {one.n}, k = {one.k};",
    ]
    for operand, map in held.items():
        place = _place(map)
        slot = "int slot" if "slot" in place else "int"
        lines += [
            f"  static constexpr int {operand}_elements = {dict(map.upper)['register']};",
            f"  static constexpr int {operand}(int lane, {slot}) {{ return {place}; }}",
        ]
    return [*lines, *c.indented(_operand(one)), "};"]


def _place(map: Map) -> str:
    """C text of the row-major place that a lane and a register name."""
    lane, slot = (var(name, size) for name, (_, size) in zip(("lane", "slot"), map.upper, strict=True))
    point = map.at([lane, slot])
    place = c.index(address(point.coords, [d.size for d in map.lower]))
    return f"{c.guards(point.guards)} ? {place} : -1" if point.guards else place


def _operand(one: Instruction) -> list[str]:
    """How an element of A or B enters a product."""
    reads = "imbrex::xf32_of(x)" if one.a_type == "xf32" else "imbrex::widen(x)"
    return [f"template <class T> static auto operand(T x) {{ return {reads}; }}"]
