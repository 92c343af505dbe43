"""The list of work of a cluster, as functions of a kernel's struct.

A unit is the tiles of one cluster.  Whole units are dealt out: cluster c computes units c, c + clusters, ..,
each over all steps, so that neighbours in time share what L2 holds.  Sections of a plan whose segments are
whole are dealt out too; of the others each cluster computes consecutive steps.
"""

from __future__ import annotations

from math import prod

from imbrex.emit import c
from imbrex.emit.cuda.member import static
from imbrex.emit.cuda.phases import taken_steps
from imbrex.index.expr import Lin, lin, select, var
from imbrex.lower.warpgroup import WarpgroupGemm
from imbrex.view.work.cluster import place_of
from imbrex.view.work.segment import Quantity, Walk
from imbrex.view.work.streamk import Plan

__all__ = ["splits_evenly", "work"]

RANK = "int32_t cluster_row, int32_t cluster_column"
WORK_OF = f"IMBREX_MEMBER static imbrex::work work_of(int32_t slot, int32_t number, {RANK}) {{"


def work(gemm: WarpgroupGemm) -> list[str]:
    """`slot_of`, `works`, `work_of` and `tile_of`."""
    return [*(_whole(gemm) if gemm.plan is None else _planned(gemm, gemm.plan)), *_tile(gemm)]


def splits_evenly(plan: Plan | None) -> bool:
    """Has every cluster one segment at most, so that those who share a tile may wait for each other?"""
    return plan is not None and plan.mode == "split_k" and bool(plan.shared)


def _whole(gemm: WarpgroupGemm) -> list[str]:
    clusters = gemm.workgroups // prod(gemm.cluster)
    slot, number = var("slot", clusters), var("number", -(-gemm.units // clusters))
    turns = max(1, len(gemm.part_steps))
    last = place_of(slot, lin(gemm.units // clusters), clusters, turns)
    return [
        static("int32_t", "slot_of", "int32_t cluster", "cluster"),
        static("int32_t", "works", "int32_t slot", c.index(_dealt(gemm.units, last, clusters))),
        WORK_OF,
        *c.indented(_unit(place_of(slot, number, clusters, turns) + number * clusters, taken_steps(gemm))),
        "}",
    ]


def _dealt(units: int, place: Lin, clusters: int) -> Lin:
    """How many units a cluster is dealt.  place: in the last round."""
    return select(units % clusters - 1 - place, lin(1), lin(0)) + units // clusters


def _unit(unit: Lin, steps: int | str) -> list[str]:
    return [
        f"imbrex::work w = tile_of({c.index(unit)}, cluster_row, cluster_column);",
        f"w.first = 0, w.end = {steps};",
        "return w;",
    ]


def _planned(gemm: WarpgroupGemm, plan: Plan) -> list[str]:
    """The sections of a plan, one after the other."""
    clusters = gemm.workgroups // prod(gemm.cluster)
    assert (plan.tiles.outputs, plan.tiles.k, plan.workgroups) == (gemm.units, gemm.steps, clusters), plan
    walks = [Walk(plan, number) for number, _ in enumerate(plan.sections)]
    if gemm.parts > 1:
        return _parts(walks[0])
    slot, cluster = var("slot", clusters), var("cluster", clusters)
    counts = [_count(walk, slot) for walk in walks]
    lines = [
        static("int32_t", "slot_of", "int32_t cluster", c.index(walks[0].index("slot", cluster, lin(0)))),
        static("int32_t", "works", "int32_t slot", c.index(sum(counts, lin(0)))),
        WORK_OF,
    ]
    for walk, count in zip(walks[:-1], counts[:-1], strict=True):
        lines += [f"  const int32_t here = {c.index(count)};", "  if (number < here) {"]
        lines += [*c.indented(_segment(walk, slot), 2), "  }", "  number -= here;"]
    return [*lines, *c.indented(_segment(walks[-1], slot)), "}"]


def _parts(walk: Walk) -> list[str]:
    """One part of K of one unit: of those that share it none waits for another before it has its sums."""
    count = walk.plan.workgroups
    slot, unit, cluster = var("slot", count), var("unit", walk.plan.tiles.outputs), var("cluster", count)
    first, end = (c.index(walk.index(name, slot, unit)) for name in ("first", "end"))
    return [
        static("int32_t", "slot_of", "int32_t cluster", c.index(walk.index("slot", cluster, lin(0)))),
        static("int32_t", "works", "int32_t slot", "1"),
        WORK_OF,
        f"  const int32_t unit = {c.index(walk.index('output', slot, lin(0)))};",
        "  imbrex::work w = tile_of(unit, cluster_row, cluster_column);",
        f"  w.first = {first}, w.end = {end};",
        "  return w;",
        "}",
    ]


def _count(walk: Walk, slot: Lin) -> Lin:
    """Units that a cluster meets in a section."""
    if walk.is_whole:
        return _dealt(walk.section.tiles // walk.section.k_span, slot, walk.plan.workgroups)
    return walk.index("segments", slot, lin(0))


def _segment(walk: Walk, slot: Lin) -> list[str]:
    plan, section = walk.plan, walk.section
    if walk.is_whole:
        number = var("number", -(-section.tiles // section.k_span // plan.workgroups))
        return _unit(slot + number * plan.workgroups + walk.first_output, plan.tiles.k)
    place, unit = var("number", max(walk.most_segments, 1)), var("unit", plan.tiles.outputs)

    def text(name: Quantity) -> str:
        return c.index(walk.index(name, slot, unit))

    lines = [
        f"const int32_t unit = {c.index(walk.index('output', slot, place))};",
        "imbrex::work w = tile_of(unit, cluster_row, cluster_column);",
        f"w.first = {text('first')}, w.end = {text('end')};",
    ]
    if splits_evenly(plan):
        begin = unit * section.k_span
        last = (begin + section.k_span - 1) // section.share + 1
        lines += [f"w.next = {c.index(begin // section.share)}, w.last = {c.index(last)};"]
    else:
        lines += [f"w.sends = {text('sends')};", f"w.next = {text('next')}, w.last = {text('last')};"]
    return [*lines, "return w;"]


def _tile(gemm: WarpgroupGemm) -> list[str]:
    """The tile of a workgroup of a cluster that computes a unit."""
    rows, columns = gemm.cluster
    blocks = prod(d.size for d in gemm.order.lower)
    unit = var("unit", gemm.units)
    batch, block = unit // blocks, unit % blocks
    if gemm.is_batch_first:
        batch, block = unit % gemm.batches, unit // gemm.batches
    row, column = gemm.order.at([block]).coords
    cluster_row, cluster_column = var("cluster_row", rows), var("cluster_column", columns)
    return [
        f"IMBREX_MEMBER static imbrex::work tile_of(int32_t unit, {RANK}) {{",
        "  imbrex::work w = {};",
        f"  w.batch = {c.index(batch)};",
        f"  w.row_tile = {c.index(row * rows + cluster_row)};",
        f"  w.column_tile = {c.index(column * columns + cluster_column)};",
        "  return w;",
        "}",
    ]
