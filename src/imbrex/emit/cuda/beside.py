"""What an epilogue reads beside the sums, and what it makes of both, as parts of a kernel's struct.

Law: an array is loaded ahead, before the product, where its elements wait in registers that the sums leave
free; all others when the sums are complete, as many at a time as there is room for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from imbrex.dtype import F32
from imbrex.emit import c, epilogue
from imbrex.emit.cuda.geometry import ROWS, WARPGROUP, registers
from imbrex.emit.cuda.member import boolean, method
from imbrex.index.expr import var
from imbrex.index.query import moves_as_vector, pointer_step
from imbrex.index.rule import Guard
from imbrex.lower.place import Ref
from imbrex.lower.warpgroup import WarpgroupGemm
from imbrex.problem.epilogue import Call, Expression

__all__ = ["arrays", "ends_in_relu", "finishing"]

ELEMENT: Final = "int32_t batch, int32_t row, int32_t column"
WORD: Final = 4
MOST_REGISTERS: Final = 255
"""Of a lane, where the launch gives every lane as many as it can have."""
KEPT: Final = 36
"""Registers of a lane for all but its sums and what waits beside them."""
AT_A_TIME: Final = 32
"""Registers for what is loaded when the sums are complete."""


def ends_in_relu(gemm: WarpgroupGemm) -> bool:
    """Is the last step one that the conversion to C's type does on the way?"""
    return _relu(gemm) is not None


def arrays(gemm: WarpgroupGemm) -> list[str]:
    """A struct for each array: where its elements are, and what they change along."""
    return [line for name, ref in _arrays(gemm).items() for line in _array(name, ref, gemm)]


def finishing(gemm: WarpgroupGemm) -> list[str]:
    """`further`, what a lane has of all arrays, and `finished`, of one element wherever it is."""
    names, ahead = _arrays(gemm), _ahead(gemm)
    parts = {name: ("Blocks, Count" if name in ahead else f"1, {_at_a_time(gemm)}") for name in names}
    values = {name: f"{name}.value({_place(gemm, name in ahead)})" for name in names}
    loads = {
        name: f"{name}.template load<P>({name}_beside{{p.{name}}}, batch, row, column);" for name in names
    }
    elements = {n: f"imbrex::element_beside({n}_beside{{{n}}}, batch, row, column)" for n in names}
    place, own = f"const P &p, {ELEMENT}", "sum x, int32_t m, int32_t place"
    return [
        f"static constexpr int at_a_time = {_at_a_time(gemm)};",
        "template <int Blocks, int Count> struct further {",
        *(f"  imbrex::beside<{name}_beside, {size}> {name};" for name, size in parts.items()),
        f"  template <class P> IMBREX_MEMBER void load_ahead({place}) {{",
        *(f"    {loads[name]}" for name in names if name in ahead),
        "  }",
        f"  template <class P> IMBREX_MEMBER void load_here({place}) {{",
        *(f"    {loads[name]}" for name in names if name not in ahead),
        "  }",
        f"  {method('result', 'finished', own, _value(gemm, values, is_last=False))}",
        "};",
        method("result", "finished", f"sum x, {ELEMENT}", _value(gemm, elements, is_last=True)),
    ]


def _arrays(gemm: WarpgroupGemm) -> dict[str, Ref]:
    """By name.  What is read for an element that C has not is stored nowhere: so a guard of C's that says
    nothing of where the array is read is left out.
    """
    finish = gemm.c.finish
    return {} if finish is None else {name: _wanted(ref, gemm) for name, ref in finish.arrays}


def _wanted(ref: Ref, gemm: WarpgroupGemm) -> Ref:
    known = [g for g in gemm.c.guards if not g.index.variables & ref.offset.variables]
    return replace(ref, guards=tuple(g for g in ref.guards if g not in known))


