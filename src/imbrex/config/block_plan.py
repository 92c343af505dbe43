"""What a plan tells the IR of a workgroup: one kind of value a pipeline, with all that its lowering reads.

    ItemsBlock       naive, 2x2, ahead   work items multiply rows of A and B in registers
    WavesBlock       xdlops              waves multiply by matrix instructions
    PanelBlock       cpu                 one work item whose registers are vectors
    WarpgroupBlock   warpgroup           warpgroups multiply what a pipeline of stages brings

Multiply is the part of the first three that says how a block tile is multiplied.  Lengths are in elements of
the gemm dimension that names them; rows and columns are those that the kernel sees, after a swap.

Law: `made` undoes `entries`, whose keys are the names of the fields, those of A's copy behind `matrix_a_`.
What has its usual value is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar, Final, Literal, TypeAlias, TypeVar, get_args, get_type_hints

from imbrex.config.warpgroup.consumers import Tiled
from imbrex.view.mma.vector import FMA
from imbrex.view.stage.lds import LdsKind

__all__ = [
    "NAIVE", "TURNED", "BlockPlan", "CopyKind", "ItemsBlock", "ItemsCopy", "ItemsMultiply", "ItemsPipeline",
    "ItemsProduct", "Multiply", "PanelBlock", "PanelMultiply", "Stationary", "WarpgroupBlock", "WavesBlock",
    "WavesCopy", "WavesMultiply", "entries", "keys_of", "made", "pipelines_of",
]  # fmt: skip

ItemsPipeline: TypeAlias = Literal["naive", "2x2", "ahead"]
Stationary: TypeAlias = Literal["a", "b"]
CopyKind: TypeAlias = Literal["staged", "direct", "ahead", "staged_ahead"]
"""Through registers; to LDS past them; the same, and from LDS to registers ahead of the products; through
registers, and ahead.
"""
Turned: TypeAlias = Literal["", "a", "b", "ab"]
TURNED: Final[Mapping[tuple[bool, bool], Turned]] = {
    (False, False): "", (True, False): "a", (False, True): "b", (True, True): "ab",
}  # fmt: skip
"""Which of A and B it is."""
NAIVE: Final = "naive"
"""The pipeline that is meant where none is named."""


@dataclass(frozen=True)
class ItemsMultiply:
    """Work items in clusters multiply tiles of m_per_thread x n_per_thread, one k at a time.

    pipeline: how reads from LDS stand between the products, see `ir.passes.blockwise_to_threadwise`.
    """

    pipeline: ItemsPipeline
    m_per_thread: int
    n_per_thread: int
    k_per_thread: int
    m_level0_cluster: int
    n_level0_cluster: int
    m_level1_cluster: int
    n_level1_cluster: int


@dataclass(frozen=True)
class ItemsProduct:
    """The same of tiles in LDS; *_per_read: elements of a row that are read at a time."""

    multiply: ItemsMultiply
    matrix_a_source_data_per_read: int
    matrix_b_source_data_per_read: int

    @property
    def pipeline(self) -> str:
        return self.multiply.pipeline


@dataclass(frozen=True)
class WavesMultiply:
    """Waves multiply wave tiles by an instruction, see `view.mma.wave`.

    turned: operands, of "ab", whose neighbours along m or n lie together in LDS; reads transpose them.
    """

    pipeline: ClassVar[str] = "xdlops"
    m_per_wave: int
    n_per_wave: int
    kpack: int
    instruction: str
    interleave: int = 1
    turned: Turned = ""


@dataclass(frozen=True)
class PanelMultiply:
    """A CPU's unit multiplies panels.  instruction: its name in `view.mma.vector`."""

    pipeline: ClassVar[str] = "cpu"
    instruction: str = FMA.name


@dataclass(frozen=True)
class ItemsCopy:
    """How work items bring a tile of A or B from global memory to LDS.

    read_dim: 0 where they read along k.  cluster_lengths: work items along (k, m or n).  lane_dim: 0 where
    neighbouring work items lie along k.  lds_numbers: rows that lie together, and the gap behind them.
    """

    source_vector_read_dim: int
    source_data_per_read: int
    dest_data_per_write: int
    copy_cluster_lengths: tuple[int, ...] = ()
    copy_lane_dim: int = 1
    lds_numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class WavesCopy:
    """The same in slices, see `view.gemm.tile.Share`; a direct copy has the width of a read alone.

    lds_numbers: of the block's layout, see `view.stage.lds`.  tap_rows: of a step of several taps, the rows
    of the tile in LDS, and how many it is from those of a tap to the next, see `view.gemm.sliding_tile`.
    copied_rows: of the tile in LDS, where work items copy more than are multiplied; 0 where they do not.
    """

    source_data_per_read: int
    source_vector_read_dim: int = 0
    dest_data_per_write: int = 1
    copy_cluster_lengths: tuple[int, ...] = ()
    copy_slice_lengths: tuple[int, ...] = ()
    copy_lane_dim: int = 0
    copy_lane_inner: int = 1
    lds_numbers: tuple[int, ...] = ()
    tap_rows: tuple[int, ...] = ()
    copied_rows: int = 0


@dataclass(frozen=True)
class ItemsBlock:
    """A workgroup of a GPU that multiplies in its registers.

    matrix_c_source_dest_vector_read_write_dim: that of C's vectors in a work item's (repeat, m, repeat, n).
    """

    block_size: int
    m_per_block: int
    n_per_block: int
    k_per_block: int
    multiply: ItemsMultiply
    a: ItemsCopy
    b: ItemsCopy
    matrix_c_source_dest_vector_read_write_dim: int
    matrix_c_dest_data_per_write: int

    @property
    def pipeline(self) -> str:
        return self.multiply.pipeline


