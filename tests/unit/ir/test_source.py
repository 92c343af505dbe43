"""Every operation knows where it came from, after passes too, and errors show the innermost wrong piece."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation
from xdsl.utils.lexer import Input, Span

from imbrex.diagnostic import Diagnostic
from imbrex.ir.dialect import context, load, parse
from imbrex.ir.ops import Conv2dOp, TransformOp
from imbrex.ir.passes import pass_factory
from imbrex.ir.source import InvalidOp, SourceMap

CONV = """// one convolution
func.func @conv(%f: memref<4x3x3x3xf32>, %i: memref<2x3x7x8xf32>, %o: memref<2x4x7x8xf32>) {
    miopen.conv2d(%f, %i, %o) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [1, 1]
  } : memref<4x3x3x3xf32>, memref<2x3x7x8xf32>, memref<2x4x7x8xf32>
  func.return
}
"""


def place(op: Operation) -> tuple[str, int, int]:
    assert isinstance(op.location, FileLineColLoc)
    return op.location.filename.data, op.location.line.data, op.location.column.data


def test_each_operation_is_stamped() -> None:
    module = load(CONV, "conv.mlir").module
    assert [(o.name, *place(o)) for o in module.walk() if o is not module] == [
        ("func.func", "conv.mlir", 2, 1),
        ("miopen.conv2d", "conv.mlir", 3, 5),
        ("func.return", "conv.mlir", 7, 3),
    ]


def test_a_given_location_wins() -> None:
    text = 'func.func @f() {\n  func.return loc("other.mlir":7:9)\n}\n'
    returned = [o for o in load(text).module.walk() if o.name == "func.return"]
    assert place(returned[0]) == ("other.mlir", 7, 9)


def test_new_operations_take_the_place_of_the_old_one() -> None:
    source = load(CONV, "conv.mlir")
    pass_factory("conv-to-gemm")()().apply(context(), source.module)
    made = [o for o in source.module.walk() if o.name.startswith("miopen.")]
    assert len(made) == 6 and isinstance(made[0], TransformOp)
    assert {place(o) for o in made} == {("conv.mlir", 3, 5)}


def test_an_error_of_a_made_operation_points_at_the_original() -> None:
    source = load(CONV, "conv.mlir")
    pass_factory("conv-to-gemm")()().apply(context(), source.module)
    view = next(o for o in source.module.walk() if isinstance(o, TransformOp))
    del view.properties["source_layout"]
    with pytest.raises(Diagnostic) as caught:
        source.sources.verify(source.module)
    assert str(caught.value).splitlines() == [
        "conv.mlir:3:5: error: miopen.transform: give one of 'source_layout' and 'intermediate_layout'",
        "    miopen.conv2d(%f, %i, %o) {",
        "    ^^^^^^^^^^^^^^^^^^^^^^^^^^^",
    ]


def test_a_nested_operation_is_blamed_not_its_function() -> None:
    text = CONV.replace("strides = [1, 1]", "strides = [1, -2]")
    with pytest.raises(Diagnostic) as caught:
        load(text, "conv.mlir")
    assert (caught.value.line, caught.value.message) == (5, "'strides' are positive, got -2")
    assert text.splitlines()[4][caught.value.col - 1 :].startswith("-2]")


@pytest.mark.parametrize(
    ("path", "under", "length"),
    [
        (("strides",), "[1, 1], padding", 6),
        (("padding", 1), "1]\n", 1),
        (("padding", 7, "x"), "[1, 1]\n", 6),
        (("type", 2), "memref<2x4x7x8xf32>\n", 19),
        (("operand", 1), "%i, %o)", 2),
        (("nothing",), "miopen.conv2d", 27),
        ((), "miopen.conv2d", 27),
    ],
)
def test_path_to_place(path: tuple[str | int, ...], under: str, length: int) -> None:
    source = load(CONV, "conv.mlir")
    op = next(o for o in source.module.walk() if isinstance(o, Conv2dOp))
    error = source.sources.at_op(op, "wrong", path)
    rest = "\n".join(CONV.splitlines()[error.line - 1 :]) + "\n"
    assert rest[error.col - 1 :].startswith(under) and error.length == length


def test_where_nothing_stands_is_one_character() -> None:
    error = SourceMap(text="a\n").at(Span(1, 1, Input("a\n", "")), "wrong")
    assert (error.line, error.col, error.length) == (1, 2, 1)


def test_an_operation_without_text_has_no_place() -> None:
    op = next(o for o in load(CONV, "conv.mlir").module.walk() if isinstance(o, Conv2dOp))
    assert str(SourceMap().at_op(op, "wrong", ("strides",))) == "error: miopen.conv2d: wrong"


def test_lines_count_from_the_start_of_the_file() -> None:
    source = parse(CONV, "conv.mlir", first_line=100)
    op = next(o for o in source.module.walk() if isinstance(o, Conv2dOp))
    assert place(op) == ("conv.mlir", 103, 5)
    with pytest.raises(Diagnostic) as caught, source.sources.diagnosing():
        raise InvalidOp(op, "wrong", "strides", 0)
    assert caught.value.line == 105 and caught.value.source == CONV.splitlines()[4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected an operation"),
        ("func.func @f() {", "expected an operation, or '}' after the last one"),
        ("%0 = miopen.lds_barrier()", "operation has 0 results, but was given 1 to bind"),
        ('"miopen.lds_barrier"() : () ->', ""),
        ("miopen.alloc() : memref<4xi8, #4>", ""),
        ("\x00", "unexpected character"),
        ('miopen.lds_barrier() attributes {a = "', ""),
        ("^bb0:", "expected an operation"),
    ],
)
def test_broken_text_is_one_diagnostic(text: str, message: str) -> None:
    with pytest.raises(Diagnostic) as caught:
        load(text, "broken.mlir")
    assert message in caught.value.message.lower()
    assert str(caught.value).startswith("broken.mlir:")


@pytest.mark.parametrize("token", ["}", ")", "->", "17", "miopen"])
def test_a_token_that_is_wrong_is_marked_whole(token: str) -> None:
    with pytest.raises(Diagnostic) as caught:
        load(f"  {token} = x", "broken.mlir")
    assert str(caught.value).splitlines()[1:3] == [f"  {token} = x", f"  {'^' * len(token)}"]


@pytest.mark.parametrize(
    ("types", "body", "message"),
    [
        (
            "tensor<4x4xf32>",
            "miopen.gemm(%a, %a, %a)",
            "'a' of 'miopen.gemm' is a memref, got tensor<4x4xf32>",
        ),
        ("memref<*xf32>", "miopen.gemm(%a, %a, %a)", "'a' of 'miopen.gemm' is a memref, got memref<*xf32>"),
        ("memref<0x4xf32>", "miopen.gemm(%a, %a, %a)", "sizes are positive, got 0x4"),
        (
            "memref<4x4xf32, strided<[1, 4]>>",
            "miopen.gemm(%a, %a, %a)",
            "a memref with a layout, strided<[1, 4]>; say it as a miopen.transform of a plain memref",
        ),
        (
            "memref<1073741824x1073741824xf32>",
            "miopen.gemm(%a, %a, %a)",
            "1073741824x1073741824 has more elements than a 64-bit index can count",
        ),
        (
            "memref<4x4xf32>",
            "miopen.gemm(%a, %a, %a) { alpha = 1e5 }",
            "'1e5' is not a number; write '1.0e5'",
        ),
        (
            "memref<4x4xf32>",
            "miopen.gemm(%a, %a, %a) { alpha = 1.0e999 }",
            "'1.0e999' is too large for a number",
        ),
        (
            "memref<4x4xf32>",
            f"miopen.gemm(%a, %a, %a) {{ alpha = {'9' * 5000} }}",
            "this number has too many digits",
        ),
        ("memref<4x4xf32>", 'miopen.gemm(%a, %a, %a) { alpha = "' + "x" * 9999, "this string is not closed"),
        ("memref<4x4xf32>", "linalg.matmul", "not well-formed"),
    ],
)
def test_edges(types: str, body: str, message: str) -> None:
    with pytest.raises(Diagnostic) as caught:
        load(f"func.func @f(%a: {types}) {{\n  {body}\n  func.return\n}}\n", "edge.mlir")
    assert caught.value.message.startswith(message)
    assert caught.value.line == 2


def test_large_buffers_are_fine() -> None:
    load("func.func @f(%a: memref<65536x65536xf32>) {\n  miopen.gemm(%a, %a, %a)\n  func.return\n}\n")


def test_deep_nesting_is_a_diagnostic() -> None:
    with pytest.raises(Diagnostic, match="nested too deeply"):
        load("func.func @f(%a: memref<4x4xf32>) {\n  miopen.gemm(%a, %a, %a) { alpha = " + "[" * 5000)
