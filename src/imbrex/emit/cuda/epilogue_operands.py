"""What an epilogue reads beside the sums, and what it makes of both, as parts of a kernel's struct.

Law: an array is loaded ahead, before the product, where its elements wait in registers that the sums leave
free; all others when the sums are complete, as many at a time as there is room for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, assert_never

from imbrex.dtype import F32
from imbrex.emit import c, epilogue
from imbrex.emit.cuda.layout import registers, staging
from imbrex.emit.cuda.member import ELEMENT, are_of_count, boolean, method
from imbrex.index.expr import var
from imbrex.index.query import moves_as_vector, pointer_step
from imbrex.index.rule import COUNT, Guard
from imbrex.lower.buffer import Ref
from imbrex.lower.warpgroup.parts import (
    PingPong,
    SplitColumns,
    SplitRows,
    SplitSteps,
    Streams,
)
from imbrex.lower.warpgroup.pipeline import Pipeline
from imbrex.problem.epilogue import Call, Expression, Name, walk
from imbrex.view.mma.hopper import ROWS

__all__ = ["arrays", "ends_in_relu", "finishing"]

WORD: Final = 4
KEPT: Final = 36
"""Registers of a lane for all but its sums and what waits beside them."""
AT_A_TIME: Final = 32
"""Registers for what is loaded when the sums are complete."""


def ends_in_relu(pipeline: Pipeline) -> bool:
    """Is the last step one that the conversion to C's type does on the way?"""
    return _relu(pipeline) is not None


def arrays(pipeline: Pipeline) -> list[str]:
    """A struct for each array: where its elements are, and what they change along."""
    return [line for name, ref in _arrays(pipeline).items() for line in _array(name, ref, pipeline)]


def finishing(pipeline: Pipeline) -> list[str]:
    """`further`, what a lane has of all arrays, and `finished`, of one element wherever it is."""
    names, ahead = _arrays(pipeline), _ahead(pipeline)
    parts = {name: ("Blocks, Count" if name in ahead else f"1, {_at_a_time(pipeline)}") for name in names}
    values = {name: f"{name}.value({'m, number' if name in ahead else '0, loaded'})" for name in names}
    loads = {
        name: f"{name}.template load<P>({name}_beside{{{_given(name, pipeline, 'p.')}}}, batch, row, column);"
        for name in names
    }
    elements = {
        n: f"imbrex::element_beside({n}_beside{{{_given(n, pipeline)}}}, batch, row, column)" for n in names
    }
    parameters, own = f"const P &p, {ELEMENT}", "sum x, int32_t m, int32_t number, int32_t loaded"
    late = [name for name in names if name not in ahead]
    return [
        f"static constexpr int at_a_time = {_at_a_time(pipeline)};",
        "template <int Blocks, int Count> struct further {",
        *(f"  imbrex::beside<{name}_beside, {size}> {name};" for name, size in parts.items()),
        f"  template <class P> IMBREX_MEMBER void load_ahead({parameters}) {{",
        *(f"    {loads[name]}" for name in names if name in ahead),
        "  }",
        f"  template <class P> IMBREX_MEMBER void load_here({parameters}) {{",
        *(f"    {loads[name]}" for name in late),
        "  }",
        f"  {method('result', 'finished', own, _value(pipeline, values, is_last=False))}",
        *_keeping(pipeline, parameters, [loads[name] for name in late if name in _kept_names(pipeline)]),
        *(f"  {line}" for line in _kept(pipeline, own, values)),
        "};",
        method("result", "finished", f"sum x, {ELEMENT}", _value(pipeline, elements, is_last=True)),
        *_kept(pipeline, f"sum x, {ELEMENT}", elements),
    ]


def _kept_names(pipeline: Pipeline) -> set[str]:
    """Names in what is kept."""
    kept = pipeline.c.kept
    return set() if kept is None else {n.name for n in walk(kept.expression) if isinstance(n, Name)}


def _keeping(pipeline: Pipeline, parameters: str, loads: Sequence[str]) -> list[str]:
    """`load_kept`, of the arrays that are late and that what is kept reads."""
    if pipeline.c.kept is None:
        return []
    lines = [f"template <class P> IMBREX_MEMBER void load_kept({parameters}) {{", *c.indented(loads), "}"]
    return [*c.indented(lines)]


def _kept(pipeline: Pipeline, parameters: str, values: dict[str, str]) -> list[str]:
    """`finished_kept`, what is kept of a sum."""
    if pipeline.c.kept is None:
        return []
    value = epilogue.stored(_kept_text(pipeline, values), pipeline.c.buffer.dtype)
    return [method("result", "finished_kept", parameters, value)]


def _kept_text(pipeline: Pipeline, values: dict[str, str]) -> str:
    kept = pipeline.c.kept
    assert kept is not None
    return epilogue.text(kept.expression, {"x": "float(x)", **values}, F32, pipeline.c.buffer.dtype)


def _arrays(pipeline: Pipeline) -> dict[str, Ref]:
    """Arrays by name.  What is read for an element that C has not is stored nowhere: so a guard of C's that
    says nothing of where the array is read is left out.
    """
    finish = pipeline.c.finish
    return {} if finish is None else {name: _wanted(ref, pipeline) for name, ref in finish.arrays}


