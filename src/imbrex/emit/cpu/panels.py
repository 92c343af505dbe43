"""The CPU form of a kernel: one work item a workgroup, its copies and products calls of the device
headers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from imbrex.emit import c
from imbrex.emit.cpu import finishing, product, windows
from imbrex.index.atom import Var
from imbrex.index.expr import Lin, lin
from imbrex.index.rule import COUNT
from imbrex.lower.cpu.operands import ShortRuns
from imbrex.lower.stmt import (
    Alloc,
    Await,
    AxisOffsets,
    Barrier,
    Comment,
    Evaluate,
    Exchange,
    Fill,
    FilterSums,
    For,
    Join,
    Kernel,
    Let,
    Mark,
    MatrixMultiply,
    Meet,
    Move,
    MulAdd,
    Pack,
    PanelGemm,
    Pipeline,
    Product,
    Ref,
    Signal,
    Stmt,
    Unpack,
    View,
    Window,
    Windows,
    walk,
)


def scratch_members(kernel: Kernel) -> list[str]:
    """Panels, the tile of C, and the windows, of one thread."""
    lines: list[str] = []
    lanes = [s for s in walk(kernel.body) if isinstance(s, AxisOffsets) and s.axis == "lanes"]
    uneven = {s.window.name for s in lanes if (even := _evenly(s)) is None or even[1] != 1}
    for stmt in walk(kernel.body):
        if isinstance(stmt, Alloc):
            b = stmt.buffer
            lines.append(f"alignas(64) {b.dtype.c_name} {b.name}[{b.elements}];")
        elif isinstance(stmt, Product):
            lines += product.scratch_members(stmt)
        elif isinstance(stmt, Windows | FilterSums):
            lines.append(windows.scratch_member(stmt))
        elif isinstance(stmt, Meet):
            lines.append(f"{_view_type(stmt.window, stmt.window.name in uneven)} {stmt.window.name};")
    return list(dict.fromkeys(lines))  # products of one kernel share their memory


def function_body(kernel: Kernel) -> list[str]:
    """The body of `void kernel(workgroup, arguments, scratch)`."""
    tiles = ["const imbrex::configured_tiles tiles;"] if has_tiles(kernel) else []
    return [*tiles, *_block(kernel.body)]


def has_tiles(kernel: Kernel) -> bool:
    """Does it multiply by tiles?"""
    return any(isinstance(s, PanelGemm | Product) and s.unit.tiles is not None for s in walk(kernel.body))


def has_short_runs(kernel: Kernel) -> bool:
    """Does a product read short runs where they lie?"""
    return any(isinstance(s, Product) and isinstance(s.a, ShortRuns) for s in walk(kernel.body))


def _block(stmts: Sequence[Stmt]) -> list[str]:
    return [line for stmt in stmts for line in _statement(stmt)]


def _statement(stmt: Stmt) -> list[str]:
    match stmt:
        case Comment():
            return c.comment(stmt.text)
        case Let():
            return [c.let(stmt)]
        case Alloc():
            return []
        case For():
            return [c.loop(stmt), *c.indented(_block(stmt.body)), "}"]
        case AxisOffsets():
            return _places(stmt)
        case Meet():
            return _meet(stmt.window)
        case Pack():
            return _pack(stmt)
        case PanelGemm():
            return _panel_gemm(stmt)
        case Unpack():
            return _unpack(stmt)
        case Product():
            return product.text(stmt)
        case Windows():
            return windows.text(stmt)
        case FilterSums():
            return windows.sums_text(stmt)
        case Exchange():
            return _exchange(stmt)
        case Signal() | Await():
            return [c.flag(stmt)]
        case (
            View()
            | Fill()
            | Move()
            | Evaluate()
            | Mark()
            | MulAdd()
            | MatrixMultiply()
            | Barrier()
            | Join()
            | Pipeline()
        ):
            raise AssertionError(f"a CPU kernel has no {type(stmt).__name__}")
        case _:
            assert_never(stmt)


def _meet(window: Window) -> list[str]:
    """The sizes of its guards, and how many elements its array has."""
    sizes = [f"scratch.{window.name}.size[{i}] = {c.index(lin(x))};" for i, x in enumerate(window.sizes)]
    each = window.buffer.of_each
    elements = str(window.buffer.elements) if each is None else f"int64_t({COUNT}) * {each}"
    return [*sizes, f"scratch.{window.name}.meet({elements});"]


def _exchange(stmt: Exchange) -> list[str]:
    name = "add_tile" if stmt.adds else "copy_tile"
    return [f"imbrex::{name}({_pointer(stmt.dest)}, {_pointer(stmt.source)}, {stmt.count});"]


def _places(stmt: AxisOffsets) -> list[str]:
    guards = len(stmt.window.sizes)
    values = ", ".join(c.index(g) for g in stmt.guards)
    name = f"scratch.{stmt.window.name}"
    axis = "row" if stmt.axis == "rows" else "lane"
    comment = f"// {name.removeprefix('scratch.')}: {axis} {stmt.var}"
    if (even := _evenly(stmt)) is not None:
        at = f"{c.index(even[0])}, {even[1]}, int32_t({c.index(stmt.count)})"
        return [comment, f"{name}.set_{stmt.axis}_evenly({at});"]
    if any(stmt.var in i.variables for i in (stmt.offset, *stmt.guards, *(x.index for x in stmt.lets))):
        head = [f"const int32_t {stmt.var} = int32_t(index);"]
        signature = "int64_t index"
    else:
        head, signature = [], "int64_t"
    body = [*head, *map(c.let, stmt.lets), f"return {{{c.index(stmt.offset)}, {{{values}}}}};"]
    return [
        comment,
        f"{name}.set_{stmt.axis}(",
        f"    [&]({signature}) -> imbrex::place<{guards}> {{",
        *c.indented(body, 3),
        "    },",
        f"    0, int32_t({c.index(stmt.count)}));",
    ]


def _evenly(stmt: AxisOffsets) -> tuple[Lin, int] | None:
    """Where the axis begins, and how far neighbours on it are apart; None where that differs, or guards have
    to be known.
    """
    if stmt.window.sizes or stmt.lets:
        return None
    moving = [(atom, factor) for atom, factor in stmt.offset.terms if stmt.var in atom.variables]
    if len(moving) > 1 or any(not isinstance(atom, Var) for atom, _ in moving):
        return None
    still = tuple(term for term in stmt.offset.terms if term not in moving)
    return Lin(still, stmt.offset.const), moving[0][1] if moving else 0


def _pack(stmt: Pack) -> list[str]:
    window = f"scratch.{stmt.window.name}"
    target = f"{_pointer(stmt.dest)}, {stmt.window.buffer.name}, {window}"
    along = stmt.form == "along_lanes"
    at = c.index(stmt.panel if along else stmt.panel * stmt.width)
    name = ("lanes" if along else stmt.form) + ("" if along else f"<{stmt.width}>")
    if stmt.unit.packed > 1:
        unit = product.name_of(stmt.unit, stmt.window.computed)
        call = f"imbrex::word_panels<{unit}>::{name}({target}, {at});"
    else:
        call = f"imbrex::pack_{name}({target}, {at});"
    return [f"if ({c.guards(stmt.guards)}) {call}" if stmt.guards else call]


def _panel_gemm(stmt: PanelGemm) -> list[str]:
    kind = stmt.c.buffer.dtype.c_name
    width, unit = f"imbrex::width<{kind}>", product.name_of(stmt.unit, stmt.c.buffer.dtype)
    layout = "k_blocked" if stmt.a_is_blocked else "k_major"
    a_step = (
        f"{stmt.m} * {product.vector_of(stmt.unit, stmt.c.buffer.dtype)}"
        if stmt.a_is_blocked
        else str(stmt.m)
    )
    accumulate = "false" if stmt.first is None else f"{c.index(stmt.first.index + lin(1))} > 0"
    shape = f"{unit}, {stmt.m}, {stmt.n} / {width}, imbrex::a_layout::{layout}"
    lines = [
        f"imbrex::micro_gemm<{shape}>(",
        f"    {c.index(stmt.k)}, {_pointer(stmt.a)}, {a_step}, {_pointer(stmt.b)}, {stmt.n},",
        f"    {_pointer(stmt.c)}, {stmt.c_step}, {accumulate});",
    ]
    return [f"if ({c.guards(stmt.guards)})", *c.indented(lines)] if stmt.guards else lines


def _unpack(stmt: Unpack) -> list[str]:
    kind = stmt.tile.buffer.dtype.c_name
    name = ("store" if stmt.method == "set" else "add") + ("_transposed" if stmt.is_transposed else "_lanes")
    alpha, beta = (c.number(factor, stmt.tile.buffer.dtype) for factor in (stmt.alpha, stmt.beta))
    window, tile, by = stmt.window, f"{_pointer(stmt.tile)}, {stmt.tile_step}", f"{{{alpha}, {beta}}}"
    made = [] if stmt.finish is None else finishing.lines(stmt.finish, window)
    act = f"imbrex::scaling<{kind}>{by}" if stmt.finish is None else f"{finishing.kind(kind)}{{{by}, finish}}"
    call = f"imbrex::{name}({window.buffer.name}, {tile}, scratch.{window.name}, {act});"
    return ["{", *c.indented([*made, call]), "}"] if made else [call]


def _view_type(window: Window, is_uneven: bool) -> str:
    kind = window.computed.c_name
    panel = f"imbrex::width<{kind}>" if window.panel is None else str(window.panel)
    if not is_uneven:
        return f"imbrex::even_view<{kind}, {panel}, {window.rows}, {window.lanes}>"
    return f"imbrex::view<{kind}, {panel}, {len(window.sizes)}, {window.rows}, {window.lanes}>"


def _pointer(ref: Ref) -> str:
    offset = c.index(ref.offset)
    name = ref.buffer.name if ref.buffer.space == "global" else f"scratch.{ref.buffer.name}"
    return name if offset == "0" else f"{name} + {offset}"
