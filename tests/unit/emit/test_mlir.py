"""MLIR text of the swizzles: mlir-opt accepts it, and what it does to every element is what the map says.

Executed in two ways: the text read back and run by NumPy, and by MLIR itself, compiled where mlir-runner is.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from tests.patience import HANG_S

from imbrex.emit import mlir
from imbrex.view.mma import Operand, in_registers
from imbrex.view.swizzle import INSTANCES, SEEDS, Swizzle, TileKernel, tile_kernel

OPERANDS: tuple[Operand, ...] = ("a", "b", "c")
NAMED = [(name, operand) for name in (*SEEDS, *INSTANCES) for operand in OPERANDS]
TO_LLVM = (
    "--one-shot-bufferize=bufferize-function-boundaries=1",
    "--convert-linalg-to-loops",
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-scf-to-cf",
    "--convert-to-llvm",
    "--reconcile-unrealized-casts",
)


def tool(name: str) -> str:
    """The path of an MLIR program, with Debian's version in its name or without; skips without one."""
    found = shutil.which(f"{name}-22") or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed; Debian has it in mlir-22-tools")
    return found


def ran(text: str, program: str, *options: str) -> str:
    done = subprocess.run(
        [tool(program), *options], input=text, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


def executed(text: str, function: str, array: Any) -> Any:
    """A function of the text, run by NumPy: reshapes and transposes in the order in which they stand."""
    body = text.split(f"func.func @{function}(")[1].split("\n}")[0]
    pattern = (
        r"expand_shape .*output_shape \[(?P<shape>[\d, ]+)\]"
        r"|permutation = \[(?P<order>[\d, ]+)\]"
        r"|collapse_shape (?P<collapsed>.*)\n.*into tensor<(?P<into>[\dx]+)x"
    )
    for found in re.finditer(pattern, body):
        if found["shape"]:
            array = array.reshape([int(n) for n in found["shape"].split(",")])
        elif found["order"]:
            array = array.transpose([int(n) for n in found["order"].split(",")])
        else:
            array = array.reshape([int(n) for n in found["into"].split("x")])
    return array


def by_the_map(swizzle: Swizzle) -> Any:
    """A row-major count of the tile, each element put where the swizzle's offset says."""
    rows, columns = np.indices(swizzle.source_shape)
    names = [d.name for d in swizzle.dims]
    packed = np.empty(swizzle.elements, np.int32)
    places = swizzle.offset.eval(dict(zip(names, (rows, columns), strict=True)))
    packed[places] = np.arange(swizzle.elements).reshape(swizzle.source_shape)
    return packed


@pytest.mark.parametrize(("name", "operand"), NAMED)
def test_the_text_does_what_the_map_says(name: str, operand: Operand) -> None:
    kernel = tile_kernel(name)
    swizzle, text = kernel.swizzle(operand), mlir.tile_module(kernel, operand)
    iota = np.arange(swizzle.elements, dtype=np.int32).reshape(swizzle.source_shape)
    packed = executed(text, "pack", iota)
    assert packed.shape == swizzle.packed_shape
    assert np.array_equal(packed.reshape(-1), by_the_map(swizzle))
    assert np.array_equal(executed(text, "unpack", packed), iota)


def test_control_another_permutation_is_seen() -> None:
    kernel = tile_kernel("f16_16x16x16_2x2_Kx2")
    text = mlir.tile_module(kernel, "a").replace("[0, 3, 1, 2, 4]", "[0, 1, 3, 2, 4]")
    iota = np.arange(1024).reshape(32, 32)
    assert not np.array_equal(executed(text, "pack", iota).reshape(-1), by_the_map(kernel.swizzle("a")))


def test_the_text_of_the_seed() -> None:
    """Reassociation, shapes and permutation as the seed writes them for f16, 8x8, A."""
    text = " ".join(mlir.tile_module(tile_kernel("f16_16x16x16_8x8_Kx2"), "a").split())
    assert (
        "tensor.expand_shape %source [[0, 1], [2, 3, 4]] output_shape [8, 16, 2, 4, 4]"
        " : tensor<128x32xf16> into tensor<8x16x2x4x4xf16>" in text
    )
    assert "outs(%init : tensor<8x4x16x2x4xf16>) permutation = [0, 3, 1, 2, 4]" in text


@pytest.mark.parametrize(
    ("name", "chip", "element"),
    [
        ("i8_16x16x32", None, "i8"),
        ("bf16_32x32x8", None, "bf16"),
        ("fp8_16x16x32", "gfx942", "f8E4M3FNUZ"),
        ("bf8_16x16x32", "gfx950", "f8E5M2"),
        ("fp8_16x16x32", None, "f8E4M3FN"),
        ("fp4_16x16x128", None, "f4E2M1FN"),
        ("wmma_i32_16x16x32_iu4_w32_gfx12", None, "i4"),
    ],
)
def test_element_types_are_mlirs(name: str, chip: str | None, element: str) -> None:
    assert mlir.element_type(tile_kernel(name), "a", chip) == element
    assert mlir.element_type(tile_kernel("f32_16x16x4"), "c") == "f32"


def test_mlir_accepts_the_tiles_of_every_instruction() -> None:
    functions = [
        mlir.tile_module(TileKernel(found, (2, 4, 2)), operand, f"{found.name}_{operand}")
        for found in in_registers()
        for operand in OPERANDS
    ]
    said = ran("\n".join(functions), "mlir-opt")
    assert said.count("tensor.expand_shape") == said.count("tensor.collapse_shape") == len(functions)


@pytest.mark.parametrize(
    ("old", "new"), [("[0, 3, 1, 4, 2]", "[0, 3, 1, 4, 4]"), ("into tensor<2x4", "into tensor<4x4")]
)
def test_control_mlir_refuses_what_is_wrong(old: str, new: str) -> None:
    text = mlir.tile_module(tile_kernel("f16_16x16x16_2x2_Kx2"), "c")
    assert old in text
    done = subprocess.run(
        [tool("mlir-opt")], input=text.replace(old, new), capture_output=True, text=True, check=False
    )
    assert done.returncode != 0 and "error" in done.stderr


def constant(values: Any, shape: tuple[int, ...]) -> tuple[str, str]:
    """A dense constant and its type."""
    ty = f"tensor<{'x'.join(map(str, shape))}xi32>"
    return f'arith.constant dense<"0x{values.astype("<i4").tobytes().hex()}"> : {ty}', ty


def program(swizzle: Swizzle, want: Any, is_packed: bool) -> str:
    """A program whose result is the number of elements that differ from `want` after `pack`, or after `pack`
    and `unpack`.
    """
    iota = np.arange(swizzle.elements)
    source, source_type = constant(iota, swizzle.source_shape)
    wanted, flat_type = constant(want, (swizzle.elements,))
    shape = swizzle.packed_shape if is_packed else swizzle.source_shape
    packed_type = f"tensor<{'x'.join(map(str, swizzle.packed_shape))}xi32>"
    got_type = packed_type if is_packed else source_type
    back = "" if is_packed else f"  %back = func.call @unpack(%packed) : ({packed_type}) -> {source_type}\n"
    return f"""
{mlir.pack_function(swizzle, "i32")}
{mlir.unpack_function(swizzle, "i32")}
func.func @main() -> i32 {{
  %source = {source}
  %want = {wanted}
  %packed = func.call @pack(%source) : ({source_type}) -> {packed_type}
{back}  %flat = tensor.collapse_shape {"%packed" if is_packed else "%back"} [{list(range(len(shape)))}]
      : {got_type} into {flat_type}
  %first = arith.constant 0 : index
  %last = arith.constant {swizzle.elements} : index
  %step = arith.constant 1 : index
  %none = arith.constant 0 : i32
  %count = scf.for %i = %first to %last step %step iter_args(%so_far = %none) -> (i32) {{
    %x = tensor.extract %flat[%i] : {flat_type}
    %y = tensor.extract %want[%i] : {flat_type}
    %differs = arith.cmpi ne, %x, %y : i32
    %one = arith.extui %differs : i1 to i32
    %sum = arith.addi %so_far, %one : i32
    scf.yield %sum : i32
  }}
  return %count : i32
}}
"""


def differing(text: str) -> int:
    """What the program returns, compiled and run by MLIR."""
    lowered = ran(text, "mlir-opt", *TO_LLVM)
    return int(ran(lowered, "mlir-runner", "--entry-point-result=i32", "-e", "main"))


@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("name", [*SEEDS, *INSTANCES])
def test_mlir_executes_it_to_the_same_elements(name: str, operand: Operand) -> None:
    swizzle = tile_kernel(name).swizzle(operand)
    assert differing(program(swizzle, by_the_map(swizzle), is_packed=True)) == 0


def test_mlir_executes_the_way_back() -> None:
    swizzle = tile_kernel("f16_16x16x16_8x8_Kx2").swizzle("a")
    assert differing(program(swizzle, np.arange(swizzle.elements), is_packed=False)) == 0


def test_control_mlir_counts_what_differs() -> None:
    swizzle = tile_kernel("f16_16x16x16_2x2_Kx2").swizzle("a")
    want = by_the_map(swizzle)
    want[[5, 17]] = want[[17, 5]]
    assert differing(program(swizzle, want, is_packed=True)) == 2
