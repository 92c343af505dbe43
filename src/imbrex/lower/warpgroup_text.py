"""What a product by warpgroups does with its operands, in words: for `explain` and for comments."""

from __future__ import annotations

from collections.abc import Mapping

from imbrex.lower.warpgroup import Drain, Feed, Lanes, WarpgroupGemm
from imbrex.view.tensor import Box, Walk

__all__ = ["described"]


def described(gemm: WarpgroupGemm) -> Mapping[str, str]:
    """A line for each operand, and for who computes what."""
    return {
        "instruction": gemm.instruction.name,
        "A": _feed(gemm.a),
        "B": _feed(gemm.b),
        "C": _drain(gemm.c),
        "tiles": f"{gemm.row_tiles} x {gemm.column_tiles}" + (f", {gemm.batches} times" * (gemm.batches > 1)),
        "workgroups": f"{gemm.workgroups}, {_units(gemm)}",
    }


def _units(gemm: WarpgroupGemm) -> str:
    rows, columns = gemm.cluster
    of = f"of {gemm.units} units" + (f" of {rows} x {columns} tiles" if rows * columns > 1 else "")
    if gemm.parts > 1:
        return f"parts of K {of}, {gemm.parts} in a cluster, each stores {gemm.stored_columns} columns"
    return f"whole ones {of}" if gemm.plan is None else f"segments {of}, {gemm.plan.mode}"


def _feed(feed: Feed) -> str:
    share, way = feed.share, feed.access
    shape = "x".join(map(str, (share.k, share.d)))
    tile = f"{shape} in shared memory, {share.major} major, rows of {share.swizzle} bytes permuted"
    parts = f", {feed.parts} workgroups load parts for each other" if feed.parts > 1 else ""
    match way:
        case Box():
            form = f"TMA box of {'x'.join(map(str, way.box))}"
        case Walk():
            form = f"TMA im2col of {way.pixels} pixels, {way.channels} channels"
        case Lanes():
            turned = ", turned on the way" if way.along != share.major else ""
            form = f"loads of {way.width} along {way.along}{turned}, since {way.reason}"
    return f"{form}: {tile}{parts}"


def _drain(drain: Drain) -> str:
    if drain.access is not None:
        return f"TMA box of {'x'.join(map(str, drain.access.box))}"
    along = f" along {drain.contiguous}s" if drain.contiguous else ""
    return f"stores of {drain.width}{along}, since {drain.reason}"
