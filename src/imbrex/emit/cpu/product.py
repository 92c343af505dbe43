"""A whole CPU tile as one call of the device's product: operands as the types that say where their panels
come from.
"""

from __future__ import annotations

from imbrex.dtype import DType
from imbrex.emit import c
from imbrex.emit.cpu import finishing
from imbrex.index.expr import lin
from imbrex.lower.cpu.operands import CopiedRuns, ShortRuns, TilesInPlace
from imbrex.lower.stmt import InPlace, Product, RunsInPlace
from imbrex.view.mma.vector import FMA, CpuUnit

_KEPT = "scratch.kept_b, scratch.counts_b"
"""Rows of each panel of B that are kept, and how many."""


def name_of(unit: CpuUnit, sums: DType) -> str:
    """What the device headers call the unit: a multiply-add by its type."""
    return sums.c_name if unit == FMA else f"imbrex::{unit}"


def vector_of(unit: CpuUnit, sums: DType) -> str:
    """How many elements along k fill a vector."""
    return f"imbrex::{'width' if unit == FMA else 'k_width'}<{name_of(unit, sums)}>"


def scratch_members(stmt: Product) -> list[str]:
    """Packing buffers: a panel of each operand that stays, all panels of one that streams, last columns,
    a tile of C.
    """
    sums = stmt.c.computed
    kind, width, k = _held(stmt).c_name, f"imbrex::width<{sums.c_name}>", _padded_k(stmt)
    m, n = max(stmt.m_sizes), max(stmt.n_sizes)
    panels = f"imbrex::round_up({n}, {stmt.lanes})" if stmt.stationary == "a" else str(stmt.lanes)
    rows = f"imbrex::round_up({m if stmt.c_is_transposed else stmt.rows}, {width})"
    columns = f"imbrex::round_up({n}, {stmt.lanes})"
    started = [f"alignas(64) int32_t start[{columns}];"]
    kept = [f"alignas(64) {sums.c_name} kept_c[{m} * {columns}];"]
    listed = [
        f"int32_t kept_b[{stmt.k} * ({panels}) / {stmt.lanes}];",
        f"int32_t counts_b[({panels}) / {stmt.lanes}];",
    ]
    return [
        *_a_members(stmt, kind, k),
        f"alignas(64) {kind} panels_b[{k} * {panels}];",
        f"alignas(64) {kind} columns_b[{k} * {width}];",
        f"alignas(64) {sums.c_name} tile_c[{rows} * {stmt.lanes}];",
        *(kept if stmt.keeps_sums else []),
        *(listed if stmt.leaves_out else []),
        *(started if stmt.unit.is_shifted else []),
    ]


def text(stmt: Product) -> list[str]:
    """The call, once for each extent of the tile that a workgroup can meet."""
    unit, b = _unit(stmt), stmt.b
    width = f"imbrex::width<{stmt.c.computed.c_name}>"
    has_runs, count = isinstance(stmt.a, RunsInPlace), f", {_k(stmt)}" if _is_counted(stmt) else ""
    zeros = [f"for (auto &zero : scratch.zeros_a) zero = {_zero(stmt)};"] if has_runs else []
    found = _found_columns(stmt)
    last = _columns(stmt) if found is None else ", columns.value"
    shape = f"{unit}, rows, {stmt.lanes} / {width}, {_height(stmt)}, N.value, {stmt.k}{last}"
    kind = f"imbrex::open_columns<{unit}, {stmt.lanes} / {width}, {_height(stmt)}, {stmt.k}{_columns(stmt)}>"
    ends = "columns" if stmt.open == "n" else "0, product::n_panels"
    operand_b = "shifted_b" if stmt.unit.is_shifted else "operand_b"
    body = [
        *zeros,
        f"constexpr int rows = imbrex::{_shared_by(stmt)}(M.value, {stmt.rows});",
        f"typedef imbrex::{'open_product' if stmt.open == 'n' else 'product'}<{shape}> product;",
        *([f"const {kind} columns(n_count);"] if stmt.open == "n" else []),
        _a(stmt),
        *_b(stmt),
        *_shifted(stmt),
        *_c(stmt),
        f"product::{stmt.stationary}_stays(",
        f"    0, {_m_end(stmt)}, {ends}, operand_a, {operand_b}, operand_c{count});",
    ]
    if found is not None:
        body = [f"{found}, [&](auto columns) {{", *c.indented(body), "});"]
    assert b.buffer.space == "global"
    made = [] if stmt.finish is None else finishing.lines(stmt.finish, stmt.c)
    lines = [*made, f"const int32_t m_count = {c.index(stmt.m_count)}, n_count = {c.index(stmt.n_count)};"]
    lines += ["const auto run = [&](auto M, auto N) {", *c.indented(body), "};"]
    for m in stmt.m_sizes[:1] if stmt.open == "m" else stmt.m_sizes:
        for n in stmt.n_sizes[:1] if stmt.open == "n" else stmt.n_sizes:
            call = f"run(imbrex::extent<{m}>{{}}, imbrex::extent<{n}>{{}});"
            met = [f"m_count == {m}"] if stmt.open != "m" else []
            met += [f"n_count == {n}"] if stmt.open != "n" else []
            lines.append(f"if ({' && '.join(met)}) {call}")
    return lines


