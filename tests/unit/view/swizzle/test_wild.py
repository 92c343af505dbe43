"""Layouts of other systems are instances: IREE's data-tiled layouts by its own rules, hip-matmul's kernels,
NVIDIA's mma.sync.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

import numpy as np
import pytest

from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import Fixed, Merge, Unmerge
from imbrex.view.mma import BITS, Instruction, Operand, in_registers, instruction
from imbrex.view.swizzle import (
    INTERLEAVED,
    K_CONVENTIONS,
    LANES_TOGETHER,
    NOT_INTERLEAVED,
    Swizzle,
    TileKernel,
    k_run,
    tile_kernel,
)

Pair = tuple[int, int]
Three = tuple[int, int, int]
INTERLEAVED_M = ("wave", "unroll_n", "outer", "lane", "unroll_m", "unroll_k", "element")


class Layout(NamedTuple):
    """IREE's description of one operand: registers far apart, lanes with their strides, registers side by
    side, each along rows and columns of A [m, k], B [k, n] or C [m, n].
    """

    outer: Pair
    thread: Pair
    tstrides: Pair
    element: Pair

    @property
    def transposed(self) -> Layout:
        return Layout(*((y, x) for x, y in self))


@dataclass
class IreeSwizzle:
    """IREE's tile swizzle, built by its two moves; `is_lane` tells each expanded dimension's kind."""

    expanded: tuple[list[int], list[int]]
    is_lane: tuple[list[bool], list[bool]]
    permutation: list[int]

    @staticmethod
    def of(layout: Layout) -> IreeSwizzle:
        made = IreeSwizzle(([], []), ([], []), [])
        for i in (1, 0):
            made.expand(i, layout.element[i], False)
        for i in (0, 1):
            if layout.tstrides[i]:
                made.expand(i, layout.thread[i], True)
        if min(layout.thread) > 1 and layout.tstrides[0] > layout.tstrides[1] > 0:
            made.permutation[:2] = made.permutation[1::-1]
        for i in (0, 1):
            made.expand(i, layout.outer[i], False)
        return made

    def expand(self, source: int, size: int, is_lane: bool, interleave: bool = False) -> None:
        """A new outermost part of a dimension; in memory outermost, or just inside the last lane part."""
        if size == 1:
            return
        place = sum(len(self.expanded[i]) for i in range(source))
        self.permutation = [place, *(p + (p >= place) for p in self.permutation)]
        self.expanded[source].insert(0, size)
        self.is_lane[source].insert(0, is_lane)
        if interleave:
            lanes = [*self.is_lane[0], *self.is_lane[1]]
            first = self.permutation.pop(0)
            last = max(i for i, p in enumerate(self.permutation) if lanes[p])
            self.permutation.insert(last + 1, first)


def unrolled(
    operand: Operand, layout: Layout, kernel: TileKernel, interleaved: Sequence[str] = ("k",)
) -> IreeSwizzle:
    """IREE's data-tiled layout of an operand: dims in the order in which it expands them."""
    made = IreeSwizzle.of(layout.transposed if operand == "b" else layout)
    (um, un, uk), (wm, wn, wk) = kernel.unroll, kernel.waves
    match operand:
        case "a":
            steps = [(1, uk, "k"), (0, um, "m"), (1, wk, ""), (0, wm, "")]
        case "b":
            steps = [(1, uk, "k"), (0, un, "n"), (1, wk, ""), (0, wn, "")]
        case "c":
            steps = [(1, un, "n"), (0, um, "m"), (1, wn, ""), (0, wm, "")]
    for source, size, name in steps:
        made.expand(source, size, name == "", interleave=name in interleaved and operand != "c")
    return made


def agrees(mine: Swizzle, theirs: IreeSwizzle) -> bool:
    """Do they move every element alike?"""
    rows, columns = theirs.expanded
    shape = [prod(rows), prod(columns)]
    if shape != list(mine.source_shape):
        return False
    iota = np.arange(prod(shape))
    moved = iota.reshape([*rows, *columns]).transpose(theirs.permutation)
    own = iota.reshape(mine.expanded_shape).transpose(mine.permutation)
    return np.array_equal(moved.reshape(-1), own.reshape(-1))


def same_text(mine: Swizzle, theirs: IreeSwizzle) -> bool:
    """The same expand_shape and transpose, where IREE leaves out dimensions of size 1."""
    kept = [i for i, size in enumerate(mine.expanded_shape) if size > 1]
    renumbered = [kept.index(i) for i in mine.permutation if i in kept]
    groups = tuple([p.size for p in group if p.size > 1] for group in mine.groups)
    return groups == theirs.expanded and renumbered == theirs.permutation


