"""print and parse are inverse: on every text of tests/lit in its three forms, and on random attributes."""

from __future__ import annotations

from dataclasses import fields, replace
from io import StringIO
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from imbrex.config import tiles
from imbrex.config import tuning as tunings
from imbrex.config.block_plan import BlockPlan, Multiply
from imbrex.config.warpgroup.consumers import Tiled
from imbrex.ir import attrs, chosen, planned
from imbrex.ir.dialect import Source, context, load
from imbrex.ir.entry import Entry
from imbrex.ir.literal import Reference
from imbrex.ir.printed import print_compact, print_module
from imbrex.problem import Conv2d, Gemm
from imbrex.view.conv.phase_box import PhaseBox, Phases

LIT = Path(__file__).parents[2] / "lit"
POSITIVE = [p for p in sorted(LIT.glob("*.mlir")) if "// -----" not in p.read_text()]


def generic(source: Source) -> str:
    return print_module(source.module, generic=True)


def seeds(source: Source) -> str:
    return print_module(source.module)


def compact(source: Source) -> str:
    return print_compact(source.module)


@pytest.mark.parametrize("form", [seeds, generic, compact], ids=lambda f: f.__name__)
@pytest.mark.parametrize("path", POSITIVE, ids=lambda p: p.stem)
def test_parse_of_print_is_the_same_module(path: Path, form) -> None:
    first = load(path.read_text())
    text = form(first)
    second = load(text)
    assert first.module.is_structurally_equivalent(second.module)
    assert form(second) == text


def test_the_texts_cover_every_operation() -> None:
    from imbrex.ir.dialect import Miopen

    used = {op.name for path in POSITIVE for op in load(path.read_text()).module.walk()}
    assert {op.name for op in Miopen.operations} - used == {"miopen.conv"}


def test_another_layout_is_not_equivalent() -> None:
    text = (LIT / "seed_forward.mlir").read_text()
    other = text.replace('kernel_algorithm = "v4r4"', 'kernel_algorithm = "gemm"')
    assert not load(text).module.is_structurally_equivalent(load(other).module)


small = st.integers(-(2**40), 2**40)
words = st.text(min_size=0, max_size=8)
identifiers = st.from_regex(r"[a-z][a-zA-Z0-9_]{0,6}", fullmatch=True)
extents = st.one_of(small, st.none(), st.integers(0, 9).map(Reference))
entry = st.builds(
    Entry,
    kind=st.just("embed"),
    dimensions=st.just((0, 1)),
    names=st.tuples(identifiers, identifiers),
    source_dimensions=st.tuples(st.integers(0, 9)),
    source_names=st.tuples(identifiers),
    parameters=st.tuples(st.just(2), st.tuples(small, small, small)),
)


def tuples(items: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(items, max_size=5).map(tuple)


number = st.integers(1, 2**20)
counts = st.lists(number, min_size=1, max_size=5).map(tuple)
SCHEDULES = (
    "data_parallel", "split_k", "stream_k:7", "two_tile:3/wgm=4", "cluster_k:2",
    "data_parallel/wgm=2/along=n/xcd=8", "two_tile_dp_first:5/wgm=3/runtime",
)  # fmt: skip
phases = st.builds(Phases, of=counts, box=st.builds(PhaseBox, number, number, number), lengths=counts).map(
    lambda found: replace(found, of=tuple(x % found.box.count for x in found.of))
)


def tuning_of(kind: type[tunings.Tuning]) -> st.SearchStrategy:
    """Any values of the fields that are checked one by one."""
    words = {key: st.sampled_from(list(of.values())) for key, of in tunings.WORDS.items()}
    words[tunings.INSTRUCTION] = st.sampled_from(["auto", "mfma_f32_16x16x4_f32"])
    return st.builds(kind, **{f.name: words.get(f.name, number) for f in fields(kind)})


def plan_of(kinds: Any) -> st.SearchStrategy:
    """A value of one of some kinds, whatever its numbers."""
    tuning = st.sampled_from(get_args(tunings.PipelineTuning))
    for of, found in ((int, number), (str, words), (Tiled, tuning.flatmap(tuning_of))):
        st.register_type_strategy(of, found)
    return st.sampled_from(get_args(kinds)).flatmap(st.from_type)


ATTRIBUTES = {
    attrs.Int: small,
    attrs.Float: st.floats(allow_nan=False, allow_infinity=False),
    attrs.Bool: st.booleans(),
    attrs.Keyword: words,
    attrs.Ints: tuples(small),
    attrs.Names: tuples(words),
    attrs.Sizes: tuples(st.one_of(small, st.none())),
    attrs.Extents: tuples(extents),
    attrs.Padding: tuples(st.tuples(small, small)),
    attrs.Offset: st.one_of(small, tuples(small)),
    attrs.Layout: tuples(entry),
    chosen.Tuned: st.sampled_from(list(tunings.KINDS.values())).flatmap(tuning_of),
    chosen.Scheduled: st.sampled_from(SCHEDULES).map(tiles.parse),
    chosen.Phased: phases,
    planned.Planned: st.deferred(lambda: plan_of(BlockPlan)),
    planned.Multiplied: st.deferred(lambda: plan_of(Multiply)),
}


def test_every_attribute_is_tried() -> None:
    assert list(ATTRIBUTES) == [*attrs.ATTRIBUTES, *chosen.CHOSEN, *planned.PLANNED]


@pytest.mark.parametrize("kind", ATTRIBUTES, ids=lambda k: k.__name__)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_attribute_text(kind: type[Attribute], data: st.DataObject) -> None:
    attribute = kind(data.draw(ATTRIBUTES[kind]))  # type: ignore[call-arg]
    out = StringIO()
    Printer(out).print_attribute(attribute)
    read = Parser(context(), out.getvalue()).parse_attribute()
    assert read == attribute
    assert repr(read.data) == repr(attribute.data)  # type: ignore[attr-defined]


PROBLEMS = [
    Conv2d("forward", 2, 8, 10, 11, 16, 3, 2, groups=2, input_layout="NHWC", pad_h=(1, 2), stride=(2, 1)),
    Conv2d("backward_data", 2, 8, 10, 10, 16, 3, 3, filter_layout="KYXC", dilation=2, dtype="bf16"),
    Conv2d("backward_weight", 1, 6, 5, 5, 6, 5, 5, groups=6),
    Conv2d("forward", 2, 8, 10, 10, 16, 3, 3, dtype="i8"),
    Gemm(3, 4, 5, batch=2, transpose_a=True, alpha=2, beta=1),
    Gemm(3, 4, 5, dtype="f64"),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.key())
def test_problem_module_verifies_and_keeps_the_shapes(problem: Conv2d | Gemm) -> None:
    from imbrex.ir.from_problem import problem_module

    module = problem_module(problem, "kernel")
    module.verify()
    read = load(print_module(module)).module
    assert read.is_structurally_equivalent(module)
    function = read.body.block.first_op
    assert function is not None
    shapes = [list(arg.type.get_shape()) for arg in function.regions[0].block.args]  # type: ignore[attr-defined]
    dims = [[size for _, size in problem.dims(role)] for role in problem.roles]  # type: ignore[arg-type]
    assert shapes == dims


def test_a_plain_xdsl_parser_reads_the_operations_too() -> None:
    path = LIT / "seed_blockwise.mlir"
    text = path.read_text().replace(", #3>", ", 3 : i32>").replace(", #5>", ", 5 : i32>")
    assert Parser(context(), text).parse_module().is_structurally_equivalent(load(path.read_text()).module)