def _height(stmt: Product) -> str:
    """Rows of the tile; of a run-time number, the most, in whole panels."""
    return "imbrex::round_up(M.value, rows)" if stmt.open == "m" else "M.value"


def _m_end(stmt: Product) -> str:
    """The end of the panels of A."""
    if stmt.open != "m":
        return "product::m_panels"
    most, least = stmt.m_sizes
    ends = f"{least}, {most}" if _found_columns(stmt) is None else "columns.least, columns.most"
    return f"imbrex::open_rows<rows, imbrex::least_height(rows, {ends})>(m_count)"


def _k(stmt: Product) -> str:
    """How many k there are: where K has several steps, the last may have fewer, as B's window knows."""
    if not _is_counted(stmt):
        return str(stmt.k)
    return f"scratch.{stmt.b.name}.{'lanes' if stmt.b_is_transposed else 'rows'}"


def _first_k(stmt: Product) -> str:
    """How many k the first step has, of a run-time number: no step of a fixed number has more."""
    return _k(stmt) if stmt.step is None else f"{stmt.step} == 0 ? int64_t({_k(stmt)}) : {stmt.k}"


def _is_counted(stmt: Product) -> bool:
    """Are there fewer k than the most, in a last step or of a run-time size?"""
    return stmt.step is not None or stmt.open == "k"


def _shared_by(stmt: Product) -> str:
    """How many rows a panel has: as many as all others; of tiles, or of a run-time size, the most."""
    return "balanced" if stmt.unit.tiles is None and stmt.open != "m" else "at_most"


def _columns(stmt: Product) -> str:
    """How last columns come to lie along k; not where A hands out no rows, nor for tiles, which sum none."""
    has_none = isinstance(stmt.a, InPlace) and stmt.a.is_transposed
    has_none |= isinstance(stmt.a, RunsInPlace) and stmt.a.chunk is not None
    has_none |= isinstance(stmt.a, ShortRuns)
    if has_none or stmt.unit.tiles is not None:
        return ""
    return f", imbrex::along_k::{'rows' if stmt.b_is_transposed else 'elements'}"


def _found_columns(stmt: Product) -> str | None:
    """The call that finds how last columns are summed, where a run-time size decides it: k, or rows, which
    share what B's way to columns costs.
    """
    of = f"{_unit(stmt)}{_columns(stmt)}"
    if stmt.open == "k" and _columns(stmt):
        return f"imbrex::with_columns<{of}, M.value, N.value>({_first_k(stmt)}"
    if stmt.open == "m" and _columns(stmt) and not stmt.b_is_transposed:
        return f"imbrex::with_columns_of<{of}, {stmt.m_sizes[1]}, M.value, N.value, {stmt.k}>(m_count"
    return None


def _shifted(stmt: Product) -> list[str]:
    """What a shifted A makes the sums of B's columns be asked for."""
    if not stmt.unit.is_shifted:
        return []
    rest = f"operand_b, {_k(stmt)}, scratch.start"
    return [f"imbrex::b_shifted<{_unit(stmt)}, {stmt.lanes}, decltype(operand_b)> shifted_b{{{rest}}};"]