def _given(name: str, pipeline: Pipeline, of: str = "") -> str:
    """What the struct of an array is made of.  of: the kernel, where it stands outside."""
    is_open = are_of_count(_arrays(pipeline)[name].guards)
    return f"{of}{name}, {of}{COUNT}" if is_open else f"{of}{name}"


def _wanted(ref: Ref, pipeline: Pipeline) -> Ref:
    known = [g for g in pipeline.c.guards if not g.index.variables & ref.offset.variables]
    return replace(ref, guards=tuple(g for g in ref.guards if g not in known))


def _array(name: str, ref: Ref, pipeline: Pipeline) -> list[str]:
    kind, index = ref.buffer.dtype.c_name, c.index(ref.offset)
    step = _step(ref, pipeline)
    return [
        f"struct {name}_beside {{",
        f"  typedef {kind} type;",
        f"  static constexpr bool along_rows = {boolean(_depends(ref, 'row'))};",
        f"  static constexpr bool along_columns = {boolean(_depends(ref, 'column'))};",
        f"  static constexpr int width = {2 if _are_pairs(ref, pipeline) else 1};",
        f"  static constexpr bool is_affine = {boolean(step is not None)};",
        f"  static constexpr int32_t step = {step or 0};",
        f"  const {kind} *memory;",
        *([f"  int32_t {COUNT};"] if are_of_count(ref.guards) else []),
        f"  {method('bool', 'exists', ELEMENT, c.guards(ref.guards))}",
        f"  {method(f'const {kind} *', 'at', ELEMENT, f'memory + ({index})')}",
        "};",
    ]


def _depends(ref: Ref, name: str) -> bool:
    return any(index.mentions(name) for index in (ref.offset, *(guard.index for guard in ref.guards)))


def _step(ref: Ref, pipeline: Pipeline) -> int | None:
    """Elements from a column to the next, where it is as far everywhere."""
    size = pipeline.tiles.column_tiles * pipeline.tiles.columns
    found = pointer_step(ref.offset, "column", size)
    return found.const if found.is_constant else None


def _are_pairs(ref: Ref, pipeline: Pipeline) -> bool:
    """Are two neighbouring columns, from an even one on, one access?"""
    lane = var("lane", 2)
    moved = {"column": var("pair", pipeline.tiles.column_tiles * pipeline.tiles.columns // 2) * 2 + lane}
    return moves_as_vector(
        ref.offset.subs(moved), [Guard(g.index.subs(moved), g.size) for g in ref.guards], lane, 2
    )


def _ahead(pipeline: Pipeline) -> set[str]:
    """The arrays that are the same in all rows or in all columns, as many as there is room for."""
    blocks, arrays, found = _blocks(pipeline), _arrays(pipeline), set[str]()
    whole = {name for name, ref in arrays.items() if _depends(ref, "row") and _depends(ref, "column")}
    free_registers = (registers(pipeline)[1] or pipeline.machine.vector_registers) - KEPT
    free_registers -= pipeline.sums.registers + AT_A_TIME * bool(whole)
    for name in (name for name in arrays if name not in whole):
        size = arrays[name].buffer.dtype.bytes
        is_pairs = _depends(arrays[name], "column")
        taken = (
            -(-2 * size // WORD) * pipeline.stored_columns // 8 if is_pairs else -(-size // WORD) * 2 * blocks
        )
        if taken <= free_registers:
            free_registers, found = free_registers - taken, found | {name}
    return found


def _blocks(pipeline: Pipeline) -> int:
    """Blocks of 64 rows for which arrays wait at a time."""
    match team := pipeline.team:
        case SplitRows(consumers):
            return pipeline.tiles.rows // ROWS // consumers
        case PingPong():
            return pipeline.tiles.rows // ROWS
        case SplitColumns() | SplitSteps() | Streams():
            return 1
        case _:
            assert_never(team)


def _at_a_time(pipeline: Pipeline) -> int:
    """Sums whose further elements are loaded together: a lane's of whole 8 columns of a piece."""
    groups = staging(pipeline).columns // 8
    late = len(_arrays(pipeline)) - len(_ahead(pipeline))
    most = AT_A_TIME * WORD // max(pipeline.c.buffer.dtype.bytes, 2) // 4 // max(late, 1)
    return 4 * max(count for count in range(1, most + 1) if groups % count == 0)


def _relu(pipeline: Pipeline) -> Expression | None:
    """What relu is the last step of, where the conversion to halves does it: relu and rounding exchange."""
    finish = pipeline.c.finish
    if finish is None or not pipeline.c.buffer.dtype.is_half:
        return None
    match finish.expression:
        case Call("relu", (before,)):
            return before
        case _:
            return None


def _value(pipeline: Pipeline, values: dict[str, str], *, is_last: bool) -> str:
    """What becomes of a sum; is_last: no conversion does anything to it."""
    finish = pipeline.c.finish
    if finish is None:
        return "x"
    stored = pipeline.c.buffer.dtype
    before = None if is_last else _relu(pipeline)
    if finish.kept is not None:
        values = {**values, finish.kept.name: _kept_text(pipeline, values)}
    text = epilogue.text(before or finish.expression, {"x": "float(x)", **values}, F32, stored)
    return epilogue.stored(text, stored)
