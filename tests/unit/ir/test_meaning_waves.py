"""Matrix instructions mean the same at every level, for every type, layout of LDS, copy, loop and direction.

As in test_meaning: integer values, exact equality, poisoned outputs; LDS races are errors.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.pairs import in_turn, one_in
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from imbrex.config.block_plan import WavesMultiply
from imbrex.ir.attrs import Keyword
from imbrex.ir.ops import (
    BlockwiseCopyOp,
    BlockwiseGemmOp,
    LdsBarrierOp,
    MfmaOp,
    ThreadwiseCopyOp,
    TransformOp,
)
from imbrex.ir.planned import Multiplied
from imbrex.ir.source import InvalidOp
from imbrex.problem import Gemm

from .levels import Case, assert_every_level_is_its_text, assert_every_level_is_right, computed
from .test_meaning import DIRECTIONS, NHWC, conv, is_wrong, operations, without

F16 = "v1:xdlops:32,32,4,16,16,8"
TYPES = {
    "f16": F16,
    "bf16": F16,
    "f32": "v1:xdlops:32,32,4,32,32,4",
    "i8": "v1:xdlops:32,32,4,16,16,16",
    "f64": "v1:xdlops:32,32,4,16,16,2",
    "f8e4m3fnuz": "v1:xdlops:32,32,4,16,16,16",
}
FORMS = [
    "v1:xdlops:64,32,4,32,32,8,auto,plain",
    "v1:xdlops:64,32,4,32,32,8,auto,padded,staged,swapped",
    "v1:xdlops:64,32,4,32,16,8,auto,tiled,staged,straight,2",
    "v1:xdlops:64,32,8,64,16,8,auto,xor,staged,swapped,4,1",
    "v1:xdlops:4,64,4,4,64,4",
    "v1:xdlops:64,8,4,64,4,4,mfma_f32_4x4x4_16b_f16",
    "v1:xdlops:64,64,4,64,64,4,mfma_f32_32x32x4_2b_f16",
    "v1:xdlops:32,64,4,16,64,4,mfma_f32_16x16x4_4b_f16,xor,staged,swapped",
]
DIRECT = [
    "v1:xdlops:32,32,4,16,16,8,auto,xor,direct",
    "v1:xdlops:32,64,4,16,32,8,auto,tiled,direct,swapped",
    "v1:xdlops:32,32,4,32,32,8,auto,plain,direct",
    "v1:xdlops:32,32,4,16,16,8,auto,xor,ahead",
    "v1:xdlops:32,64,4,16,32,8,mfma_f32_16x16x16_f16,xor,ahead,swapped,1,3",
]
STAGED_AHEAD = [
    "v1:xdlops:32,32,8,16,16,4,auto,xor,staged_ahead",
    "v1:xdlops:64,48,8,32,48,4,auto,xor,staged_ahead,swapped,2",  # 48 rows are copied as 64
]
GEMMS = [
    *(Case(Gemm(37, 40, 72, dtype=name), tuning) for name, tuning in TYPES.items()),
    *(Case(Gemm(37, 40, 72, dtype=n, transpose_a=True, transpose_b=True), t) for n, t in TYPES.items()),
    *(Case(Gemm(70, 40, 40, dtype="f16", transpose_b=bool(i % 2)), tuning) for i, tuning in enumerate(FORMS)),
    *(Case(Gemm(37, 40, 72, dtype="f16", transpose_b=True), tuning) for tuning in DIRECT),
    *(
        Case(Gemm(37, 40, 72, dtype="f16", transpose_b=bool(i)), tuning)
        for i, tuning in enumerate(STAGED_AHEAD)
    ),
    *(Case(Gemm(9, 17, k, dtype="f16"), F16) for k in (5, 32, 64, 96, 128)),
    *(Case(Gemm(9, 17, k, dtype="f16"), f"{F16},auto,xor,staged,straight,1,1") for k in (5, 64, 96)),
    Case(Gemm(9, 17, 40, batch=2, dtype="f16", alpha=2.0, beta=-1.0), f"{F16},auto,xor,staged,swapped"),
]
CONVS = [
    Case(conv(direction, **{"c": 8, "k": 8, "dtype": name, **form}), TYPES[name])
    for direction, (name, form) in in_turn(
        DIRECTIONS,
        (
            ("f16", {}),
            ("f32", {"stride": (2, 1)}),
            ("f16", {**NHWC, "groups": 2, "c": 16}),
            ("f32", {**NHWC, "dilation": (2, 1), "pad_h": (2, 1)}),
        ),
    )
]
OVERLAP = Case(conv("backward_data", c=8, k=8, dtype="f16"), F16, "v1r1")
TWO, ONE = GEMMS[0], next(c for c in GEMMS if c.tuning.endswith(",1,1") and c.problem.k == 96)  # type: ignore[union-attr]


@pytest.mark.parametrize("case", one_in(2, [*GEMMS, *CONVS, OVERLAP]), ids=str)
def test_every_level_computes_the_problem(case: Case) -> None:
    assert_every_level_is_right(case, left_out=("problem", "conv-to-gemm", "unfold"))


@pytest.mark.parametrize("case", [GEMMS[3], next(c for c in GEMMS if ",direct" in c.tuning)], ids=str)
def test_every_level_means_the_same_as_its_text(case: Case) -> None:
    assert_every_level_is_its_text(case)


@pytest.mark.parametrize("case", [TWO, ONE], ids=["two buffers", "one buffer"])
@pytest.mark.parametrize("kind", [BlockwiseCopyOp, BlockwiseGemmOp, LdsBarrierOp])
def test_control_every_operation_of_a_workgroup_counts(case: Case, kind: type[Operation]) -> None:
    module = case.lowered("gridwise-to-blockwise")
    assert not is_wrong(case, module)
    count = len(operations(module, kind))
    assert count >= 2
    assert [i for i in range(count) if not is_wrong(case, without(module, kind, i))] == []


@pytest.mark.parametrize("case", [TWO, ONE], ids=["two buffers", "one buffer"])
@pytest.mark.parametrize("kind", [ThreadwiseCopyOp, MfmaOp, LdsBarrierOp])
def test_control_every_operation_of_a_work_item_counts(case: Case, kind: type[Operation]) -> None:
    module = case.lowered()
    count = len(operations(module, kind))
    step = max(1, count // 4)
    assert [i for i in range(0, count, step) if not is_wrong(case, without(module, kind, i))] == []


def test_a_race_between_direct_copies_and_reads_says_where() -> None:
    case = next(c for c in GEMMS if ",direct" in c.tuning)
    module = without(case.lowered(), LdsBarrierOp, 0)
    with pytest.raises(InvalidOp, match=r"byte \d+ of LDS that another work item (wrote|read)"):
        computed(module, case, case.operands())


def test_control_the_instruction_counts() -> None:
    """Another instruction that takes as many elements a lane computes something else with them."""
    module = TWO.lowered()
    (first, *rest) = operations(module, MfmaOp)
    assert rest and first.properties["instruction"] == Keyword("mfma_f32_16x16x16_f16")
    for op in (first, *rest):
        op.properties["instruction"] = Keyword("mfma_f32_4x4x4_16b_f16")
    assert is_wrong(TWO, module)


def test_control_the_order_of_rows_counts() -> None:
    """Interleaving must be the same in what is read and in what is stored."""
    case = next(c for c in GEMMS if c.tuning.endswith("swapped,4,1"))
    module = case.lowered("gridwise-to-blockwise")
    assert not is_wrong(case, module)
    for op in operations(module, BlockwiseGemmOp):
        assert isinstance(op, BlockwiseGemmOp) and isinstance(op.multiply.data, WavesMultiply)
        op.properties["multiply"] = Multiplied(replace(op.multiply.data, interleave=1))
    assert is_wrong(case, module)


@pytest.mark.parametrize("along_m", [True, False])
def test_registers_are_transposed_where_memory_runs_along_m(along_m: bool) -> None:
    case = Case(Gemm(40, 40, 72, dtype="f16", transpose_a=along_m, transpose_b=True), F16)
    assert any(v.startswith("turned") for v in views(case.lowered())) == along_m


def views(module: ModuleOp) -> list[str]:
    return [
        op.result.name_hint or "" for op in operations(module, TransformOp) if isinstance(op, TransformOp)
    ]


def test_the_lanes_of_a_direct_copy_write_neighbours() -> None:
    case = next(c for c in GEMMS if ",direct" in c.tuning)
    for op in operations(case.lowered(), ThreadwiseCopyOp):
        assert isinstance(op, ThreadwiseCopyOp)
        if op.direct is not None:
            assert op.vector is not None and op.vector.data == 2
            assert not operations_on_registers(op)


def operations_on_registers(op: ThreadwiseCopyOp) -> bool:
    from imbrex.ir.shape import PRIVATE, space_of

    return PRIVATE in (space_of(op.source), space_of(op.dest))
