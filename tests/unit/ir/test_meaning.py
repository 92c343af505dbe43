"""One problem means the same at every level: conv2d or gemm, gridwise product, tuned, blocks, threads.

Integer values make every sum exact, so that levels must agree to the last bit; outputs start poisoned.  The
reference shares nothing with the views or the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from tests.pairs import in_turn, one_in
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from imbrex.ir.attrs import Int, Keyword, Layout, Offset
from imbrex.ir.meaning import execute
from imbrex.ir.ops import (
    BlockwiseCopyOp,
    BlockwiseGemmOp,
    FillOp,
    GridwiseGemmOp,
    LdsBarrierOp,
    ThreadwiseCopyOp,
    ThreadwiseGemmOp,
    TransformOp,
)
from imbrex.ir.source import InvalidOp
from imbrex.problem import Conv2d, Gemm

from .levels import (
    GENERAL,
    Array,
    Case,
    assert_every_level_is_its_text,
    assert_every_level_is_right,
    computed,
    same,
)

NAIVE_4x2 = "v1:general:64,64,32,4,2,2"
NAIVE_1x2 = "v1:general:128,32,32,4,2,2"
NAIVE_1x1 = "v1:general:256,32,32,8,2,2"
WIDE = "v1:general:64,64,64,4,4,4"
CPU = "v1:cpu:4,16,8,32,12,16,k_major,a,straight"
CPU_FORMS = [
    f"v1:cpu:4,16,8,32,20,16,{layout},{stationary},{order}"
    for layout in ("k_major", "k_blocked")
    for stationary in "ab"
    for order in ("straight", "swapped")
]


def conv(direction: str = "forward", **given: object) -> Conv2d:
    """A small 3x3 convolution of everything odd, unless told otherwise."""
    sizes = {"n": 2, "c": 3, "h": 6, "w": 5, "k": 4, "y": 3, "x": 3}
    rest: dict[str, object] = {"pad_h": (1, 1), "pad_w": (1, 0)}
    return Conv2d(direction, **(sizes | rest | given))  # type: ignore[arg-type]


DIRECTIONS = ("forward", "backward_data", "backward_weight")
NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
CNHW = {"filter_layout": "YXCK", "input_layout": "CNHW", "output_layout": "KNHW"}
ODD = {"filter_layout": "XKCY", "input_layout": "HCWN", "output_layout": "WNKH"}
FORMS: dict[str, dict[str, object]] = {
    "plain": {},
    "stride": {"stride": (2, 3)},
    "dilation": {"dilation": (2, 1), "pad_h": (2, 1)},
    "both": {"stride": (2, 2), "dilation": (2, 3), "pad_w": (3, 2), "h": 7, "w": 7},
    "groups": {"groups": 2, "c": 4, "stride": (1, 2)},
    "depthwise": {"groups": 4, "c": 4, "k": 8},
    "1x1": {"y": 1, "x": 1, "pad_h": 0, "pad_w": 0, "stride": (2, 1)},
    "nhwc": NHWC,
    "cnhw": CNHW,
    "odd layouts": {**ODD, "groups": 2, "c": 4, "stride": (2, 1)},
}
STEPS = [Case(Gemm(33, 20, k)) for k in (4, 8, 12, 16, 20, 10)]
TILES = [Case(Gemm(40, 33, 9), tuning) for tuning in (NAIVE_4x2, NAIVE_1x2, NAIVE_1x1, WIDE)]
PRODUCTS = [
    Case(Gemm(5, 7, 9, batch=3, transpose_a=True)),
    Case(Gemm(5, 7, 9, transpose_b=True, alpha=2.0)),
    Case(Gemm(5, 7, 9, batch=2, transpose_a=True, transpose_b=True, alpha=-1.0, beta=3.0)),
    Case(Gemm(5, 7, 9, beta=0.5), CPU),
    Case(Gemm(37, 5, 9, batch=2, transpose_b=True, alpha=0.5, beta=1.0), CPU_FORMS[-1]),
]
TYPES = [
    Case(problem, tuning)
    for name in ("f16", "bf16", "f64", "i8")
    for problem in (conv(dtype=name), Gemm(9, 33, 13, dtype=name, alpha=2.0, beta=-1.0))
    for tuning in (GENERAL, CPU if name != "f64" else "v1:cpu:4,8,8,32,12,8,k_blocked,b,straight")
]
GRADIENT_TYPES = [
    Case(conv(direction, dtype=name, stride=2), tuning, algorithm)
    for name, tuning in (("f16", GENERAL), ("bf16", CPU), ("f64", GENERAL))
    for direction, algorithm in (
        ("backward_data", "v4r1"),
        ("backward_data", "v1r1"),
        ("backward_weight", None),
    )
]
CONVS = [
    Case(conv(direction, **form)) for direction, form in one_in(3, list(product(DIRECTIONS, FORMS.values())))
]  # ten forms: each with a direction
V1R1 = [Case(conv("backward_data", **form), GENERAL, "v1r1") for form in one_in(2, list(FORMS.values()))]
CPU_CONVS = [
    Case(conv(direction, **FORMS[form]), tuning)
    for direction, (form, tuning) in in_turn(
        DIRECTIONS, list(zip(("stride", "groups", "nhwc", "both", "odd layouts"), CPU_FORMS, strict=False))
    )
]
CPU_PANELS = [Case(Gemm(21, 35, 45), tuning) for tuning in CPU_FORMS]
MICROSCALED = [
    Case(Gemm(20, 36, 288, batch=2, transpose_b=True, dtype="mxf8e4m3fn"), tuning, gpu="gfx950")
    for tuning in (
        "v1:xdlops:32,32,4,32,32,32,mfma_f32_32x32x64_fp8_fp8,xor,ahead,swapped",
        "v1:xdlops:32,32,4,16,32,32,mfma_f32_16x16x128_fp8_fp8,padded,staged",
    )
]
PACKS = [
    Case(
        Gemm(20, 36, 288, batch=2, transpose_b=True, dtype=dtype), f"v1:xdlops:32,32,4,{tuning}", gpu="gfx950"
    )
    for dtype, tuning in (
        ("mxf4e2m1fn", "32,32,16,mfma_f32_32x32x64_fp4_fp4,xor,ahead,swapped"),
        ("mxf6e2m3fn", "16,32,2,mfma_f32_16x16x128_fp6_fp6,xor,direct"),
        ("mxf4e2m1fn_mxf8e4m3fn", "32,32,16,mfma_f32_32x32x64_fp8_fp4,xor,ahead,swapped"),
        ("mxf8e5m2_mxf6e2m3fn", "16,32,2,mfma_f32_16x16x128_bf8_fp6,padded,staged"),
    )
]
ACROSS = [
    Case(Gemm(32, 64, 288, batch=2, transpose_a=a, dtype=dtype), f"v1:xdlops:32,32,4,{tuning}", gpu="gfx950")
    for dtype, a, tuning in (
        ("mxf4e2m1fn", True, "32,32,2,mfma_f32_32x32x64_fp4_fp4,xor,ahead,swapped"),
        ("mxf6e2m3fn", False, "16,32,2,mfma_f32_16x16x128_fp6_fp6,plain,direct"),
    )
]
TEXTS = [ACROSS[0], MICROSCALED[0], PACKS[3], *PRODUCTS[2::2], *TYPES[5:12:5], *CONVS[4:8:3], V1R1[2]]
"""Together with those of test_meaning_waves each kind of operation, with each key, type and transform."""
CASES = [
    *MICROSCALED,
    *PACKS,
    *ACROSS,
    *STEPS,
    *TILES,
    *PRODUCTS,
    *TYPES,
    *GRADIENT_TYPES,
    *CONVS,
    *V1R1,
    *CPU_CONVS,
    *CPU_PANELS,
]


@pytest.mark.parametrize("case", one_in(2, CASES), ids=str)
def test_every_level_computes_the_problem(case: Case) -> None:
    assert_every_level_is_right(case)


@pytest.mark.parametrize("case", one_in(2, TEXTS), ids=str)
def test_every_level_means_the_same_as_its_text(case: Case) -> None:
    assert_every_level_is_its_text(case)


EVEN_TAIL, ODD_TAIL = STEPS[3], STEPS[4]
OVERLAP = Case(conv("backward_data"), GENERAL, "v1r1")
HOLES = Case(conv("backward_data", y=1, x=1, pad_h=0, pad_w=0, stride=2), GENERAL, "v4r1")


@cache
def given_and_wanted(case: Case) -> tuple[dict[str, Array], Array]:
    """The operands of a problem, and what its own level makes of them."""
    arrays = case.operands()
    return arrays, computed(case.lowered("problem"), case, arrays)


def is_wrong(case: Case, module: ModuleOp) -> bool:
    """Does the module now compute something else, or race?"""
    module.verify()
    arrays, wanted = given_and_wanted(case)
    try:
        return not same(computed(module, case, arrays), wanted)
    except InvalidOp:
        return True


def operations(module: ModuleOp, *kinds: type[Operation]) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, kinds)]


def without(module: ModuleOp, kind: type[Operation], number: int) -> ModuleOp:
    """The module without the operation of that number among those of a kind."""
    changed = module.clone()
    Rewriter.erase_op(operations(changed, kind)[number])
    return changed


@pytest.mark.parametrize("case", [EVEN_TAIL, ODD_TAIL], ids=str)
@pytest.mark.parametrize("kind", [BlockwiseCopyOp, BlockwiseGemmOp, LdsBarrierOp])
def test_control_every_operation_of_a_workgroup_counts(case: Case, kind: type[Operation]) -> None:
    module = case.lowered("gridwise-to-blockwise")
    assert not is_wrong(case, module)
    count = len(operations(module, kind))
    assert count >= 3
    assert [i for i in range(count) if not is_wrong(case, without(module, kind, i))] == []


@pytest.mark.parametrize("kind", [ThreadwiseCopyOp, ThreadwiseGemmOp, LdsBarrierOp])
@pytest.mark.parametrize("case", [STEPS[1], replace(STEPS[1], tuning=NAIVE_1x1)], ids=["2x2", "naive"])
def test_control_every_operation_of_a_work_item_counts(case: Case, kind: type[Operation]) -> None:
    module = case.lowered()
    assert not is_wrong(case, module)
    count = len(operations(module, kind))
    assert [i for i in range(0, count, 3) if not is_wrong(case, without(module, kind, i))] == []


READ_AHEAD = (GENERAL, "v1:general:64,64,32,8,4,2", "v1:general:64,32,32,16,2,2")


@pytest.mark.parametrize(
    ("text", "depth", "is_transposed"), in_turn(READ_AHEAD, (1, 4, 9, 17, 33), (False, True))
)
def test_reading_ahead_is_the_same_product(text: str, depth: int, is_transposed: bool) -> None:
    """On Hopper: a is stored with k along memory, and so is b; lanes along k, gaps in LDS."""
    case = Case(Gemm(36, 33, depth * 4, transpose_b=is_transposed), text, gpu="sm_90a")
    assert not is_wrong(case, case.lowered())


def test_a_race_says_where() -> None:
    module = without(EVEN_TAIL.lowered(), LdsBarrierOp, 0)
    with pytest.raises(InvalidOp, match=r"reads byte \d+ of LDS that another work item wrote") as caught:
        computed(module, EVEN_TAIL, EVEN_TAIL.operands())
    assert isinstance(caught.value.op, ThreadwiseCopyOp)


def test_a_cpu_workgroup_is_one_work_item_and_never_races() -> None:
    case = CPU_PANELS[0]
    assert not operations(case.lowered(), LdsBarrierOp)
    assert not is_wrong(case, case.lowered())


@pytest.mark.parametrize("case", [OVERLAP, HOLES], ids=str)
def test_control_zeros_are_needed_first(case: Case) -> None:
    module = case.lowered("conv-to-gemm")
    assert not is_wrong(case, module)
    assert is_wrong(case, without(module, FillOp, 0))


def test_no_zeros_where_the_phases_write_everything() -> None:
    assert not operations(Case(conv("backward_data", stride=2)).lowered("conv-to-gemm"), FillOp)


def test_control_overlapping_windows_must_be_added() -> None:
    module = OVERLAP.lowered("conv-to-gemm")
    (product,) = operations(module, GridwiseGemmOp)
    assert product.properties["store_method"] == Keyword("atomic_add")
    product.properties["store_method"] = Keyword("set")
    assert is_wrong(OVERLAP, module)


def test_windows_that_do_not_overlap_are_set() -> None:
    case = Case(conv("backward_data", y=2, x=1, stride=2), GENERAL, "v1r1")
    (product,) = operations(case.lowered("conv-to-gemm"), GridwiseGemmOp)
    assert product.properties["store_method"] == Keyword("set")


def _slide(module: ModuleOp) -> None:
    """An output pixel's window starts one row too close to its neighbour's."""
    view = next(v for v in operations(module, TransformOp) if "embed" in str(v.properties["layout"]))
    layout = view.properties["layout"]
    assert isinstance(layout, Layout)
    entries = [replace(e, parameters=(2, (1, 1, 0))) if e.kind == "embed" else e for e in layout.data]
    view.properties["layout"] = Layout(tuple(entries))


def _move(module: ModuleOp) -> None:
    """A sub-tile of C lands on its neighbour."""
    moved = next(op for op in operations(module, ThreadwiseGemmOp) if "offset_c" in op.properties)
    moved.properties["offset_c"] = Offset(0)


def _stay(module: ModuleOp) -> None:
    """A copy of the loop does not move on."""
    copy = next(op for op in operations(module, BlockwiseCopyOp) if "move_source_offset" in op.properties)
    copy.properties["move_source_offset"] = Int(0)


FAULTS: list[tuple[str, Callable[[ModuleOp], None], Case]] = [
    ("conv-to-gemm", _slide, Case(conv(stride=2))),
    ("affix-tuning", _slide, Case(conv("backward_weight", stride=2))),
    ("gridwise-to-blockwise", _stay, ODD_TAIL),
    ("blockwise-to-threadwise", _move, ODD_TAIL),
]


@pytest.mark.parametrize(("level", "fault", "case"), FAULTS, ids=[f"{f[0]} {f[1].__name__}" for f in FAULTS])
def test_control_a_fault_is_seen(level: str, fault: Callable[[ModuleOp], None], case: Case) -> None:
    module = case.lowered(level)
    assert not is_wrong(case, module)
    fault(module)
    assert is_wrong(case, module)


def test_arguments_are_contiguous() -> None:
    case = Case(Gemm(4, 4, 4))
    a, b, c = (np.zeros((4, 8), np.float32)[:, :4] for _ in range(3))
    with pytest.raises(AssertionError, match="contiguous"):
        execute(case.lowered("problem"), [a, b, c])
