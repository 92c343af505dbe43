"""Every MFMA of the table, executed: lanes that hold A, B and C by its layouts get the product."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from imbrex.build.amd.code_object import compile_code_object
from imbrex.cdna.code_object import CodeObject, load_code_object
from imbrex.cdna.execute import Launch, Memory, execute
from imbrex.dtype import dtype
from imbrex.view.mma import (
    BITS,
    BUILTIN_TYPES,
    SCALED,
    Instruction,
    Operand,
    elements,
    instruction,
    instructions,
)

CHIPS = ("gfx90a", "gfx942", "gfx950")
LANES = 64
NARROW = {
    "f6e2m3fn": ml_dtypes.float6_e2m3fn, "f6e3m2fn": ml_dtypes.float6_e3m2fn,
    "f4e2m1fn": ml_dtypes.float4_e2m1fn,
}  # fmt: skip

Ints = npt.NDArray[np.int64]


def source(found: Instruction) -> str:
    def vector(name: str) -> str:
        count = re.findall(r"x?([0-9]+)$", name)
        return f"{BUILTIN_TYPES[name]} __attribute__((ext_vector_type({count[0]})))" if count else name

    places = {"a": "a[lane]", "b": "b[lane]", "c": "c[lane]"}
    arguments = ", ".join(places.get(word, word) for word in found.arguments)
    return (
        f"typedef {vector(found.builtin_operand)} operand_{found.name};\n"
        f"typedef {vector(found.builtin_result)} result_{found.name};\n"
        f'extern "C" __attribute__((amdgpu_kernel, amdgpu_flat_work_group_size({LANES}, {LANES}))) void '
        f"{found.name}(operand_{found.name} *a, operand_{found.name} *b, result_{found.name} *c) {{\n"
        "  const int lane = __builtin_amdgcn_workitem_id_x();\n"
        f"  c[lane] = {found.builtin}({arguments});\n}}\n"
    )


def codes(values: Ints, format: str) -> Ints:
    """The bits of each value in a format."""
    element = np.dtype(NARROW[format]) if format in NARROW else dtype(format).numpy
    return values.astype(element).view(f"u{element.itemsize}").astype(object)


def packed(held: Ints, bits: int) -> npt.NDArray[np.uint8]:
    """Each lane's codes side by side, lowest first, as bytes; f8f6f4 takes 8 words however few hold them."""
    lanes = [sum(int(code) << (bits * i) for i, code in enumerate(codes)) for codes in held]
    size = held.shape[1] * bits // 8
    size = 32 if size in (16, 24) and bits < 8 else size
    return np.array([list(lane.to_bytes(size, "little")) for lane in lanes], np.uint8)


def loaded(found: Instruction, operand: Operand, matrix: Ints, chip: str) -> npt.NDArray[np.uint8]:
    """What the lanes hold of a matrix [row, column, block]."""
    row, column, block = np.moveaxis(elements(found, operand), -1, 0)
    held = codes(matrix[row, column, block], found.format(operand, chip))
    return packed(held, BITS[found.element(operand)])


def executed(code: CodeObject, found: Instruction, chip: str, a_as: Instruction | None = None) -> bool:
    """Does the emulator put the product where the table says that C is?  a_as: whose layout A has instead."""
    random = np.random.default_rng(7)
    a = random.integers(-2, 3, (found.m, found.k, found.blocks))
    b = random.integers(-2, 3, (found.k, found.n, found.blocks))
    c = random.integers(-9, 10, (found.m, found.n, found.blocks))
    arrays = [loaded(a_as or found, "a", a, chip), loaded(found, "b", b, chip), loaded(found, "c", c, chip)]
    pointers = [array.ctypes.data.to_bytes(8, "little") for array in arrays]
    owned = [Memory(array.ctypes.data, array.nbytes) for array in arrays]
    execute(code, found.name, Launch((1,), (LANES,)), pointers, owned)
    want = loaded(found, "c", np.einsum("mkb,knb->mnb", a, b) + c, chip)
    return np.array_equal(arrays[2], want)


def code_of(found: Iterable[Instruction], chip: str, folder: Path) -> CodeObject:
    text = "".join(map(source, found))
    code = load_code_object(compile_code_object({"mma.cpp": text}, "mma.cpp", chip, folder).read_bytes())
    assert not code.unknown
    return code


