"""Windows of few channels as one call of the device's, and so the gradient of their filters."""

from __future__ import annotations

from imbrex.emit import c
from imbrex.emit.cpu import finishing
from imbrex.lower.cpu.packed import FilterSums, Grid, Windows
from imbrex.lower.cpu.sliding import Sliding


def scratch_member(stmt: Windows | FilterSums) -> str:
    """The ring of rows, and the taps; or the planes of pixels, and the sums."""
    if isinstance(stmt, FilterSums):
        axes = ", ".join(_axis(axis) for axis in (stmt.height, stmt.width))
        shared, own = (stmt.lanes, ", true") if stmt.is_own else (stmt.shared, "")
        counts = f"{stmt.depth}, {shared}, {stmt.images}{own}"
        return f"imbrex::filter_sums<{stmt.computed.c_name}, {stmt.lanes}, {axes}, {counts}> filter_sums;"
    axes = ", ".join(_axis(axis) for axis in (stmt.height, stmt.width))
    along = "true" if stmt.is_along_lanes else "false"
    is_other = stmt.is_turned or stmt.is_in_place
    groups = f", {stmt.depth}, {stmt.shared}" if stmt.depth * stmt.shared > 1 or is_other else ""
    groups += (", true" if stmt.is_turned else ", false, true") if is_other else ""
    return f"imbrex::windows<{stmt.sums.computed.c_name}, {along}, {stmt.lanes}, {axes}{groups}> windows;"


def text(stmt: Windows) -> list[str]:
    """The call, behind what finishes sums."""
    kind = stmt.sums.computed.c_name
    made = [] if stmt.finish is None else finishing.lines(stmt.finish, stmt.sums)
    act = f"imbrex::scaling<{kind}>{{1, 0}}"
    if stmt.finish is not None:
        act = f"{finishing.kind(kind)}{{{{1, 0}}, finish}}"
    grids = [_grid(stmt.filter, "const "), _grid(stmt.window, "const "), _grid(stmt.c, "")]
    return [*made, "scratch.windows.run(", *(f"    {grid}," for grid in grids), f"    {act});"]


def sums_text(stmt: FilterSums) -> list[str]:
    """The call."""
    grids = (_grid(stmt.output, "const "), _grid(stmt.window, "const "), _grid(stmt.c, ""))
    return ["scratch.filter_sums.run(", *(f"    {grid}," for grid in grids[:-1]), f"    {grids[-1]});"]


def _axis(axis: Sliding) -> str:
    up = "" if axis.up == 1 else f", {axis.up}, {axis.shift}"
    return f"imbrex::slide<{axis.out}, {axis.taps}, {axis.stride}, {axis.dilation}{up}>"


def _grid(grid: Grid, const: str) -> str:
    buffer, offset = grid.base.buffer, c.index(grid.base.offset)
    begins, ends = (", ".join(c.index(i) for i in side) for side in (grid.begins, grid.ends))
    steps = ", ".join(map(str, grid.steps))
    at = buffer.name if offset == "0" else f"{buffer.name} + {offset}"
    return f"imbrex::grid<{const}{buffer.dtype.c_name}>{{{at}, {{{steps}}}, {{{begins}}}, {{{ends}}}}}"
