"""The list of work of a cluster, as functions of a kernel's struct.

A unit is the tiles of one cluster.  Whole units are dealt out: cluster c computes units c, c + clusters, ..,
each over all steps, so that neighbours in time share what L2 holds.  Sections of a plan whose segments are
whole are dealt out too; of the others each cluster computes consecutive steps.
"""

from __future__ import annotations

from typing import assert_never

from imbrex.emit import c
from imbrex.emit.cuda.member import static, static_or_method
from imbrex.emit.cuda.sums import taken_steps
from imbrex.index.expr import Lin, lin, select, var
from imbrex.lower.warpgroup.parts import ClusterK, Dealt, LineWork, OneTile, Planned, Tiles
from imbrex.lower.warpgroup.pipeline import Pipeline
from imbrex.view.work.cluster import unit_in_round
from imbrex.view.work.segment import Quantity, SegmentWalk

__all__ = ["functions"]

RANK = "int32_t cluster_row, int32_t cluster_column"
WORK_OF = f"IMBREX_MEMBER static imbrex::work work_of(int32_t slot, int32_t number, {RANK}) {{"


def functions(pipeline: Pipeline) -> list[str]:
    """`slot_of`, `works`, `work_of` and `tile_of`; of lines, which of them exist and are a consumer's."""
    tiles = pipeline.tiles
    work_of = _of_count(tiles, WORK_OF)
    match work := pipeline.work:
        case OneTile() | Dealt():
            turns = work.turns if isinstance(work, Dealt) else 1
            found = _whole(tiles, turns, taken_steps(pipeline), work_of)
        case Planned():
            found = _planned(work, work_of)
        case ClusterK():
            found = _parts(SegmentWalk(work.plan, 0), tiles, work_of)
        case LineWork():
            found = _lines(work)
        case _:
            assert_never(work)
    return [*found, *_tile(tiles)]


