"""Epilogues of a CPU: a function of a vector of sums and of its place in a window, called as it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from imbrex.dtype import F32, I32, DType
from imbrex.emit import c, epilogue
from imbrex.index.expr import lin
from imbrex.index.query import pointer_step
from imbrex.lower.cpu.packed import Finishing, Keeping
from imbrex.lower.stmt import Buffer, Ref, Window
from imbrex.problem.epilogue import Expression, Name, walk

__all__ = ["kind", "lines"]

KEPT: Final = "kept"
"""The vector of what is stored besides."""


def kind(sums: str, in_steps: bool = False) -> str:
    """The type of what stores sums through the function that `lines` makes."""
    return f"imbrex::finishing<{sums}, decltype(finish){', true' if in_steps else ''}>"


def lines(stmt: Finishing, window: Window) -> list[str]:
    """`finish`, which says what is stored instead of the sums of vector number `index` of a row."""
    sums = window.computed.c_name
    vectors = {"x": "sums"} | {name: _vector(at, stmt, window) for name, at in stmt.arrays}
    kept = [] if stmt.kept is None else _keeping(stmt.kept, stmt, window, vectors)
    if stmt.kept is not None:
        vectors = _named(stmt.expression, {**vectors, stmt.kept.name: KEPT})
    made = _made(stmt.expression, vectors, stmt, _result(stmt), stmt.stored)
    return [
        "const auto finish = [&](",
        f"    imbrex::vec<{sums}> sums, int32_t index, int32_t {stmt.row}, imbrex::mask_t lanes)",
        "    IMBREX_INLINED {",
        f"  const int32_t {stmt.lane} = index * imbrex::width<{sums}>;",
        f"  (void){stmt.lane}, (void)lanes;",
        *kept,
        f"  return {made[0]}",
        *(f"    {line}" for line in made[1:]),
        "};",
    ]


def _result(stmt: Finishing) -> str:
    """The type of what is stored, in a vector: integers as such, not as floats, which have no 2^31 - 1."""
    is_whole = not stmt.stored.is_float and stmt.computed == F32
    return I32.c_name if is_whole else stmt.computed.c_name


def _named(expression: Expression, vectors: Mapping[str, str]) -> dict[str, str]:
    """The vectors that an expression names."""
    names = {node.name for node in walk(expression) if isinstance(node, Name)}
    return {name: vector for name, vector in vectors.items() if name in names}


def _made(
    expression: Expression, vectors: Mapping[str, str], stmt: Finishing, result: str, stored: DType
) -> list[str]:
    """A vector of an expression's values, as elements of what is stored."""
    computed = stmt.computed.c_name
    parameters = ", ".join(f"{computed} {name}" for name in vectors)
    value = epilogue.text(expression, {name: name for name in vectors}, stmt.computed, stored)
    *others, last = vectors.values()
    return [
        f"imbrex::each_lane<{result}>(",
        f"  []({parameters}) {{ return {epilogue.stored(value, stored)}; }},",
        *(f"  {vector}," for vector in others),
        f"  {last});",
    ]


def _keeping(kept: Keeping, stmt: Finishing, window: Window, vectors: Mapping[str, str]) -> list[str]:
    """The vector that is kept, and the store of it."""
    of = _named(kept.expression, vectors) or {"x": "sums"}
    kind = stmt.stored if stmt.stored.is_float else stmt.computed
    first, *more = _made(kept.expression, of, stmt, stmt.computed.c_name, kind)
    found = [f"  const auto {KEPT} = {first}", *(f"    {line}" for line in more)]
    value, result, at = KEPT, _result(stmt), kept.at
    if not stmt.stored.is_float:
        value = f"{KEPT}_stored"
        first, *more = _made(Name(kept.name), {kept.name: KEPT}, stmt, result, stmt.stored)
        found += [f"  const auto {value} = {first}", *(f"    {line}" for line in more)]
    if isinstance(at, Buffer):
        view, scaling = f"scratch.{window.name}", f"imbrex::scaling<{result}>{{1, 0}}"
        row = f"{at.name}, {value}, {view}, index, {stmt.row}, {scaling}"
        return [*found, f"  imbrex::storing::row<{result}>({row});"]
    assert not at.guards, f"what is kept exists where the result does: {at}"
    name, offset = at.buffer.name, c.index(at.offset)
    if pointer_step(at.offset, stmt.lane, window.lanes) == lin(1):
        return [*found, f"  imbrex::store_some<{result}>({name} + {offset}, {value}, lanes);"]
    place = f"[&](int32_t {stmt.lane}) {{ return {offset}; }}"
    return [*found, f"  imbrex::store_each<{result}>({name}, {stmt.lane}, lanes, {value}, {place});"]


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
