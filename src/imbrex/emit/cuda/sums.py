"""Phases of a tile's columns as parts of a kernel's struct: which parts of K are summed into which sums, and
where these go.

Sums of one phase follow those of the one before in a lane's registers; phases without sums are zeros, and
have no registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from imbrex.emit import c
from imbrex.emit.cuda.member import boolean, static
from imbrex.index.expr import Lin, lin, select, var
from imbrex.lower.warpgroup.pipeline import Pipeline

__all__ = ["column_of_sum", "functions", "taken_steps"]


def functions(pipeline: Pipeline) -> list[str]:
    """The first column of a part's sums, as registers have them; does an earlier part go into the same ones?
    The number of a phase's sums, -1 for none; the column that a phase of a column of B is stored in.
    """
    phases = pipeline.phases
    box, parts, met = phases.box, phases.of, phases.summed
    each = pipeline.own_columns // box.count
    numbers = [str(met.index(phase)) if phase in met else "-1" for phase in range(box.count)]
    first = [str(met.index(phase) * each) for phase in parts]
    goes_on = [boolean(phase in parts[:i]) for i, phase in enumerate(parts)]
    column, phase = var("column", each), var("phase", box.count)
    (stored,) = box.stored_columns(each).at([column, phase]).coords
    return [
        f"static constexpr int phases = {box.count}, phase_rows = {box.rows}, phase_run = {box.run};",
        f"static constexpr int sums = {each * len(met) // 2}, summed = {len(met)};",
        f"static constexpr int k_parts = {len(parts)}, part_steps = {pipeline.tiles.steps // len(parts)};",
        static("int32_t", "steps_of", "int32_t batch", _steps(pipeline)),
        static("int32_t", "first_of", "int32_t part", _chosen("part", first), is_constant=True),
        static("bool", "goes_on", "int32_t part", _chosen("part", goes_on), is_constant=True),
        static("int32_t", "sums_of", "int32_t phase", _chosen("phase", numbers), is_constant=True),
        static("int32_t", "phase_column", "int32_t column, int32_t phase", c.index(stored)),
    ]


def column_of_sum(pipeline: Pipeline, column: Lin, number: Lin) -> Lin:
    """Where the sums of a number are stored, those of a column of B."""
    phases = pipeline.phases
    phase = _value_at(number, phases.summed)
    (stored,) = phases.box.stored_columns(pipeline.own_columns // phases.box.count).at([column, phase]).coords
    return stored


def taken_steps(pipeline: Pipeline) -> str:
    """Steps of a unit: where parts of K have other lengths in other batches, as many as they have."""
    if pipeline.phases.part_steps:
        return "k_parts * steps_of(w.batch)"
    return c.index(pipeline.tiles.steps_there)


def _steps(pipeline: Pipeline) -> str:
    """Steps of a part of K, of a batch."""
    phases = pipeline.phases
    turns = phases.part_steps or (pipeline.tiles.steps // len(phases.of),)
    return c.index(_value_at(var("batch", pipeline.tiles.batches) % len(turns), turns))


def _value_at(index: Lin, values: Sequence[int]) -> Lin:
    """The value at an index from 0 on."""
    *others, last = values
    given = reversed(list(enumerate(others)))
    return reduce(lambda rest, one: select(one[0] - index, one[1], rest), given, lin(last))


def _chosen(name: str, values: Sequence[str]) -> str:
    """The value at a number."""
    *others, last = values
    return "".join(f"{name} == {i} ? {value} : " for i, value in enumerate(others)) + last