@dataclass(frozen=True)
class WavesBlock:
    """A workgroup of a GPU with matrix instructions.  lds_buffers: of each operand; read ahead
    through registers, two in LDS, and of registers one fewer than this.  taps: how many a step
    takes together, and the channels of each in gemmK; none where its k are neighbours there.
    """

    pipeline: ClassVar[str] = "xdlops"
    block_size: int
    m_per_block: int
    n_per_block: int
    k_per_block: int
    multiply: WavesMultiply
    a: WavesCopy
    b: WavesCopy
    matrix_c_dest_data_per_write: int
    lds_layout: LdsKind = "plain"
    lds_buffers: int = 2
    copy: CopyKind = "staged"
    taps: tuple[int, ...] = ()

    @property
    def k_copied(self) -> int:
        """k of a tile in LDS: of a step, or of one of its taps."""
        return self.k_per_block // self.taps[0] if self.taps else self.k_per_block

    def buffers_of(self, copy: WavesCopy) -> int:
        """Buffers of LDS of A or of B; of pixels that several taps read ahead there are two."""
        return (
            2 if self.copy == "staged_ahead" or (self.copy == "ahead" and copy.tap_rows) else self.lds_buffers
        )

    @property
    def register_tiles(self) -> int:
        """Tiles on their way in registers, where LDS is read ahead through them."""
        return self.lds_buffers - 1


@dataclass(frozen=True)
class PanelBlock:
    """A workgroup of a CPU.  k_inner: neighbours in k that a panel of A keeps together; stationary: the
    operand that is packed panel by panel.
    """

    pipeline: ClassVar[str] = "cpu"
    block_size: ClassVar[int] = 1
    m_per_block: int
    n_per_block: int
    k_per_block: int
    m_per_thread: int
    n_per_thread: int
    multiply: PanelMultiply
    k_inner: int = 1
    stationary: Stationary = "a"


@dataclass(frozen=True)
class WarpgroupBlock:
    """A workgroup of warpgroups, whose tuning says how they share the work and what stays in shared memory.

    read_dim: the dim whose neighbours lie together in global memory, 0 for k.  clusters: so many of which are
    launched where each computes whole tiles; None for one each.
    """

    pipeline: ClassVar[str] = "warpgroup"
    tuning: Tiled
    matrix_a_source_vector_read_dim: int
    matrix_b_source_vector_read_dim: int
    clusters: int | None = None

    @property
    def block_size(self) -> int:
        return self.tuning.block_size


BlockPlan: TypeAlias = ItemsBlock | WavesBlock | PanelBlock | WarpgroupBlock
Multiply: TypeAlias = ItemsProduct | WavesMultiply | PanelMultiply
Entry: TypeAlias = int | str | tuple[int, ...] | Tiled | None
"""The value of a key."""
Stated = TypeVar("Stated", bound=BlockPlan | Multiply)

PREFIX: Final = {"a": "matrix_a_", "b": "matrix_b_"}
WRITES: Final = {
    "matrix_a_dest_data_per_write": "matrix_a_dest_data_per_write_dim_m",
    "matrix_b_dest_data_per_write": "matrix_b_dest_data_per_write_dim_n",
}
"""Keys of the second draft that name the dimension, too."""


@dataclass(frozen=True)
class Key:
    """A key of a kind: the fields that lead to its value, the type of that, what it usually is."""

    path: tuple[str, ...]
    type: Any
    usual: Any = MISSING

    @property
    def is_needed(self) -> bool:
        return self.usual is MISSING

    def of(self, value: Any) -> Entry:
        for name in self.path:
            value = getattr(value, name)
        return value


@cache
def keys_of(kind: type[Any]) -> Mapping[str, Key]:
    """Keys of a kind but the pipeline's, in order."""
    return dict(_keys(kind, (), ""))


def _keys(kind: type[Any], path: tuple[str, ...], prefix: str) -> Iterator[tuple[str, Key]]:
    types = get_type_hints(kind)
    for field in fields(kind):
        of, at = types[field.name], (*path, field.name)
        if is_dataclass(of):
            yield from _keys(of, at, prefix + PREFIX.get(field.name, ""))  # type: ignore[arg-type]
        elif field.name != "pipeline":
            key = prefix + field.name
            yield WRITES.get(key, key), Key(at, of, field.default)


def pipelines_of(kind: type[BlockPlan] | type[Multiply]) -> tuple[str, ...]:
    """Names of the pipelines of a kind."""
    return get_args(ItemsPipeline) if kind in (ItemsBlock, ItemsProduct) else (kind.pipeline,)  # type: ignore


def entries(value: BlockPlan | Multiply) -> dict[str, Entry]:
    """Values by key, the pipeline first."""
    named = {} if value.pipeline == NAIVE else {"pipeline": value.pipeline}
    found = {name: (key, key.of(value)) for name, key in keys_of(type(value)).items()}
    return named | {name: given for name, (key, given) in found.items() if given != key.usual}


def made(kind: type[Stated], pipeline: str, given: Mapping[str, Any]) -> Stated:
    """The value of a kind with these entries; every key without a usual value is among them."""
    return _made(kind, pipeline, given, "")


def _made(kind: type[Any], pipeline: str, given: Mapping[str, Any], prefix: str) -> Any:
    types = get_type_hints(kind)

    def value(field: Field[Any]) -> Any:
        of, key = types[field.name], prefix + field.name
        if is_dataclass(of):
            return _made(of, pipeline, given, prefix + PREFIX.get(field.name, ""))  # type: ignore[arg-type]
        return pipeline if field.name == "pipeline" else given.get(WRITES.get(key, key), field.default)

    return kind(**{field.name: value(field) for field in fields(kind)})
