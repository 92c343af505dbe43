"""The thread level: what one work item does by itself."""

from __future__ import annotations

from typing import Final, Literal

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    var_operand_def,
)

from imbrex.ir.attrs import Bool, Float, Int, Keyword, Offset
from imbrex.ir.ops.block import verify_index, verify_reduction
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.ops.grid import STORE_METHODS
from imbrex.ir.ops.known import expect_known
from imbrex.ir.ops.memory import verify_same_elements
from imbrex.ir.ops.view import TransformOp
from imbrex.ir.shape import PRIVATE, is_bytes, shape_of, space_of
from imbrex.ir.source import InvalidField, expect
from imbrex.numeral import counted

SIDES: Final = ("source", "dest")
OFFSETS: Final = frozenset({"offset_source", "offset_dest", "offset_block", "offset_thread"})
PART_KEYS: Final = ("offset_a", "offset_b", "offset_c", "m_per_thread", "n_per_thread")


@irdl_op_definition
class ThreadwiseCopyOp(MiopenOp):
    """One work item copies `source` to `dest`: dest = alpha * source + beta * dest, or adds atomically.

    offset_*: where the copy starts: in the source, in the destination, and, as the seeds' naive form has it,
    in the block's buffer and in the thread's registers; see `start_in`.  vector: most elements of an access.
    direct: from global memory to LDS, past the registers; the work items of a wave then write neighbouring
    vectors, in their order.  turned: from LDS to registers, `vector` neighbours of the source's last
    dimension at a time, which lie apart in LDS; 16 lanes read for each other what lies together there, and
    transpose it.
    """

    name = "miopen.threadwise_copy"
    source = operand_def(MemRefType)
    source_index = var_operand_def(IndexType)
    dest = operand_def(MemRefType)
    dest_index = var_operand_def(IndexType)
    offset_source = opt_prop_def(Offset)
    offset_dest = opt_prop_def(Offset)
    offset_block = opt_prop_def(Offset)
    offset_thread = opt_prop_def(Offset)
    vector = opt_prop_def(Int)
    direct = opt_prop_def(Bool)
    turned = opt_prop_def(Bool)
    store_method = opt_prop_def(Keyword)
    alpha = opt_prop_def(Float)
    beta = opt_prop_def(Float)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        expect_known(self.store_method, STORE_METHODS, "store_method")
        if self.vector is not None:
            expect(self.vector.data > 0, f"'vector' is positive, got {self.vector.data}", "vector")
        verify_same_elements(self.source, self.dest)
        verify_index(self.source, len(self.source_index), 0)
        verify_index(self.dest, len(self.dest_index), 1)
        if not OFFSETS.isdisjoint(self.properties):
            for side in SIDES:
                self._verify_offsets(side)

    @property
    def source_start(self) -> int:
        """Elements of the source's buffer before the first that is copied."""
        return self._start("source")

    @property
    def dest_start(self) -> int:
        return self._start("dest")

    def _end(self, side: str) -> tuple[SSAValue, int]:
        """An end's view, and how many of its coordinates are given."""
        if side == "source":
            return self.source, len(self.source_index)
        return self.dest, len(self.dest_index)

    def _offsets(self, side: str) -> list[str]:
        """The keys that say where the copy starts at this end: its own, the block's or the thread's."""
        if OFFSETS.isdisjoint(self.properties):
            return []
        held = [space_of(self._end(s)[0]) == PRIVATE for s in SIDES]
        own = held[SIDES.index(side)]
        other = f"offset_{'thread' if own else 'block'}"
        return [
            key
            for key in (f"offset_{side}", *([other] if held[0] != held[1] else []))
            if key in self.properties
        ]

    def _start(self, side: str) -> int:
        (view, count), keys = self._end(side), self._offsets(side)
        given = self.properties[keys[0]] if keys else None
        return start_in(view, count, given if isinstance(given, Offset) else None)

    def _verify_offsets(self, side: str) -> None:
        (view, count), keys = self._end(side), self._offsets(side)
        if len(keys) > 1:
            raise InvalidField(f"'{keys[0]}' says where the {side} starts; leave one of the two out", keys[1])
        for key in ("offset_block", "offset_thread"):
            used = key not in self.properties or key in (*self._offsets("source"), *self._offsets("dest"))
            message = f"'{key}' is for a copy between a block's buffer and a thread's registers (#{PRIVATE})"
            expect(used, message, key)
        for key in keys:
            verify_offset(view, count, self.properties[key], key)


