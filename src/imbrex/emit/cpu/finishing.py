"""Epilogues of a CPU: a function of a vector of sums and of its place in a window, called as it is stored."""

from __future__ import annotations

from imbrex.dtype import F32, I32
from imbrex.emit import c, epilogue
from imbrex.index.expr import lin
from imbrex.index.query import pointer_step
from imbrex.lower.packed import Finishing
from imbrex.lower.stmt import Buffer, Ref, Window

__all__ = ["kind", "lines"]


def kind(sums: str, in_steps: bool = False) -> str:
    """The type of what stores sums through the function that `lines` makes."""
    return f"imbrex::finishing<{sums}, decltype(finish){', true' if in_steps else ''}>"


def lines(stmt: Finishing, window: Window) -> list[str]:
    """`finish`, which says what is stored instead of the sums of vector number `index` of a row."""
    computed, sums = stmt.computed.c_name, window.computed.c_name
    # Integers as such, not as floats: these have no 2^31 - 1.
    is_whole = not stmt.stored.is_float and stmt.computed == F32
    result = I32.c_name if is_whole else computed
    names = ("x", *(name for name, _ in stmt.arrays))
    value = epilogue.text(stmt.expression, {name: name for name in names}, stmt.computed, stmt.stored)
    parameters = ", ".join(f"{computed} {name}" for name in names)
    vectors = ["sums", *(_vector(at, stmt, window) for _, at in stmt.arrays)]
    return [
        "const auto finish = [&](",
        f"    imbrex::vec<{sums}> sums, int32_t index, int32_t {stmt.row}, imbrex::mask_t lanes)",
        "    IMBREX_INLINED {",
        f"  const int32_t {stmt.lane} = index * imbrex::width<{sums}>;",
        f"  (void){stmt.lane}, (void)lanes;",
        f"  return imbrex::each_lane<{result}>(",
        f"      []({parameters}) {{ return {epilogue.stored(value, stmt.stored)}; }},",
        *(f"      {vector}," for vector in vectors[:-1]),
        f"      {vectors[-1]});",
        "};",
    ]


def _vector(at: Ref | Buffer, stmt: Finishing, window: Window) -> str:
    """The vector of an array's elements that goes with the sums."""
    computed = stmt.computed.c_name
    if isinstance(at, Buffer):
        return f"imbrex::load_row<{computed}>({at.name}, scratch.{window.name}, index, {stmt.row})"
    name, offset = at.buffer.name, c.index(at.offset)
    if not at.guards and not at.offset.mentions(stmt.lane):
        return f"imbrex::splat({computed}(imbrex::widen({name}[{offset}])))"
    if not at.guards and pointer_step(at.offset, stmt.lane, window.lanes) == lin(1):
        return f"imbrex::load_some<{computed}>({name} + {offset}, lanes)"
    value = f"{computed}(imbrex::widen({name}[{offset}]))"
    value = f"{c.guards(at.guards)} ? {value} : {computed}(0)" if at.guards else value
    element = f"[&](int32_t {stmt.lane}) {{ return {value}; }}"
    return f"imbrex::of_each<{computed}>({stmt.lane}, lanes, {element})"