@pytest.mark.parametrize("chip", CHIPS)
def test_an_instruction_multiplies_what_its_layouts_say(chip: str, tmp_path: Path) -> None:
    every = instructions(chip)
    code = code_of(every, chip, tmp_path)
    assert [i.name for i in every if not executed(code, i, chip)] == []


SCALES = [
    instruction(f"mfma_f32_{shape}_{a}_{b}")
    for shape in ("16x16x128", "32x32x64")
    for a, b in (("fp8", "fp8"), ("bf8", "fp4"), ("fp6", "bf6"), ("fp4", "fp4"), ("fp4", "fp8"))
]
BYTES = ((0, 0), (1, 2), (3, 1), (2, 3))
"""Which byte of the registers holds the scales of A, and of B."""


def scaled_source(found: Instruction) -> str:
    """A kernel for each of `BYTES`."""
    kernels = source(found).splitlines()
    head, call = kernels[2].removesuffix("{"), kernels[4]
    assert call.endswith("0, 0, 0, 0);")
    made = kernels[:2]
    for number, (a, b) in enumerate(BYTES):
        name = head.replace(f"{found.name}(", f"{found.name}_{number}(")
        scaled = call.replace("0, 0, 0, 0);", f"{a}, scale_a[lane], {b}, scale_b[lane]);")
        made += [name.replace(" *c)", " *c, int *scale_a, int *scale_b)") + "{", kernels[3], scaled, "}"]
    return "\n".join(made) + "\n"


def scaled_is_right(code: CodeObject, found: Instruction, number: int, turned: bool = False) -> bool:
    """The same of a product whose operands have scales, powers of two of 32 neighbours along k each.

    turned: the scales of A belong to other neighbours.
    """
    random = np.random.default_rng(number)
    a, b = random.integers(-2, 3, (found.m, found.k, 1)), random.integers(-2, 3, (found.k, found.n, 1))
    c = random.integers(-9, 10, (found.m, found.n, 1))
    of_a = random.integers(-5, 6, (found.m, found.k // SCALED))
    of_b = random.integers(-5, 6, (found.k // SCALED, found.n))
    lanes = np.arange(LANES)
    registers = random.integers(0, 256, (2, LANES, 4))
    for side, (layout, scales) in enumerate(((found.scale_a, of_a), (found.scale_b, of_b))):
        assert layout is not None
        (_, row, column), _ = layout.evaluate([lanes, 0])
        registers[side, :, BYTES[number][side]] = scales[row, column] + 127
    arrays = [
        loaded(found, "a", a, "gfx950"),
        loaded(found, "b", b, "gfx950"),
        loaded(found, "c", c, "gfx950"),
    ]
    arrays += [np.ascontiguousarray(side.astype(np.uint8)) for side in registers]
    pointers = [array.ctypes.data.to_bytes(8, "little") for array in arrays]
    owned = [Memory(array.ctypes.data, array.nbytes) for array in arrays]
    execute(code, f"{found.name}_{number}", Launch((1,), (LANES,)), pointers, owned)
    of_a = of_a[:, ::-1] if turned else of_a
    wide_a = a[:, :, 0] * np.repeat(2.0**of_a, SCALED, axis=1)
    wide_b = b[:, :, 0] * np.repeat(2.0**of_b, SCALED, axis=0)
    row, column, _ = np.moveaxis(elements(found, "c"), -1, 0)
    want = (wide_a @ wide_b + c[:, :, 0]).astype(np.float32)[row, column]
    return np.array_equal(arrays[2].view(np.float32).reshape(LANES, -1), want)


def test_scales_belong_to_the_neighbours_that_their_layouts_say(tmp_path: Path) -> None:
    text = "".join(map(scaled_source, SCALES))
    code = load_code_object(
        compile_code_object({"mma.cpp": text}, "mma.cpp", "gfx950", tmp_path).read_bytes()
    )
    assert not code.unknown
    wrong = [(i.name, n) for i in SCALES for n in range(len(BYTES)) if not scaled_is_right(code, i, n)]
    assert wrong == []
    assert not scaled_is_right(code, SCALES[0], 0, turned=True), "a control"


def test_control_operands_with_other_k_in_their_lanes_are_seen(tmp_path: Path) -> None:
    """A as if its lanes held 32 neighbours along k, and not two chunks of 16."""
    found = instruction("mfma_f32_16x16x128_fp8_fp8")
    other = replace(found, a=instruction("mfma_f32_16x16x128_fp4_fp8").a)
    code = code_of([found], "gfx950", tmp_path)
    assert not executed(code, found, "gfx950", a_as=other)
