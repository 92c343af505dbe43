"""What a launch needs, and how a workgroup shares out its registers and memory among warpgroups.

Laws: the registers of all warpgroups together are those that the launch gives them; the piece of C that a
consumer stages is the box of its store.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Final, NamedTuple, assert_never

from imbrex.cached import cached_property
from imbrex.emit.cuda import dialect
from imbrex.emit.cuda.member import boolean
from imbrex.lower.stmt import Buffer, Kernel, has_flags
from imbrex.lower.warpgroup.parts import PingPong, SplitColumns, SplitRows, SplitSteps, Streams
from imbrex.lower.warpgroup.pipeline import Drain, Lanes, Pipeline, Stage
from imbrex.numeral import counted
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.piece import ROW_BYTES, piece_columns
from imbrex.view.stage.shared_layout import SharedLayout
from imbrex.view.stage.shared_tile import ATOM_ROWS, Major, SharedTile, longest_row
from imbrex.view.tensor import Box, TensorMap, Walk

__all__ = [
    "LaunchFacts",
    "Staging",
    "launch_facts",
    "layout",
    "offsets",
    "registers",
    "staging",
    "takes_turns",
    "tensor_names",
]

REGISTERS: Final = {
    (1, False): (0, 0), (2, False): (40, 232), (3, False): (32, 160),
    (1, True): (0, 0), (2, True): (136, 184), (3, True): (104, 136),
}  # fmt: skip
"""(consumers, does a producer load by itself) -> registers of a lane that produces and of one that consumes,
none where the launch gives every lane as many as it can have."""


class LaunchFacts(NamedTuple):
    """shared_bytes: dynamic.  cluster: workgroups.  tensors: the kernel's first parameters, in order.
    has_flags: do workgroups wait for each other?
    """

    shared_bytes: int
    cluster: int
    tensors: tuple[TensorMap, ...]
    has_flags: bool


@dataclass(frozen=True)
class Staging:
    """A piece of C in shared memory, 64 rows of some columns, as a tile (column, row).

    along_columns: neighbours in memory are neighbours along columns.
    """

    columns: int
    element_bytes: int
    along_columns: bool

    @property
    def row_bytes(self) -> int:
        return (self.columns if self.along_columns else ROWS) * self.element_bytes

    @cached_property
    def tile(self) -> SharedTile:
        major: Major = "k" if self.along_columns else "d"
        return SharedTile(self.columns, ROWS, self.element_bytes, major, longest_row(self.row_bytes))


def launch_facts(kernel: Kernel) -> LaunchFacts:
    """What the launch of a kernel of any kind needs."""
    pipeline = kernel.pipeline
    if pipeline is None:
        return LaunchFacts(dialect.shared_bytes(kernel), 1, (), has_flags(kernel))
    names = [b.name for b in kernel.arguments]
    tensors = tuple(
        TensorMap.of(form, buffer.dtype.name, names.index(buffer.name))
        for _, buffer, form in _tensors(pipeline)
    )
    cluster = prod(pipeline.tiles.cluster) * pipeline.parts
    return LaunchFacts(layout(pipeline).bytes, cluster, tensors, has_flags(kernel))


def tensor_names(pipeline: Pipeline) -> tuple[str, ...]:
    """Parameters of the kernel that are tensor maps."""
    return tuple(name for name, _, _ in _tensors(pipeline))


def _tensors(pipeline: Pipeline) -> Iterator[tuple[str, Buffer, Box | Walk]]:
    """What the copy engine moves: the name of its tensor map, the array, and how it lies there."""
    parts: dict[str, Stage | Drain] = {"a_map": pipeline.a, "b_map": pipeline.b, "c_map": pipeline.c}
    for name, part in parts.items():
        if part.access is not None and not isinstance(part.access, Lanes):
            yield name, part.buffer, part.access
    if (kept := pipeline.c.kept) is not None and kept.access is not None:
        yield "kept_map", kept.ref.buffer, kept.access


def staging(pipeline: Pipeline) -> Staging:
    """The widest piece that a workgroup's columns have room for; the last one is stored where they end."""
    size = pipeline.c.buffer.dtype.bytes
    along_columns = pipeline.c.contiguous != "row"
    most = min(ROW_BYTES // size, pipeline.stored_columns)
    columns = piece_columns(pipeline.stored_columns, size) if along_columns else most
    assert columns % ATOM_ROWS == 0 or along_columns, (
        f"{counted(pipeline.tiles.columns, 'column is', 'columns are')} not whole instructions"
    )
    return Staging(columns, size, along_columns)


def registers(pipeline: Pipeline) -> tuple[int, int]:
    """Registers of a producer's and of a consumer's lane."""
    return REGISTERS[pipeline.team.consumers, pipeline.has_lanes]


def layout(pipeline: Pipeline) -> SharedLayout:
    """Where a workgroup's shared memory has what."""
    team = pipeline.team
    return SharedLayout(
        a_bytes=pipeline.a.tile.bytes,
        b_bytes=pipeline.b.tile.bytes,
        stages=pipeline.stages,
        consumers=team.consumers,
        piece_bytes=0 if isinstance(team, SplitSteps) else staging(pipeline).tile.bytes,
        b_residency=pipeline.b.residency,
        has_own_ring=isinstance(team, Streams),
        takes_turns=takes_turns(pipeline),
        parts=pipeline.parts,
    )


def takes_turns(pipeline: Pipeline) -> bool:
    """Do consumers multiply one after the other?"""
    match team := pipeline.team:
        case PingPong():
            return True
        case Streams(in_turn=in_turn):
            return in_turn
        case SplitRows() | SplitColumns() | SplitSteps():
            return False
        case _:
            assert_never(team)


def offsets(pipeline: Pipeline) -> list[str]:
    """The layout as constants of a kernel's struct."""
    found = layout(pipeline)
    barriers = ", ".join(f"{name}_offset = {offset}" for name, offset in found.barrier_offsets.items())
    return [
        f"static constexpr int all_stages = {found.all_stages}, stage_bytes = {found.stage_bytes};",
        f"static constexpr int b_offset = {found.b_offset}, b_step = {found.b_step};",
        f"static constexpr int pieces_offset = {found.pieces_offset}, piece_bytes = {found.piece_bytes};",
        f"static constexpr int {barriers};",
        f"static constexpr bool b_stays = {boolean(pipeline.b.residency != 'step')};",
        f"static constexpr bool b_leaves = {boolean(pipeline.b.residency == 'tile')};",
    ]