def iree_layouts(found: Instruction) -> dict[Operand, Layout] | None:
    """What IREE says of an instruction; None of those it does not have."""
    k, c = found.k, "c"
    if found.blocks > 1 or not {"gfx908", "gfx90a", "gfx942", "gfx950", "gfx11", "gfx12"} & set(found.chips):
        return None
    if found.name.startswith("mfma"):
        edge, groups = found.m, 64 // found.m
        a = Layout((1, 1), (edge, groups), (1, edge), (1, k // groups))
        result = Layout((edge // groups // 4, 1), (groups, edge), (edge, 1), (4, 1))
        if found.c_type == "f64":
            result = Layout((4, 1), (4, 16), (16, 1), (1, 1))
        return {"a": a, "b": _b_of(a), c: result}
    if found.wave == 64:
        return None
    if "gfx11" in found.chips:
        a = Layout((1, 1), (16, 1), (1, 0), (1, k))
        return {"a": a, "b": _b_of(a), c: Layout((8, 1), (2, 16), (16, 1), (1, 1))}
    a = Layout((1, 1), (16, 2), (1, 16), (1, k // 2))
    return {"a": a, "b": _b_of(a), c: Layout((1, 1), (2, 16), (16, 1), (8, 1))}


def _b_of(a: Layout) -> Layout:
    """B [k, n] lies as A transposed."""
    return a.transposed


KNOWN = [found for found in in_registers() if iree_layouts(found)]


@pytest.mark.parametrize("operand", ["a", "b", "c"])
def test_single_instructions_are_irees(operand: Operand) -> None:
    """Where IREE takes all of a lane's k as neighbours, a run of them says the same."""
    for found in (i for i in KNOWN if i.a_type[-1] == i.b_type[-1]):
        layout = (iree_layouts(found) or {})[operand]
        whole = k_run("contiguous", found, 1)
        order = INTERLEAVED if operand == "c" else LANES_TOGETHER
        mine = TileKernel(found, order=order, runs=(None, None, whole)).swizzle(operand)
        assert agrees(mine, IreeSwizzle.of(layout.transposed if operand == "b" else layout)), found


def test_control_irees_model_of_mixed_widths_multiplies_other_k() -> None:
    """The lanes hold k of fp8 in two chunks, and of fp4 in one: no one renumbering makes both neighbours."""
    mixed = instruction("mfma_f32_16x16x128_fp8_fp4")
    kernel = TileKernel(mixed, order=LANES_TOGETHER, runs=(None, None, k_run("contiguous", mixed, 1)))
    layouts = iree_layouts(mixed) or {}
    assert agrees(kernel.swizzle("a"), IreeSwizzle.of(layouts["a"]))
    assert not agrees(kernel.swizzle("b"), IreeSwizzle.of(layouts["b"].transposed))


def test_control_the_hardware_splits_some_of_k() -> None:
    """IREE's model of these renumbers k, which is free; the packed tile is another one."""
    split = {
        found.name
        for found in KNOWN
        if not agrees(TileKernel(found).swizzle("a"), IreeSwizzle.of((iree_layouts(found) or {})["a"]))
    }
    assert "mfma_f32_16x16x128_fp8_fp8" in split and "wmma_f32_16x16x16_f16_w32_gfx12" in split
    assert "mfma_f32_16x16x128_fp4_fp4" not in split and "mfma_f32_32x32x8_f16" not in split


SHAPES = [((1, 1, 4), (1, 1, 1)), ((2, 8, 2), (1, 1, 1)), ((4, 2, 2), (2, 4, 1)), ((2, 2, 1), (1, 2, 4))]
ORDERS = [(INTERLEAVED, "k"), (NOT_INTERLEAVED, ""), (INTERLEAVED_M, "km")]
NAMES = ["mfma_f32_16x16x4_f32", "mfma_f32_16x16x16_f16", "mfma_i32_32x32x16_i8", "mfma_f64_16x16x4_f64"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("unroll", "waves"), SHAPES)
@pytest.mark.parametrize(("order", "interleaved"), ORDERS)
def test_data_tiled_layouts_are_irees(
    name: str,
    unroll: tuple[int, int, int],
    waves: tuple[int, int, int],
    order: tuple[str, ...],
    interleaved: str,
) -> None:
    kernel = TileKernel(instruction(name), unroll, waves, order)
    layouts = iree_layouts(kernel.instruction) or {}
    operands: tuple[Operand, ...] = ("a", "b") if "m" in interleaved else ("a", "b", "c")
    for operand in operands:
        theirs = unrolled(operand, layouts[operand], kernel, tuple(interleaved))
        mine = kernel.swizzle(operand)
        assert agrees(mine, theirs) and same_text(mine, theirs), operand


def test_control_interleaving_is_seen() -> None:
    kernel = tile_kernel("f32_16x16x4_8x8_Kx4")
    layout = (iree_layouts(kernel.instruction) or {})["a"]
    assert not agrees(kernel.swizzle("a"), unrolled("a", layout, kernel, ()))


def test_irees_choice_for_f32() -> None:
    a, c = (tile_kernel("iree_f32").swizzle(o) for o in ("a", "c"))
    assert (a.expanded_shape, a.permutation) == ((2, 4, 16, 4, 4), (0, 1, 4, 2, 3))
    assert (c.expanded_shape, c.permutation) == ((2, 4, 4, 4, 2, 4, 16), (0, 4, 1, 5, 2, 6, 3))


@pytest.mark.parametrize("u", [4, 8])
def test_hip_matmul_of_1024_work_items(u: int) -> None:
    """C in memory: [m outer][n outer][m wave][n wave][m / 4][n][m % 4]; IREE has the waves outermost."""
    hip = replace(tile_kernel("hip_f32_1024"), unroll=(u // 4, u // 4, 4))
    swizzle = hip.swizzle("c")
    m, n = np.indices((16 * u, 16 * u))
    mx, mo, mi = m // 64, m // 16 % 4, m % 16
    nx, no, ni = n // 64, n // 16 % 4, n % 16
    tile = ((mx * (u // 4) + nx) * 4 + mo) * 4 + no
    assert np.array_equal(swizzle.offset.eval({"m": m, "n": n}), tile * 256 + mi // 4 * 64 + ni * 4 + mi % 4)
    if u == 8:
        outer = TileKernel(hip.instruction, hip.unroll, hip.waves).swizzle("c")
        assert not np.array_equal(outer.offset.eval({"m": m, "n": n}), swizzle.offset.eval({"m": m, "n": n}))


def test_hip_matmul_of_32x32x16() -> None:
    """The 16 sums of a lane side by side: [m outer][n outer][m / 4 % 2][n][m / 8][m % 4]."""
    swizzle = tile_kernel("hip_i8_32x32x16").swizzle("c")
    m, n = np.indices((128, 128))
    mi, ni = m % 32, n % 32
    want = (m // 32 * 4 + n // 32) * 1024 + (mi // 4 % 2 * 32 + ni) * 16 + mi // 8 * 4 + mi % 4
    assert np.array_equal(swizzle.offset.eval({"m": m, "n": n}), want)


def test_conventions_of_k() -> None:
    """Which k the first lane holds in a packed row, of 128 bytes of k in four instructions."""
    first = {}
    for convention in K_CONVENTIONS:
        swizzle = tile_kernel("i8_16x16x32_Kx4", convention).swizzle("a")
        packed = np.argsort(swizzle.offset.eval({"m": 0, "k": np.arange(128)}), kind="stable")
        first[convention] = packed[:32].tolist()
    assert first["interleaved"] == [k for i in range(0, 128, 32) for k in range(i, i + 8)]
    assert first["contiguous"] == list(range(32))
    assert first["split16"] == [*range(16), *range(64, 80)]


def test_split16_is_what_f8f6f4_does() -> None:
    """Four 8-bit instructions of 16x16x32 with runs of 16 take the packed tile of one 16x16x128."""
    four = tile_kernel("fp8_16x16x32_Kx4", "split16").swizzle("a")
    one = tile_kernel("fp8_16x16x128").swizzle("a")
    rows, k = np.indices(one.source_shape)
    assert np.array_equal(*(s.offset.eval({"m": rows, "k": k}) for s in (four, one)))
    interleaved = tile_kernel("fp8_16x16x32_Kx4").swizzle("a")
    assert not np.array_equal(*(s.offset.eval({"m": rows, "k": k}) for s in (interleaved, one)))


def nvidia_a() -> Map:
    """A of mma.sync.m16n8k16: lane (group, t), register (k high, row high, k low).  PTX ISA, 9.7.14."""
    dims = (Dim("block", 1), Dim("m", 16), Dim("k", 16))
    below = layer_over(
        dims,
        (Fixed(0), "", "block"),
        (Unmerge(), "row_high group", "m"),
        (Unmerge(), "k_high t k_low", "k"),
        row_high=2, group=8, k_high=2, t=4, k_low=2,
    )  # fmt: skip
    above = layer_over(
        below.upper, (Merge(), "lane", "group t"), (Merge(), "register", "k_high row_high k_low")
    )
    return Map((above, below))


def test_nvidias_mma_sync_is_an_instance() -> None:
    layout = Layout((2, 2), (8, 4), (4, 1), (1, 2))
    found = replace(instruction("mfma_f32_16x16x16_f16"), name="mma_sync", n=8, wave=32, a=nvidia_a())
    assert agrees(TileKernel(found, order=NOT_INTERLEAVED).swizzle("a"), IreeSwizzle.of(layout))
    assert BITS[found.a_type] * 8 == 128
