"""The block level: what the work items of a workgroup do together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)

from imbrex.config.block_plan import PanelMultiply, WavesMultiply
from imbrex.ir.attrs import Bool, Int, Ints, Keyword
from imbrex.ir.literal import Reference
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.ops.grid import STORE_METHODS
from imbrex.ir.ops.known import expect_known
from imbrex.ir.ops.memory import SubviewOp, verify_same_elements
from imbrex.ir.planned import Multiplied, verify_entries
from imbrex.ir.shape import GLOBAL, LDS, PRIVATE, is_bytes, rank_of, shape_of, shape_text, space_of
from imbrex.ir.source import expect

SHARE_KEYS: Final = {
    "vector_dim": "slice_lengths",
    "lane_inner": "slice_lengths",
    "lane_dim": "cluster_lengths",
    "slice_lengths": "cluster_lengths",
}
"""Keys of a copy that say more about another one."""


@irdl_op_definition
class BlockwiseCopyOp(MiopenOp):
    """All work items together copy `source` to `dest`.

    move_source_offset: how far beyond its index this copy's window lies, in elements of the source's first
    dimension that is not indexed (k).  An index fixes the leading coordinates of a view.
    cluster_lengths: work items along (k, m or n) that share the copy; needed where one side is private.
    slice_lengths: neighbours along (k, m or n) that a work item takes at a time, vectors of them along
    `vector_dim`; lane_dim and lane_inner order the work items.  See `view.gemm.tile.Share`.
    *_data_per_*: elements in one access.  direct: from global memory to LDS, past the registers.
    piece: of a direct copy, its number and how many there are; each has some of every work item's.
    """

    name = "miopen.blockwise_copy"
    source = operand_def(MemRefType)
    source_index = var_operand_def(IndexType)
    dest = operand_def(MemRefType)
    dest_index = var_operand_def(IndexType)
    move_source_offset = opt_prop_def(Int)
    cluster_lengths = opt_prop_def(Ints)
    slice_lengths = opt_prop_def(Ints)
    vector_dim = opt_prop_def(Int)
    lane_dim = opt_prop_def(Int)
    lane_inner = opt_prop_def(Int)
    source_data_per_read = opt_prop_def(Int)
    dest_data_per_write = opt_prop_def(Int)
    direct = opt_prop_def(Bool)
    piece = opt_prop_def(Ints)
    store_method = opt_prop_def(Keyword)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        expect_known(self.store_method, STORE_METHODS, "store_method")
        verify_same_elements(self.source, self.dest)
        verify_index(self.source, len(self.source_index), 0)
        verify_index(self.dest, len(self.dest_index), 1)
        _verify_widths(self)
        adds = self.store_method is not None and self.store_method.data == "atomic_add"
        message = "what is added atomically is in global memory"
        expect(not adds or space_of(self.dest) == GLOBAL, message, "store_method")
        for key, wanted in SHARE_KEYS.items():
            is_whole = key not in self.properties or wanted in self.properties
            expect(is_whole, f"'{key}' goes with '{wanted}', which is left out", key)
        self._verify_share()

    def _verify_share(self) -> None:
        """How work items share a copy is said where they do; a direct copy has an order of its own."""
        is_direct = self.direct is not None and self.direct.data
        for key in ("cluster_lengths", "dest_data_per_write"):
            expect(not is_direct or key not in self.properties, f"a direct copy has no '{key}'", key)
        if self.piece is not None:
            given = self.piece.data
            message = f"'piece' is the number of a piece of a direct copy, and how many; got {list(given)}"
            expect(is_direct and len(given) == 2 and 0 <= given[0] < given[1], message, "piece")
        for key, last in (("vector_dim", 1), ("lane_dim", 1)):
            value = self.properties.get(key)
            inside = not isinstance(value, Int) or 0 <= value.data <= last
            expect(inside, f"'{key}' is 0 or 1", key)
        for key in ("cluster_lengths", "slice_lengths"):
            value = self.properties.get(key)
            fits = not isinstance(value, Ints) or (len(value.data) == 2 and min(value.data) > 0)
            expect(fits, f"'{key}' takes two positive lengths, along k first", key)


@irdl_op_definition
class BlockwiseGemmOp(MiopenOp):
    """c[m, n] += sum_k a[k, m] * b[k, n] over a block: a and b in LDS, c in the work items' registers.

    multiply: who multiplies what, of the kind that its pipeline names, see `config.block_plan`. Where waves
    multiply by an instruction, c is [m_tile, n_tile, register].  scale_a, scale_b: of a microscaled product,
    in global memory, one for each element of a and of b.
    """

    name = "miopen.blockwise_gemm"
    a = operand_def(MemRefType)
    a_index = var_operand_def(IndexType)
    b = operand_def(MemRefType)
    b_index = var_operand_def(IndexType)
    c = operand_def(MemRefType)
    c_index = var_operand_def(IndexType)
    scale_a = opt_operand_def(MemRefType)
    scale_a_index = var_operand_def(IndexType)
    scale_b = opt_operand_def(MemRefType)
    scale_b_index = var_operand_def(IndexType)
    multiply = prop_def(Multiplied)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        verify_entries(self.multiply.data)
        for i, (operand, space, where) in enumerate(
            ((self.a, LDS, "LDS"), (self.b, LDS, "LDS"), (self.c, PRIVATE, "private"))
        ):
            have = space_of(operand)
            expect(have == space, f"'{'abc'[i]}' is in {where} memory (#{space}), got #{have}", "type", i)
        for i, count in enumerate((len(self.a_index), len(self.b_index), len(self.c_index))):
            verify_index((self.a, self.b, self.c)[i], count, i)
        if not isinstance(self.multiply.data, PanelMultiply):  # panels put their number before k
            verify_reduction(self.a, len(self.a_index), self.b, len(self.b_index))
            for i, (view, count) in enumerate(((self.a, len(self.a_index)), (self.b, len(self.b_index)))):
                rank = rank_of(view) - count
                message = f"an operand is a matrix (k, {'mn'[i]}), got rank {rank}; panels are for 'cpu'"
                expect(rank == 2 or is_bytes(view), message, "type", i)
        self._verify_extents()
        self._verify_scales()

    def _verify_scales(self) -> None:
        """Scales are of a product of waves, as large as what they scale."""
        given = [(s, len(i)) for s, i in self.scales if s is not None]
        expect(len(given) in (0, 2), "there are scales of a and of b, or none")
        for position, (value, count) in enumerate(given):
            is_waves = isinstance(self.multiply.data, WavesMultiply)
            expect(is_waves, "a microscaled product is of waves", "type", 3 + position)
            verify_index(value, count, 3 + position)
            wanted, have = shape_of((self.a, self.b)[position]), shape_of(value)[count:]
            message = f"scales are {shape_text(wanted)} here, got {shape_text(have)}"
            expect(wanted == have, message, "type", 3 + position)

    @property
    def scales(self) -> tuple[tuple[SSAValue | None, Sequence[SSAValue]], ...]:
        """Scales of a and of b, and where they are taken."""
        return (self.scale_a, self.scale_a_index), (self.scale_b, self.scale_b_index)

    def _verify_extents(self) -> None:
        """Views whose sizes are values: b is (k, n), where a is (k, m) and c (m, n)."""
        m, n = _extent(self.c, 0), _extent(self.c, 1)
        if m is None or n is None or m is n:
            return
        for position, (view, wanted, other) in enumerate(((self.a, m, n), (self.b, n, m))):
            name, have = "ab"[position], _extent(view, 1)
            message = (
                f"'{name}' is seen as [k, %{other.name_hint}], but is [k, %{wanted.name_hint}] of c's view"
            )
            expect(have is not other, message, "operand", position)


def _extent(view: SSAValue, position: int) -> SSAValue | None:
    """The value that says a size of a subview; None where a number does."""
    owner = view.owner
    if not isinstance(owner, SubviewOp) or owner.dimension is None or len(owner.dimension.data) != 2:
        return None
    given = owner.dimension.data[position]
    return owner.sizes[given.index] if isinstance(given, Reference) else None


def _verify_widths(op: BlockwiseCopyOp) -> None:
    """An access moves 1, 2, 4, 8 .. elements."""
    for key, value in op.properties.items():
        if "data_per" in key and isinstance(value, Int):
            is_power = value.data > 0 and value.data & (value.data - 1) == 0
            expect(is_power, f"'{key}' is a power of two, got {value.data}", key)


def verify_index(view: SSAValue, count: int, operand: int) -> None:
    """An index names leading coordinates: no more of them than there are dimensions."""
    rank = rank_of(view)
    expect(count <= rank, f"{count} indices are given for a view of rank {rank}", "type", operand)


def verify_reduction(a: SSAValue, a_index: int, b: SSAValue, b_index: int) -> None:
    """The first dimension that is not indexed is k, in a and in b alike."""
    if is_bytes(a) or is_bytes(b):
        return
    (ka, *_), (kb, *_) = (*shape_of(a)[a_index:], None), (*shape_of(b)[b_index:], None)
    expect(ka is None or kb is None or ka == kb, f"k of a and b differ: {ka} and {kb}", "type", 1)
