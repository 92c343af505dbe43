"""Widths from the algebra are legal at every element; the closed rules of 2020 are an oracle beside them.

The old rules went by the layout's name.  Where they are safe, the algebra must not be narrower than they
were; where they are not, it must be narrower.  They were unsafe in three ways, each shown below: the image
under a filter larger than 1x1 (a row starts wherever y and x slide it), a filter whose memory order is not
that of the reduction, and C with k last (the length 0 that stood for "no vector" made gcd(0, n) = n).
"""

import itertools
from math import gcd, prod

import numpy as np
import pytest

from imbrex.config.access import access_of, context_of
from imbrex.dtype import F16, F32, F64, I8, DType
from imbrex.index.map import Dim, Map
from imbrex.view.conv.implicit_gemm import Convolution, forward
from imbrex.view.gemm.product import plain

from .convs import convolution

WIDEST = 4
FILTERS = [" ".join(p) for p in itertools.permutations(("k", "c", "y", "x"))]
IMAGES = ["n c hi wi", "n hi wi c", "c n hi wi", "hi wi n c", "n hi c wi", "c hi wi n"]
OUTPUTS = ["n k ho wo", "n ho wo k", "k n ho wo", "ho wo n k", "n ho k wo"]
SHAPES = [
    {"n": 4, "c": 4, "h": 6, "w": 6, "k": 8, "y": 1, "x": 1},
    {"n": 2, "c": 4, "h": 6, "w": 6, "k": 4, "y": 3, "x": 3, "pad": 1},
    {"n": 2, "c": 8, "h": 6, "w": 10, "k": 4, "y": 3, "x": 3},
    {"n": 4, "c": 2, "h": 9, "w": 9, "k": 4, "y": 2, "x": 2, "stride": 2},
    {"n": 1, "c": 4, "h": 8, "w": 8, "k": 4, "y": 1, "x": 4, "dilation": 1},
]


def is_legal(view: Map, position: int, width: int) -> bool:
    """By definition: every aligned group along the dim is aligned neighbours, all valid or none."""
    sizes = [d.size for d in view.upper]
    if sizes[position] % width:
        return False
    coords, valid = view.evaluate(list(np.indices(sizes)))
    offset = np.zeros(sizes, dtype=np.int64)
    for coord, dim in zip(coords, view.lower, strict=True):
        offset = offset * dim.size + coord
    groups = np.moveaxis(np.broadcast_to(offset, sizes), position, -1).reshape(-1, width)
    alive = np.moveaxis(np.broadcast_to(valid, sizes), position, -1).reshape(-1, width)
    used = groups[alive.any(axis=1)]
    return bool(
        (alive.all(axis=1) == alive.any(axis=1)).all()
        and (used[:, 0] % width == 0).all()
        and (np.diff(used, axis=1) == 1).all()
    )


def old_filter(conv: Convolution) -> tuple[int, int]:
    """(dim, length) that 2020 would read along, for A of the forward direction."""
    names, sizes = [d.name for d in conv.filter], [d.size for d in conv.filter]
    at = names.index("k")
    if at == 3:
        return 1, sizes[3]
    return 0, prod(sizes[1:]) if at == 0 else prod(sizes[2:]) if at == 1 else sizes[3]


def old_image(conv: Convolution) -> tuple[int, int]:
    """The same for B."""
    sizes = dict(conv.input)
    last = conv.input[-1].name
    if last == "c":
        return 0, sizes["c"]
    if last == "n":
        return 1, sizes["n"]
    plain_window = conv.strides == (1, 1) and conv.padding == ((0, 0), (0, 0))
    return 1, sizes["hi"] * sizes["wi"] if plain_window else 1


def old_output(conv: Convolution) -> tuple[int, int]:
    """The same for C, whose vectors run along gemmN: 0 stands for none."""
    names, sizes = [d.name for d in conv.output], [d.size for d in conv.output]
    at = names.index("k")
    return 1, 0 if at == 3 else prod(sizes[1:]) if at == 0 else prod(sizes[2:]) if at == 1 else sizes[3]


CASES = [(s, (f, i, o)) for s in SHAPES for f, i, o in [(f, IMAGES[0], OUTPUTS[0]) for f in FILTERS]] + [
    (s, (FILTERS[0], i, o)) for s in SHAPES for i, o in itertools.product(IMAGES, OUTPUTS)
]