def _a(stmt: Product) -> str:
    unit = _unit(stmt)
    if isinstance(stmt.a, InPlace):
        offset = c.index(stmt.a.base.offset)
        at = stmt.a.base.buffer.name + ("" if offset == "0" else f" + {offset}")
        if stmt.a.is_transposed and not stmt.a.is_copied:
            return f"imbrex::a_columns_in_place<{unit}> operand_a{{{at}, {stmt.a.pitch}}};"
        if stmt.a.is_transposed:
            rows = "m_count" if stmt.open == "m" else "M.value"
            rest = f"{stmt.a.pitch}, {_k(stmt)}, {rows}, scratch.panels_a"
            return f"{_columns_of(stmt)} operand_a({at}, {rest});"
        if _may_copy(stmt):
            rest = f"{stmt.a.pitch}, {_k(stmt)}, scratch.rows_a"
            return f"imbrex::a_in_lines<{unit}, {stmt.k}> operand_a{{{at}, {rest}}};"
        return f"imbrex::a_in_place<{unit}> operand_a{{{at}, {stmt.a.pitch}}};"
    if isinstance(stmt.a, RunsInPlace):
        window = f"scratch.{stmt.a.window.name}"
        tables = f"scratch.runs_a, scratch.zeros_a, {stmt.a.run}, scratch.passed_a"
        rest = f"{stmt.a.window.buffer.name}, {window}, {tables}"
        chunk = "" if stmt.a.chunk is None else f", {stmt.a.chunk}"
        return f"imbrex::a_runs_in_place<{unit}, decltype({window}){chunk}> operand_a{{{rest}}};"
    if isinstance(stmt.a, CopiedRuns | TilesInPlace):
        window = f"scratch.{stmt.a.window.name}"
        form = "copied_runs" if isinstance(stmt.a, CopiedRuns) else "tiles_in_place"
        kind = f"imbrex::a_{form}<{unit}, decltype({window}), {stmt.a.run}, {stmt.k}>"
        return f"{kind} operand_a({stmt.a.window.buffer.name}, {window}, scratch.rows_a);"
    if isinstance(stmt.a, ShortRuns):
        window, name = f"scratch.{stmt.a.window.name}", stmt.a.window.buffer.name
        kind = f"imbrex::a_short_runs_in_place<{unit}, decltype({window}), {_runs_of(stmt.a)}, {stmt.rows}>"
        return f"{kind} operand_a({name}, {window}, scratch.runs_a);"
    window = f"scratch.{stmt.a.name}"
    source = f"{unit}, {stmt.a.buffer.dtype.c_name}, decltype({window})"
    given = f"{stmt.a.buffer.name}, {window}, scratch.panel_a"
    if stmt.packs_a_once:
        return f"imbrex::a_packed_once<{source}> operand_a({given}, {_padded_k(stmt)});"
    return f"imbrex::a_packing<{source}> operand_a{{{given}}};"


def _b(stmt: Product) -> list[str]:
    unit = _unit(stmt)
    window, name = f"scratch.{stmt.b.name}", stmt.b.buffer.name
    types = f"{stmt.b.buffer.dtype.c_name}, decltype({window})"
    packed = f"{name}, {window}, scratch.panels_b, scratch.columns_b"
    source = "operand_b" if stmt.stationary == "b" else "packing_b"
    if isinstance(stmt.a, ShortRuns) and stmt.a.run % stmt.unit.packed:
        is_rows = "true" if stmt.b_is_transposed else "false"
        of = f"{unit}, {stmt.lanes}, {types}, {_runs_of(stmt.a)}, {is_rows}"
        made = f"imbrex::b_short_runs<{of}> {source}{{{name}, {window}, scratch.panels_b}};"
    elif stmt.b_is_transposed:
        made = f"imbrex::b_rows<{unit}, {stmt.lanes}, {types}> {source}{{{packed}}};"
    else:
        in_place = "true" if stmt.b_in_place else "false"
        kind = f"imbrex::b_lanes<{unit}, {types}>"
        made = f"{kind} {source}{{{packed}, {in_place}}};"
        if stmt.leaves_out:
            made = f"imbrex::b_some_lanes<{unit}, {types}> {source}({kind}{{{packed}, {in_place}}}, {_KEPT});"
    if stmt.stationary == "b":
        return [made]
    step, some = f"{_padded_k(stmt)} * {stmt.lanes}", "_some" if stmt.leaves_out else ""
    return [
        made,
        f"packing_b.pack_all(scratch.panels_b, {step}, {_panels(stmt)});",
        f"imbrex::b{some}_packed<{unit}, {stmt.lanes}, decltype(packing_b)> operand_b{{",
        f"    packing_b, scratch.panels_b, {step}}};",
    ]


def _panels(stmt: Product) -> str:
    """How many panels B has."""
    if stmt.open == "n":
        return "columns.whole + (columns.tail > 0)"
    return "product::whole + (product::tail > 0)"


