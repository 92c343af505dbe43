"""A matrix instruction as C++: its sizes, and where each lane's registers lie in its matrices.

The functions are printed from the instruction's maps.  `imbrex::multiply` (device/emulate/matrix.h) runs such
a struct over a wave.
"""

from __future__ import annotations

from imbrex.dtype import DTYPES, F32, SCALED
from imbrex.emit import c
from imbrex.index.digits import row_major
from imbrex.index.expr import var
from imbrex.index.map import Map
from imbrex.view.mma import Instruction
from imbrex.view.mma import instruction as table_instruction


def model(instruction: Instruction, flushes_halves: bool = False, is_scaled: bool = False) -> list[str]:
    """The struct that stands for an instruction.

    flushes_halves: of a GPU where those of halves take subnormal operands, and make subnormal sums, zeros.
    is_scaled: do its products have scales?
    """
    one = table_instruction(instruction.name)  # of packs, which are read one by one, the single elements
    held = {"a": one.a, "b": one.map("b"), "c": one.c}
    lines = [
        f"// {one.mnemonic}: A[block][m][k], B[block][k][n] and C[block][m][n], row-major, and the offset in",
        "// each of what register `slot` of a lane holds; -1 where it holds nothing.",
        f"struct {one.name} {{",
        f"  static constexpr int wave = {one.wave}, blocks = {one.blocks};",
        f"  static constexpr int m = {one.m}, n = {one.n}, k = {one.k};",
    ]
    for operand, map in held.items():
        offset = _row_major(map)
        slot = "int slot" if "slot" in offset else "int"
        lines += [
            f"  static constexpr int {operand}_elements = {dict(map.upper)['register']};",
            f"  static constexpr int {operand}(int lane, {slot}) {{ return {offset}; }}",
        ]
    sides = (("a", "row", one.scale_a), ("b", "column", one.scale_b)) if is_scaled else ()
    for operand, line, map in sides:
        assert map is not None, f"{one.name} takes no scales"
        lines += [
            f"  // The scale of a lane is that of {SCALED} neighbours along k, of one {line}.",
            f"  static constexpr int scale_{operand}(int lane, int) {{ return {_row_major(map)}; }}",
        ]
    return [*lines, *c.indented(_values(one, flushes_halves)), "};"]


def _row_major(map: Map) -> str:
    """C text of the row-major offset that a lane and a register name."""
    lane, slot = (var(name, size) for name, (_, size) in zip(("lane", "slot"), map.upper, strict=True))
    point = map.at([lane, slot])
    offset = c.index(row_major(point.coords, [d.size for d in map.lower]))
    return f"{c.guards(point.guards)} ? {offset} : -1" if point.guards else offset


def _values(one: Instruction, flushes_halves: bool) -> list[str]:
    """How an element of A or B enters a product, and how a sum leaves."""
    reads, sums = "imbrex::xf32_of(x)" if one.a_type == "xf32" else "imbrex::widen(x)", "x"
    of = DTYPES.get(one.a_type)
    if flushes_halves and of is not None and of.is_half:
        reads = f"imbrex::flushed({reads}, {c.number(of.smallest_normal, F32)})"
        sums = f"imbrex::flushed(x, {c.number(F32.smallest_normal, F32)})"
    return [
        f"template <class T> static auto operand(T x) {{ return {reads}; }}",
        f"template <class T> static T sum(T x) {{ return {sums}; }}",
    ]