def _whole(tiles: Tiles, turns: int, steps: str, work_of: str) -> list[str]:
    clusters = tiles.clusters
    slot, number = var("slot", clusters), var("number", -(-tiles.units // clusters))
    last = unit_in_round(slot, lin(tiles.units // clusters), clusters, turns)
    is_open = tiles.open_tiles is not None
    count = (tiles.units_there + (clusters - 1) - slot) // clusters
    return [
        static("int32_t", "slot_of", "int32_t cluster", "cluster"),
        static_or_method(
            "int32_t",
            "works",
            "int32_t slot",
            c.index(count if is_open else _dealt(tiles.units, last, clusters)),
            of_count=is_open,
        ),
        work_of,
        *c.indented(_unit(unit_in_round(slot, number, clusters, turns) + number * clusters, steps)),
        "}",
    ]


def _of_count(tiles: Tiles, head: str) -> str:
    """The head of a function that reads the kernel's arguments where a run-time size is one of them."""
    return head if tiles.run_time is None else head.replace("static ", "").replace(" {", " const {")


def _lines(work: LineWork) -> list[str]:
    streams = work.streams
    first, unit = streams.first_line(streams.slot, streams.consumer), streams.unit(streams.slot, streams.tile)
    exists = c.guards(work.exists)
    return [
        static("int32_t", "slot_of", "int32_t cluster", "cluster"),
        f"static constexpr int line_rows = {work.line}, tile_lines = {streams.lines};",
        f"static constexpr int most_turns = {work.most_turns};",
        static("bool", "line_exists", "int32_t batch, int32_t tile, int32_t step", exists),
        static("int32_t", "first_line", "int32_t slot, int32_t group", c.index(first)),
        static("int32_t", "unit_of", "int32_t slot, int32_t tile", c.index(unit)),
    ]


def _dealt(units: int, position: Lin, clusters: int) -> Lin:
    """How many units a cluster is dealt.  position: in the last round."""
    return select(units % clusters - 1 - position, lin(1), lin(0)) + units // clusters


def _unit(unit: Lin, steps: str) -> list[str]:
    return [
        f"imbrex::work w = tile_of({c.index(unit)}, cluster_row, cluster_column);",
        f"w.first = 0, w.end = {steps};",
        "return w;",
    ]


def _planned(work: Planned, work_of: str) -> list[str]:
    """The sections of a plan, one after the other."""
    plan, tiles = work.plan, work.tiles
    assert (plan.tiles.outputs, plan.tiles.k, plan.workgroups) == (
        tiles.units,
        tiles.steps,
        tiles.clusters,
    ), plan
    walks = [SegmentWalk(plan, number) for number, _ in enumerate(plan.sections)]
    slot, cluster = var("slot", tiles.clusters), var("cluster", tiles.clusters)
    counts = [_count(walk, slot) for walk in walks]
    lines = [
        static("int32_t", "slot_of", "int32_t cluster", c.index(walks[0].index("slot", cluster))),
        static("int32_t", "works", "int32_t slot", c.index(sum(counts, lin(0)))),
        work_of,
    ]
    segments = [_segment(walk, slot, tiles, is_met=work.sharers > 1) for walk in walks]
    for segment, count in zip(segments[:-1], counts[:-1], strict=True):
        lines += [f"  const int32_t here = {c.index(count)};", "  if (number < here) {"]
        lines += [*c.indented(segment, 2), "  }", "  number -= here;"]
    return [*lines, *c.indented(segments[-1]), "}"]


def _parts(walk: SegmentWalk, tiles: Tiles, work_of: str) -> list[str]:
    """One part of K of one unit: of those that share it none waits for another before it has its sums."""
    count = walk.plan.workgroups
    slot, unit, cluster = var("slot", count), var("unit", walk.plan.tiles.outputs), var("cluster", count)
    first, end = _range(walk, slot, unit, tiles)
    return [
        static("int32_t", "slot_of", "int32_t cluster", c.index(walk.index("slot", cluster))),
        static("int32_t", "works", "int32_t slot", "1"),
        work_of,
        f"  const int32_t unit = {c.index(walk.index('output', slot))};",
        "  imbrex::work w = tile_of(unit, cluster_row, cluster_column);",
        f"  w.first = {c.index(first)}, w.end = {c.index(end)};",
        "  return w;",
        "}",
    ]


def _count(walk: SegmentWalk, slot: Lin) -> Lin:
    """Units that a cluster meets in a section."""
    if walk.is_whole:
        return _dealt(walk.section.tiles // walk.section.k_span, slot, walk.plan.workgroups)
    return walk.index("segments", slot)


def _range(walk: SegmentWalk, slot: Lin, unit: Lin, tiles: Tiles) -> tuple[Lin, Lin]:
    """The first step of a segment, and the one after its last."""
    if tiles.open_steps is not None:
        return tiles.open_steps.part(walk.piece(slot), walk.pieces)
    return walk.index("first", slot, unit), walk.index("end", slot, unit)


def _segment(walk: SegmentWalk, slot: Lin, tiles: Tiles, *, is_met: bool) -> list[str]:
    plan, section = walk.plan, walk.section
    if walk.is_whole:
        number = var("number", -(-section.tiles // section.k_span // plan.workgroups))
        return _unit(slot + number * plan.workgroups + walk.first_output, c.index(tiles.steps_there))
    number, unit = var("number", max(walk.most_segments, 1)), var("unit", plan.tiles.outputs)

    def text(name: Quantity) -> str:
        return c.index(walk.index(name, slot, unit))

    first, end = _range(walk, slot, unit, tiles)
    lines = [
        f"const int32_t unit = {c.index(walk.index('output', slot, number))};",
        "imbrex::work w = tile_of(unit, cluster_row, cluster_column);",
        f"w.first = {c.index(first)}, w.end = {c.index(end)};",
    ]
    if is_met:
        lines.append(f"w.next = {c.index(unit * section.k_span // section.share)};")
    else:
        lines += [f"w.sends = {text('sends')};", f"w.next = {text('next')}, w.last = {text('last')};"]
    return [*lines, "return w;"]


def _tile(tiles: Tiles) -> list[str]:
    """The tile of a workgroup of a cluster that computes a unit."""
    rows, columns = tiles.cluster
    unit, blocks = var("unit", tiles.units), tiles.blocks_there
    batch, block = (unit // blocks, unit % blocks) if tiles.batches > 1 else (lin(0), unit)
    if tiles.is_batch_first:
        batch, block = unit % tiles.batches, unit // tiles.batches
    row, column = tiles.block_of(block)
    cluster_row, cluster_column = var("cluster_row", rows), var("cluster_column", columns)
    return [
        _of_count(tiles, f"IMBREX_MEMBER static imbrex::work tile_of(int32_t unit, {RANK}) {{"),
        "  imbrex::work w = {};",
        f"  w.batch = {c.index(batch)};",
        f"  w.row_tile = {c.index(row * rows + cluster_row)};",
        f"  w.column_tile = {c.index(column * columns + cluster_column)};",
        "  return w;",
        "}",
    ]