def _array(name: str, ref: Ref, gemm: WarpgroupGemm) -> list[str]:
    kind, index = c.type_name(ref.buffer.dtype), c.index(ref.offset)
    step = _step(ref, gemm)
    return [
        f"struct {name}_beside {{",
        f"  typedef {kind} type;",
        f"  static constexpr bool along_rows = {boolean(_depends(ref, 'row'))};",
        f"  static constexpr bool along_columns = {boolean(_depends(ref, 'column'))};",
        f"  static constexpr int width = {2 if _are_pairs(ref, gemm) else 1};",
        f"  static constexpr bool is_affine = {boolean(step is not None)};",
        f"  static constexpr int32_t step = {step or 0};",
        f"  const {kind} *memory;",
        f"  {method('bool', 'exists', ELEMENT, c.guards(ref.guards))}",
        f"  {method(f'const {kind} *', 'at', ELEMENT, f'memory + ({index})')}",
        "};",
    ]


def _depends(ref: Ref, name: str) -> bool:
    return any(index.mentions(name) for index in (ref.offset, *(guard.index for guard in ref.guards)))


def _step(ref: Ref, gemm: WarpgroupGemm) -> int | None:
    """From a column to the next, where it is as far everywhere."""
    size = gemm.column_tiles * gemm.columns
    found = pointer_step(ref.offset, "column", size)
    return found.const if found.is_constant else None


def _are_pairs(ref: Ref, gemm: WarpgroupGemm) -> bool:
    """Are two neighbouring columns, from an even one on, one access?"""
    lane = var("lane", 2)
    moved = {"column": var("pair", gemm.column_tiles * gemm.columns // 2) * 2 + lane}
    return moves_as_vector(
        ref.offset.subs(moved), [Guard(g.index.subs(moved), g.size) for g in ref.guards], lane, 2
    )


def _ahead(gemm: WarpgroupGemm) -> set[str]:
    """The arrays that are the same in all rows or in all columns, as many as there is room for."""
    consumers, found = 1 if gemm.pingpong else gemm.consumers, set[str]()
    blocks, arrays = gemm.rows // ROWS // consumers, _arrays(gemm)
    whole = {name for name, ref in arrays.items() if _depends(ref, "row") and _depends(ref, "column")}
    room = (registers(gemm)[1] or MOST_REGISTERS) - KEPT - blocks * ROWS * gemm.columns // WARPGROUP
    room -= AT_A_TIME * bool(whole)
    for name in (name for name in arrays if name not in whole):
        size = arrays[name].buffer.dtype.bytes
        is_pairs = _depends(arrays[name], "column")
        taken = -(-2 * size // WORD) * gemm.stored_columns // 8 if is_pairs else -(-size // WORD) * 2 * blocks
        if taken <= room:
            room, found = room - taken, found | {name}
    return found


def _at_a_time(gemm: WarpgroupGemm) -> int:
    """Sums whose further elements are loaded together: a lane's of whole 8 columns."""
    groups, late = gemm.stored_columns // 8, len(_arrays(gemm)) - len(_ahead(gemm))
    most = AT_A_TIME * WORD // max(gemm.c.buffer.dtype.bytes, 2) // 4 // max(late, 1)
    return 4 * max(count for count in range(1, most + 1) if groups % count == 0)


def _place(gemm: WarpgroupGemm, is_ahead: bool) -> str:
    return "m, place" if is_ahead else f"0, place % {_at_a_time(gemm)}"


def _relu(gemm: WarpgroupGemm) -> Expression | None:
    """What relu is the last step of, where the conversion to halves does it: relu and rounding exchange."""
    finish = gemm.c.finish
    if finish is None or gemm.c.buffer.dtype.name not in ("f16", "bf16"):
        return None
    match finish.expression:
        case Call("relu", (before,)):
            return before
        case _:
            return None


def _value(gemm: WarpgroupGemm, values: dict[str, str], *, is_last: bool) -> str:
    """What becomes of a sum; is_last: no conversion does anything to it."""
    finish = gemm.c.finish
    if finish is None:
        return "x"
    before = None if is_last else _relu(gemm)
    text = epilogue.text(before or finish.expression, {"x": "float(x)", **values}, F32)
    return epilogue.stored(text, gemm.c.buffer.dtype)