def verify_offset(view: SSAValue, count: int, given: Attribute, key: str) -> None:
    """An offset is in the buffer; one a dimension is of those that are not indexed, of a plain buffer."""
    assert isinstance(given, Offset), given
    offsets, sizes = given.data, shape_of(view)[count:]
    if isinstance(offsets, int):
        expect(offsets >= 0, f"an offset is not negative, got {offsets}", key)
        return
    expect(not isinstance(view.owner, TransformOp), "a view is indexed; this is for plain buffers", key)
    offsets_are = counted(len(offsets), "offset is", "offsets are")
    message = f"{offsets_are} given for {counted(len(sizes), 'dimension')} without an index"
    expect(len(offsets) == len(sizes), message, key)
    for i, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
        inside = 0 <= offset and (size is None or offset < size)
        expect(inside, f"offset {offset} lies outside of a dimension of size {size}", key, i)


def start_in(view: SSAValue, count: int, given: Offset | None) -> int:
    """The elements that an offset skips: as many as it says, or those before the one that it names.

    count: how many coordinates of the view are given; the offsets of a list are of the others.
    """
    if given is None:
        return 0
    if isinstance(given.data, int):
        return given.data
    start = 0
    for offset, size in zip(given.data, shape_of(view)[count:], strict=True):
        assert size is not None, "sizes are known when a copy runs"
        start = start * size + offset
    return start


@irdl_op_definition
class ThreadwiseGemmOp(MiopenOp):
    """c[m, n] += sum_k a[k, m] * b[k, n] in one work item's registers, on the dims that are not indexed.

    offset_*: where the product's part of a whole buffer starts, in elements or one a dimension: for a and b a
    column, for c a row and a column; m_per_thread, n_per_thread: the part's size, all of the buffer if not
    given.  Operands that are indexed have no parts.  An operand of rank 3 is [k / inner, m or n, k % inner].
    instruction: of a CPU, where it is not a multiply-add of the sum's type.
    """

    name = "miopen.threadwise_gemm"
    a = operand_def(MemRefType)
    a_index = var_operand_def(IndexType)
    b = operand_def(MemRefType)
    b_index = var_operand_def(IndexType)
    c = operand_def(MemRefType)
    c_index = var_operand_def(IndexType)
    offset_a = opt_prop_def(Offset)
    offset_b = opt_prop_def(Offset)
    offset_c = opt_prop_def(Offset)
    m_per_thread = opt_prop_def(Int)
    n_per_thread = opt_prop_def(Int)
    instruction = opt_prop_def(Keyword)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        a, b, c = views = self.a, self.b, self.c
        counts = len(self.a_index), len(self.b_index), len(self.c_index)
        for i, (view, count) in enumerate(zip(views, counts, strict=True)):
            verify_index(view, count, i)
        if len(shape_of(a)) - counts[0] == 2:
            verify_reduction(a, counts[0], b, counts[1])
        given = [key for key in PART_KEYS if key in self.properties]
        if given and any(counts):
            raise InvalidField(
                f"'{given[0]}' takes a part of a whole buffer; here operands are indexed", given[0]
            )
        for key in ("m_per_thread", "n_per_thread"):
            size = self.properties.get(key)
            positive = not isinstance(size, Int) or size.data > 0
            expect(positive, f"'{key}' is positive, got {size.data if isinstance(size, Int) else ''}", key)
        for side, view in (("a", a), ("b", b), ("c", c)):
            if f"offset_{side}" in self.properties:
                verify_offset(view, 0, self.properties[f"offset_{side}"], f"offset_{side}")
        if given and not any(is_bytes(v) or None in shape_of(v) for v in views):
            self._verify_part()

    def start(self, side: Literal["a", "b", "c"]) -> int:
        """Elements before the part of a buffer."""
        view = self.a if side == "a" else self.b if side == "b" else self.c
        given = self.properties.get(f"offset_{side}")
        return start_in(view, 0, given if isinstance(given, Offset) else None)

    def _verify_part(self) -> None:
        """The part lies in rows and columns that are there."""
        shapes = [shape_of(v) for v in (self.a, self.b, self.c)]
        ranks = [len(shape) for shape in shapes]
        expect(ranks == [2, 2, 2], f"parts are of operands of rank 2, got {ranks}", "type", 0)
        (_, pitch_a), (_, pitch_b), (rows, columns) = shapes
        m = pitch_a if self.m_per_thread is None else self.m_per_thread.data
        n = pitch_b if self.n_per_thread is None else self.n_per_thread.data
        assert m is not None and n is not None and rows is not None and columns is not None
        row, column = divmod(self.start("c"), columns)
        for key, first, size, whole in (
            ("offset_a", self.start("a"), m, pitch_a),
            ("offset_b", self.start("b"), n, pitch_b),
            ("offset_c", row, m, rows),
            ("offset_c", column, n, columns),
        ):
            message = f"the part is {first} to {first + size} of {whole}"
            expect(whole is not None and first + size <= whole, message, key)
