"""Where a work item's copy or product starts: every form of an offset, executed and lowered, or refused."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.ir.dialect import load
from imbrex.ir.meaning import execute
from imbrex.ir.source import InvalidOp
from imbrex.lower.build import program
from imbrex.lower.stmt import Kernel, Move, walk

READ = """
func.func @copy(%x: memref<4x128xf32>, %y: memref<8xf32>) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = ITEMS } do {
    %block = miopen.alloc() : memref<4x128xf32, #3>
    %thread = miopen.alloc() : memref<8xf32, #5>
    miopen.threadwise_copy(%x, %block)
    miopen.lds_barrier()
    miopen.threadwise_copy(%block, %thread) { OFFSETS }
    miopen.threadwise_copy(%thread, %y)
  }
  func.return
}
"""
WRITE = """
func.func @copy(%x: memref<8xf32>, %y: memref<4x16xf32>) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = ITEMS } do {
    %block = miopen.alloc() : memref<8xf32, #3>
    %seen = miopen.transform(%block) {
      layout = [0: passthrough(0: n), n]
    } : memref<8xf32, #3> to memref<8xf32, #3>
    %thread = miopen.alloc() : memref<4x16xf32, #5>
    %zero = arith.constant 0.0 : f32
    miopen.fill(%thread, %zero)
    miopen.threadwise_copy(%x, %block)
    miopen.lds_barrier()
    miopen.threadwise_copy(%seen, %thread) { OFFSETS }
    miopen.threadwise_copy(%thread, %y)
  }
  func.return
}
"""
PRODUCT = """
func.func @product(%x: memref<1x8xf32>, %y: memref<4x8xf32>) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 1 } do {
    %a = miopen.alloc() : memref<1x8xf32, #5>
    %c = miopen.alloc() : memref<4x8xf32, #5>
    %zero = arith.constant 0.0 : f32
    miopen.fill(%c, %zero)
    miopen.threadwise_copy(%x, %a)
    miopen.threadwise_gemm(%a, %a, %c) { m_per_thread = 2, n_per_thread = 4, OFFSETS }
    miopen.threadwise_copy(%c, %y)
  }
  func.return
}
"""


def ran(text: str, source: npt.NDArray[np.float32], shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    read, result = load(text.replace("ITEMS", "1")), np.zeros(shape, np.float32)
    with read.sources.diagnosing():
        execute(read.module, [source.copy(), result])
    return result


def moves(text: str) -> list[Move]:
    """The copies of one of several work items."""
    text = text.replace("miopen.threadwise_copy(%x, %block)", "").replace("ITEMS", "64")
    (kernel,) = program(load(text).module, frozenset({1})).launches
    assert isinstance(kernel, Kernel)
    return [s for s in walk(kernel.body) if isinstance(s, Move)]


@pytest.mark.parametrize(
    ("offsets", "start"),
    [
        ("offset_source = 320", 320),
        ("offset_source = [2, 64]", 320),
        ("offset_block = 320", 320),
        ("offset_block = [2, 64]", 320),
        ("offset_block = 7, offset_thread = 0", 7),
        ("offset_source = 7, offset_thread = [0]", 7),
    ],
)
def test_a_copy_reads_from_its_offset_on(offsets: str, start: int) -> None:
    x = np.arange(512, dtype=np.float32).reshape(4, 128)
    text = READ.replace("OFFSETS", offsets)
    assert (ran(text, x, (8,)) == np.arange(start, start + 8)).all()
    (move,) = (m for m in moves(text) if m.dest.buffer.name == "thread")
    assert move.source.offset.bounds[0] == start


@pytest.mark.parametrize(
    "offsets", ["offset_dest = 37", "offset_thread = 37", "offset_thread = [2, 5]", "offset_dest = [2, 5]"]
)
def test_a_copy_writes_from_its_offset_on(offsets: str) -> None:
    x = np.arange(1, 9, dtype=np.float32)
    text = WRITE.replace("OFFSETS", offsets)
    want = np.zeros(64, np.float32)
    want[37:45] = x
    assert (ran(text, x, (4, 16)).ravel() == want).all()
    (move,) = (m for m in moves(text) if m.source.buffer.name == "block")
    assert move.dest.offset.bounds[0] == 37


@pytest.mark.parametrize(
    "offsets",
    ["offset_a = 2, offset_b = 3, offset_c = 12", "offset_a = [0, 2], offset_b = [0, 3], offset_c = [1, 4]"],
)
def test_a_product_takes_the_part_at_its_offsets(offsets: str) -> None:
    x = np.arange(1, 9, dtype=np.float32).reshape(1, 8)
    want = np.zeros((4, 8), np.float32)
    want[1:3, 4:8] = x[:, 2:4].T @ x[:, 3:7]
    assert (ran(PRODUCT.replace("OFFSETS", offsets), x, (4, 8)) == want).all()


@pytest.mark.parametrize(
    ("text", "offsets", "message"),
    [
        (READ, "offset_source = [2]", "1 offset is given for 2 dimensions without an index"),
        (READ, "offset_source = [4, 0]", "offset 4 lies outside of a dimension of size 4"),
        (READ, "offset_source = -1", "an offset is not negative, got -1"),
        (READ, "offset_source = 1, offset_block = 1", "'offset_source' says where the source starts"),
        (WRITE, "offset_block = [3]", "a view is indexed; this is for plain buffers"),
        (PRODUCT, "offset_a = 7", "the part is 7 to 9 of 8"),
        (PRODUCT, "offset_c = [3, 0]", "the part is 3 to 5 of 4"),
        (PRODUCT, "offset_b = [1, 0]", "offset 1 lies outside of a dimension of size 1"),
    ],
)
def test_an_offset_that_cannot_be_is_refused(text: str, offsets: str, message: str) -> None:
    with pytest.raises(Diagnostic) as caught:
        load(text.replace("ITEMS", "1").replace("OFFSETS", offsets))
    assert message in caught.value.message and caught.value.line is not None


def test_a_thread_or_a_block_that_is_not_there_is_refused() -> None:
    text = READ.replace(
        "%thread = miopen.alloc() : memref<8xf32, #5>", "%thread = miopen.alloc() : memref<8xf32, #3>"
    )
    with pytest.raises(Diagnostic, match="'offset_thread' is for a copy between a block's buffer"):
        load(text.replace("ITEMS", "1").replace("OFFSETS", "offset_thread = 1"))


def test_what_leaves_its_buffer_is_a_fault_at_its_line() -> None:
    with pytest.raises(Diagnostic, match="reads element 512 of a buffer of 512") as caught:
        ran(READ.replace("OFFSETS", "offset_source = 510"), np.zeros((4, 128), np.float32), (8,))
    assert caught.value.line == 8


def test_panels_have_no_parts() -> None:
    with pytest.raises(InvalidOp, match="a block of one work item copies whole panels"):
        text = READ.replace("miopen.threadwise_copy(%x, %block)", "").replace("OFFSETS", "offset_source = 8")
        program(load(text.replace("ITEMS", "1")).module, frozenset({1}))
