"""transform: an operation and a layer of the algebra say the same, both ways."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import f32
from xdsl.dialects.test import TestOp as SourceOp

from imbrex.index import rule as rules
from imbrex.index.map import Dim, Layer, Step
from imbrex.ir.entry import KINDS, rule_of, spelled
from imbrex.ir.ops import TransformOp, transform, transform_from_layer
from imbrex.ir.shape import PRIVATE, memref, shape_of, space_of
from imbrex.ir.source import InvalidField


def buffer(*sizes: int | None, space: int = 0):
    return SourceOp(result_types=[memref(f32, sizes, space)]).results[0]


def layer(upper: str, lower: str, *steps: tuple[rules.Rule, str, str]) -> Layer:
    """Dims as `name=size` words, steps as (rule, upper names, lower names)."""

    def dims(words: str) -> tuple[Dim, ...]:
        return tuple(Dim(w.split("=")[0], int(w.split("=")[1])) for w in words.split())

    return Layer(
        dims(upper), dims(lower), tuple(Step(r, tuple(u.split()), tuple(d.split())) for r, u, d in steps)
    )


LAYERS = {
    "merge and passthrough": layer(
        "gemmK=27 gemmM=4",
        "k=4 c=3 y=3 x=3",
        (rules.Merge(), "gemmK", "c y x"),
        (rules.PassThrough(), "gemmM", "k"),
    ),
    "unfold": layer("u=12", "a=3 b=4", (rules.Unfold(), "u", "a b")),
    "unmerge": layer("a=3 b=4", "u=12", (rules.Unmerge(), "a b", "u")),
    "pad": layer("u=9", "a=6", (rules.Pad(1, 2), "u", "a")),
    "slice": layer("u=2", "a=6", (rules.Slice(3, 5), "u", "a")),
    "embed": layer("y=3 ho=4", "h=9", (rules.Embed((1, 2), 0), "y ho", "h")),
    "embed down": layer("y=3 ho=4", "h=9", (rules.Embed((-1, 2), 2), "y ho", "h")),
    "quotient": layer("u=6", "a=3", (rules.Quotient(2, 1), "u", "a")),
    "broadcast": layer("n=5 u=6", "a=6", (rules.Broadcast(), "n", ""), (rules.PassThrough(), "u", "a")),
    "fixed": layer("u=6", "r=4 a=6", (rules.Fixed(3), "", "r"), (rules.PassThrough(), "u", "a")),
    "sunder": layer("head=2 tail=4 piece=2", "a=6", (rules.Sunder(), "head tail piece", "a")),
    "xor": layer("r=4 c=8", "rr=4 cc=8", (rules.Xor(2), "r c", "rr cc")),
    "group": layer("u=15", "row=5 column=3", (rules.Group(2), "u", "row column")),
    "ungroup": layer("row=5 column=3", "u=15", (rules.Ungroup(2), "row column", "u")),
    "deal": layer("u=10", "a=10", (rules.Deal(4), "u", "a")),
    "undeal": layer("u=10", "a=10", (rules.Undeal(4), "u", "a")),
    "reordered": layer(
        "b=4 a=3", "x=3 y=4", (rules.PassThrough(), "a", "x"), (rules.PassThrough(), "b", "y")
    ),
}


def test_every_kind_is_tried() -> None:
    """But for what is of sizes '?', which test_run_time_sizes tries."""
    assert {spelled(s.rule)[0] for x in LAYERS.values() for s in x.steps} == set(KINDS) - {"prefix"}


@pytest.mark.parametrize("wanted", LAYERS.values(), ids=LAYERS)
def test_layer_of_transform_from_layer(wanted: Layer) -> None:
    source = buffer(*(d.size for d in wanted.lower), space=PRIVATE)
    op = transform_from_layer(source, wanted, "view", position=1)
    op.verify()
    assert op.layer == wanted
    assert transform_from_layer(source, wanted).layer is op.layer, "views alike have one layer"
    assert shape_of(op.result) == tuple(d.size for d in wanted.upper)
    assert space_of(op.result) == PRIVATE
    assert op.result.name_hint == "view"
    assert op.gridwise_gemm_argument_position is not None and op.gridwise_gemm_argument_position.data == 1


FREE = ("embed", "embed down", "quotient", "broadcast")
"""These rules leave their upper sizes free."""


@pytest.mark.parametrize("name", [name for name in LAYERS if name not in FREE])
def test_a_size_moved_by_one_is_refused(name: str) -> None:
    wanted = LAYERS[name]
    op = transform_from_layer(buffer(*(d.size for d in wanted.lower)), wanted)
    sizes = [d.size for d in wanted.upper]
    sizes[0] += 1
    wrong = TransformOp.build(
        operands=[op.source], result_types=[memref(f32, sizes)], properties=dict(op.properties)
    )
    with pytest.raises(InvalidField):
        wrong.verify_()


def test_a_chain_takes_its_names_from_below() -> None:
    merged = LAYERS["merge and passthrough"]
    below = transform_from_layer(buffer(4, 3, 3, 3), merged)
    parts = [
        (rules.Pad(0, 5), [("m", 9)], ["gemmM"]),
        (rules.PassThrough(), [("k", 27)], ["gemmK"]),
    ]
    above = transform(below.result, parts, order=["k", "m"])
    above.verify()
    assert above.source_names == ("gemmK", "gemmM")
    assert above.intermediate_layout is not None and above.source_layout is None
    assert above.layout.data[0].source_dimensions == (1,) and above.layout.data[0].dimensions == (1,)


def test_lower_names_of_a_chained_layer_count_by_position() -> None:
    below = transform_from_layer(buffer(12), LAYERS["unmerge"])
    above = transform_from_layer(below.result, LAYERS["reordered"])
    above.verify()
    assert above.source_names == ("a", "b")


def test_unknown_sizes_pass_through() -> None:
    op = transform(
        buffer(None, 4),
        [(rules.Merge(), [("u", None)], ["a", "b"])],
        source_names=["a", "b"],
    )
    op.verify()
    assert shape_of(op.result) == (None,)
    with pytest.raises(ValueError, match="sizes are not known"):
        _ = op.layer


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        ("merge", (1,), "'merge' takes no parameters, got [1]"),
        ("pad", (), "'pad' takes parameters [before, after], got []"),
        ("slice", (1, (2,)), "'slice' takes parameters [begin, end], got [1, [2]]"),
        ("embed", (3, (1, 1, 0)), "'embed' takes parameters [n, [c1, ..., cn, offset]], got [3, [1, 1, 0]]"),
        ("fixed", (1, 2), "'fixed' takes parameters [value], got [1, 2]"),
        ("xor", (1, 2), "'xor' takes at most one parameter [rows per step], got [1, 2]"),
    ],
)
def test_parameters_of_a_kind(kind: str, parameters: tuple, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        rule_of(kind, parameters)
    assert str(caught.value) == message