def test_widths_are_legal_and_no_narrower_than_a_safe_old_rule() -> None:
    unsafe: set[str] = set()
    for shape, layouts in CASES:
        conv = convolution(**shape, layouts=layouts)
        view = forward(conv)
        for name, matrix, (dim, length) in (
            ("filter", view.a, old_filter(conv)),
            ("image", view.b, old_image(conv)),
            ("output", view.c, old_output(conv)),
        ):
            found = access_of(matrix, F32).vector
            first = len(matrix.upper) - 2
            assert all(is_legal(matrix, first + i, found[i]) for i in (0, 1)), (shape, layouts, name)
            old = gcd(WIDEST, length) if name == "output" else WIDEST if length % WIDEST == 0 else 1
            if is_legal(matrix, first + dim, old):
                assert found[dim] >= old, (shape, layouts, name)
            else:
                assert found[dim] < old, (shape, layouts, name)
                unsafe.add(name)
    assert unsafe == {"filter", "image", "output"}, "the old rules fail for each of the three"


@pytest.mark.parametrize(
    ("shape", "layouts", "operand", "old", "new"),
    [
        (SHAPES[2], ("k c y x", "n c hi wi", "n k ho wo"), "b", 4, 1),
        (SHAPES[2], ("k y x c", "n c hi wi", "n k ho wo"), "a", 4, 1),
        (SHAPES[0], ("k c y x", "n hi wi c", "n ho wo k"), "c", 4, 1),
    ],
)
def test_where_the_old_rules_were_too_wide(
    shape: dict[str, int], layouts: tuple[str, str, str], operand: str, old: int, new: int
) -> None:
    conv = convolution(**shape, layouts=layouts)
    matrix: Map = getattr(forward(conv), operand)
    dim, length = {"a": old_filter, "b": old_image, "c": old_output}[operand](conv)
    assert gcd(WIDEST, length) == old
    assert access_of(matrix, F32).vector[dim] == new
    assert not is_legal(matrix, dim, old)


def test_pads_that_are_not_multiples_split_vectors() -> None:
    """rocMLIR's wrong-result bug: rows of 4 padded on the right, so that a pair straddles the edge."""
    conv = convolution(n=1, c=1, h=4, w=4, k=1, y=1, x=1, pad=1)
    assert access_of(forward(conv).b, F32).vector == (1, 1)


@pytest.mark.parametrize(("dtype", "widest"), [(F32, 4), (F16, 8), (F64, 2), (I8, 16)])
def test_a_vector_is_sixteen_bytes(dtype: DType, widest: int) -> None:
    context = context_of(plain(64, 64, 64, transpose_a=True), dtype)
    assert context.a.vector == context.b.vector == context.c.vector == (1, widest)
    assert context_of(plain(64, 64, 64), dtype).a.vector == (widest, 1)


def test_runs_are_lengths_of_unit_stride() -> None:
    conv = convolution(n=2, c=4, h=14, w=14, k=8, y=3, x=3, pad=1)
    context = context_of(forward(conv), F32)
    assert context.a.run == (36.0, 1.0)
    assert context.b.run == (3.0, 196.0), (
        "as many rows out as in: the end of one is next to the start of the other"
    )
    assert context.c.run == (1.0, 196.0)
    smaller = convolution(n=2, c=4, h=14, w=14, k=8, y=3, x=3)
    assert context_of(forward(smaller), F32).b.run[1] == 12.0
    last = convolution(
        n=2, c=4, h=14, w=14, k=8, y=3, x=3, pad=1, layouts=("k y x c", "n hi wi c", "n ho wo k")
    )
    context = context_of(forward(last), F32)
    assert context.a.run[0] == 36.0 and context.b.run == (12.0, 1.0) and context.c.run == (8.0, 1.0)


def test_steps_tell_strided_windows_from_scattered_ones() -> None:
    """A stride of 2 puts neighbours of a row two apart, in stretches as long as the output row."""
    halved = context_of(forward(convolution(n=2, c=4, h=29, w=29, k=8, y=3, x=3, stride=2)), F32)
    assert halved.b.step[1] == 2 and halved.b.run[1] == 14.0
    thirds = context_of(forward(convolution(n=2, c=4, h=30, w=30, k=8, y=3, x=3, stride=3)), F32)
    assert thirds.b.step[1] == 0 and thirds.b.run[1] == 1.0
    assert thirds.a.step == (1, 0) and thirds.a.exchanged.step == (0, 1)


def test_groups_become_g() -> None:
    filters = (Dim("g", 3), Dim("k", 4), Dim("c", 2), Dim("y", 3), Dim("x", 3))
    images = (Dim("n", 2), Dim("g", 3), Dim("c", 2), Dim("hi", 6), Dim("wi", 6))
    outputs = (Dim("n", 2), Dim("g", 3), Dim("k", 4), Dim("ho", 4), Dim("wo", 4))
    conv = Convolution(filters, images, outputs, (1, 1), (1, 1), ((0, 0), (0, 0)))
    context = context_of(forward(conv), F32)
    assert (context.g, context.m, context.n, context.k) == (3, 4, 32, 18)
    assert context.a.run[0] == 18.0