def _a_members(stmt: Product, kind: str, k: str) -> list[str]:
    match stmt.a:
        case InPlace(is_transposed=True, is_copied=True):
            return [f"alignas(64) {kind} panels_a[{_columns_of(stmt)}::elements];"]
        case InPlace() | CopiedRuns() | TilesInPlace() if _may_copy(stmt):
            tiles = f"imbrex::rows_of_tiles<{_unit(stmt)}, {stmt.k}>"
            return [f"alignas(64) {kind} rows_a[{tiles}::elements<{stmt.rows}>];"]
        case InPlace():
            return []
        case RunsInPlace(run=run):
            return [
                f"const {kind} *runs_a[{stmt.k // run + 1} * {stmt.rows}];",
                f"alignas(64) {kind} zeros_a[{run}];",
                f"int32_t passed_a[{stmt.k // run + 1}];",
            ]
        case ShortRuns():
            unit = _unit(stmt)
            return [f"imbrex::short_runs_room<{unit}, {_runs_of(stmt.a)}, {stmt.rows}> runs_a;"]
        case _:
            rows = f"imbrex::round_up({max(stmt.m_sizes)}, {stmt.rows})"
            return [f"alignas(64) {kind} panel_a[{k} * {rows if stmt.packs_a_once else stmt.rows}];"]


def _runs_of(a: ShortRuns) -> str:
    """How long they are, and how many."""
    return f"{a.run}, {a.count}"


def _columns_of(stmt: Product) -> str:
    assert isinstance(stmt.a, InPlace)
    return f"imbrex::a_columns<{_unit(stmt)}, {stmt.a.base.buffer.dtype.c_name}, {stmt.k}, {stmt.rows}>"


def _may_copy(stmt: Product) -> bool:
    """Are rows of A copied to whole tiles: always, or, of a matrix, where several panels of B would meet rows
    that lines of a cache cut?
    """
    if isinstance(stmt.a, CopiedRuns | TilesInPlace):
        return True
    return stmt.unit.tiles is not None and stmt.stationary == "a" and max(stmt.n_sizes) > stmt.lanes


def _c(stmt: Product) -> list[str]:
    kind = stmt.c.computed.c_name
    window = f"scratch.{stmt.c.name}"
    extent = "M.value" if stmt.c_is_transposed else "rows"
    form = "c_rows" if stmt.c_is_transposed else "c_lanes"
    types = f"{kind}, {stmt.c.buffer.dtype.c_name}, {extent}, {stmt.lanes}, decltype({window})"
    beta, in_steps = c.number(stmt.beta, stmt.c.computed), stmt.step is not None and not stmt.keeps_sums
    if in_steps:
        start = "0" if stmt.start is None else c.index(stmt.start)
        beta = f"{stmt.step} > {start} ? {c.number(1.0, stmt.c.computed)} : {beta}"
    act = f"{{{c.number(stmt.alpha, stmt.c.computed)}, {beta}}}"
    if stmt.finish is not None:
        types += f", {finishing.kind(kind, in_steps)}"
        act = f"{{{act}, finish{f', {stmt.step} == {c.index(lin(stmt.steps) - 1)}' if in_steps else ''}}}"
    name = stmt.c.buffer.name
    target = name if stmt.c.buffer.space == "global" else f"scratch.{name}"
    made = "last_c" if stmt.keeps_sums else "operand_c"
    stored = f"imbrex::{form}<{types}> {made}({target}, {window}, scratch.tile_c, {act});"
    if not stmt.keeps_sums:
        return [stored]
    types = f"{kind}, {_height(stmt)}, rows, {stmt.lanes}, decltype(last_c)"
    types += ", true" if stmt.open == "k" else ""
    ends = f"{stmt.step} == 0, {stmt.step} == {c.index(lin(stmt.steps) - 1)}"
    return [stored, f"imbrex::c_kept<{types}> operand_c(last_c, scratch.kept_c, {ends});"]


def _unit(stmt: Product) -> str:
    return name_of(stmt.unit, stmt.c.computed)


def _held(stmt: Product) -> DType:
    """What panels hold."""
    return stmt.unit.panel(stmt.b.buffer.dtype)


def _zero(stmt: Product) -> str:
    return "0" if stmt.unit == FMA else "{}"


def _padded_k(stmt: Product) -> str:
    """K in whole vectors."""
    return f"imbrex::round_up({stmt.k}, {vector_of(stmt.unit, stmt.c.computed)})"
