"""DType: one row an element type: bits, names in every language, what it is summed in and stored as.

Law: whoever wants to know something of an element type asks its row; its name is no key anywhere else but in
the tables of instructions and of machines.

tf32 is an f32 in memory whose product is taken of 11 bits of its significand.

An 8-bit float comes in two formats, 4 bits of exponent and 3 of mantissa or 5 and 2, each as the Open Compute
Project has it (fn: no infinity, 2023) and as gfx942 has it (fnuz: no -0 either, one more in the bias).  A
product of them is an f32: the largest f8e4m3fn is 448, so that a sum of more than a few would have to be
scaled before it is stored, and a problem states no scale.

A microscaled type is an element and, of each 32 neighbours along k, one e8m0 that all of them are multiplied
by: 2^(byte - 127), NaN of 255 (Open Compute Project, "Microscaling Formats", 2023).  Its arrays are two: of
the elements, and of the scales.

Elements of 4 and 6 bits have no address of their own.  An array holds them in packs of neighbours along k, 2
of 4 bits in a byte or 16 of 6 bits in 12 bytes, the first one in the lowest bits; shapes, strides and all
that is made of them count packs, and a problem's k counts elements.  `packed` and `widened` go between them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.numeral import shown

__all__ = [
    "BF16",
    "DTYPES",
    "E8M0",
    "F4E2M1FN",
    "F6E2M3FN",
    "F6E3M2FN",
    "F8E4M3FN",
    "F8E4M3FNUZ",
    "F8E5M2",
    "F8E5M2FNUZ",
    "F16",
    "F32",
    "F64",
    "I8",
    "I32",
    "MXF4E2M1FN",
    "MXF6E2M3FN",
    "MXF6E3M2FN",
    "MXF8E4M3FN",
    "MXF8E5M2",
    "SCALED",
    "TF32",
    "DType",
    "dtype",
    "microscaled",
    "packed",
    "saturated",
    "widened",
]

SCALED = 32
"""Neighbours along k that share a scale."""


@dataclass(frozen=True, repr=False)
class DType:
    """An element type.

    c_name: what C++ calls it in memory; a struct of the device headers where C++ has no arithmetic on it.
    array_type: of the elements of an array, in NumPy or `ml_dtypes`.  dlpack_code: DLDataTypeCode; None where
    another row has the same arrays.  accumulator_name, output_name: names in `DTYPES`.
    pack: neighbours along k that memory holds as one, of which mlir_name and c_name speak.
    significand_bits: with the leading one; 0 for integers, which never round.  min_exponent: of the smallest
    normal number.  poison: bits that no kernel computes: of a float a quiet NaN with a payload of its own,
    its NaN with the sign, or its only one.  largest_finite: given for a float whose largest value is not the
    one that IEEE 754 would have.  read_bits: of the significand that a product reads, where they are fewer
    than memory holds.  element_name: of a microscaled type, in `DTYPES`.  is_operand: are there products of
    it?
    tensor_map: CUtensorMapDataType; None where there is none.  miopen, hipblaslt, compute: what MIOpenDriver
    calls a convolution of this type, and hipblaslt-bench a matrix of it and arithmetic in it.
    aliases: other names that users may give.
    """

    name: str
    bits: int
    c_name: str
    mlir_name: str
    array_type: str
    dlpack_code: int | None
    accumulator_name: str
    output_name: str
    significand_bits: int
    min_exponent: int
    poison: int
    largest_finite: float | None = None
    read_bits: int | None = None
    element_name: str | None = None
    pack: int = 1
    is_operand: bool = True
    tensor_map: str | None = None
    miopen: str | None = None
    hipblaslt: str | None = None
    compute: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        return self.significand_bits > 0

    @property
    def bytes(self) -> int:
        """Bytes of one element of an array, or of a pack."""
        return self.bits * self.pack // 8

    @property
    def is_half(self) -> bool:
        """Is it a float of 16 bits?"""
        return self.is_float and self.bits == 16

    @property
    def multiplied_bits(self) -> int:
        """Bits of an element that a product reads, sign and exponent with it: 19 of tf32."""
        return self.bits - (0 if self.read_bits is None else self.significand_bits - self.read_bits)

    @property
    def is_microscaled(self) -> bool:
        return self.element_name is not None

    @property
    def element(self) -> DType:
        """The type of the elements of an array: of a microscaled type, without its scales."""
        return self if self.element_name is None else DTYPES[self.element_name]

    @property
    def array_name(self) -> str:
        """What NumPy calls the element type of an array."""
        return self.array_type.split(".")[1]

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """The element type of an array that a kernel takes: of a pack of bytes, these."""
        if self.pack == 1:
            return self.unpacked
        return np.dtype(np.uint8 if self.bytes == 1 else f"V{self.bytes}")

    @cached_property
    def unpacked(self) -> np.dtype[Any]:
        """The type of an array of single elements; `ml_dtypes` is imported at first use."""
        module, name = self.array_type.split(".")
        return np.dtype(getattr(import_module(module), name))

    @property
    def accumulator(self) -> DType:
        """The type in which sums of products are kept."""
        return DTYPES[self.accumulator_name]

    @property
    def output(self) -> DType:
        """The type of a result whose operands have this type: of 8-bit types their accumulator, otherwise the
        same.
        """
        return DTYPES[self.output_name]

    @property
    def unit_roundoff(self) -> float:
        """Largest relative error of one rounding to nearest; 0 for integers."""
        return 2.0**-self.significand_bits if self.is_float else 0.0

    @property
    def read_error(self) -> float:
        """Largest relative error of one operand as a product reads it; 0 where it reads all of it."""
        return 0.0 if self.read_bits is None else 2.0 ** (1 - self.read_bits)

    @property
    def smallest_normal(self) -> float:
        return 2.0**self.min_exponent if self.is_float else 0.0

    @property
    def smallest_subnormal(self) -> float:
        return 2.0 ** (self.min_exponent - self.significand_bits + 1) if self.is_float else 0.0

    def nearest(self, value: float) -> float:
        """The number of this float type next to `value`: infinity beyond the largest."""
        with np.errstate(over="ignore"):
            return float(self.unpacked.type(value))

    @property
    def largest(self) -> float:
        """The largest finite value."""
        if not self.is_float:
            return float(2 ** (self.bits - 1) - 1)
        if self.largest_finite is not None:
            return self.largest_finite
        return (2.0 - 2.0 ** (1 - self.significand_bits)) * 2.0 ** (1 - self.min_exponent)


F32 = DType(
    "f32", 32, "float", "f32", "numpy.float32", 2, "f32", "f32", 24, -126, 0x7FC5_A5A5,
    tensor_map="FLOAT32", miopen="conv", hipblaslt="f32_r", compute=("f32_r", "c_f32_r", "s"),
    aliases=("float", "fp32"),
)  # fmt: skip
F16 = DType(
    "f16", 16, "imbrex::f16", "f16", "numpy.float16", 2, "f32", "f16", 11, -14, 0x7E5A,
    tensor_map="FLOAT16", miopen="convfp16", hipblaslt="f16_r", aliases=("half", "fp16"),
)  # fmt: skip
BF16 = DType(
    "bf16", 16, "imbrex::bf16", "bf16", "ml_dtypes.bfloat16", 4, "f32", "bf16", 8, -126, 0x7FDA,
    tensor_map="BFLOAT16", miopen="convbfp16", hipblaslt="bf16_r",
)  # fmt: skip
F64 = DType(
    "f64", 64, "double", "f64", "numpy.float64", 2, "f64", "f64", 53, -1022, 0x7FF8_5A5A_A5A5_5A5A,
    tensor_map="FLOAT64", miopen="convfp64", hipblaslt="f64_r", compute=("f64_r", "c_f64_r", "d"),
    aliases=("double", "fp64"),
)  # fmt: skip
F8E4M3FN = DType(
    "f8e4m3fn", 8, "imbrex::f8e4m3fn", "f8E4M3FN", "ml_dtypes.float8_e4m3fn", 10, "f32", "f32", 4, -6, 0xFF,
    largest_finite=448.0, tensor_map="UINT8", miopen="convfp8", hipblaslt="f8_r", aliases=("fp8",),
)  # fmt: skip
F8E5M2 = DType(
    "f8e5m2", 8, "imbrex::f8e5m2", "f8E5M2", "ml_dtypes.float8_e5m2", 12, "f32", "f32", 3, -14, 0xFD,
    tensor_map="UINT8", miopen="convbfp8", hipblaslt="bf8_r", aliases=("bf8",),
)  # fmt: skip
F8E4M3FNUZ = DType(
    "f8e4m3fnuz", 8, "imbrex::f8e4m3fnuz", "f8E4M3FNUZ", "ml_dtypes.float8_e4m3fnuz", 11, "f32", "f32", 4, -7,
    0x80, largest_finite=240.0, miopen="convfp8_fnuz", hipblaslt="f8_fnuz_r", aliases=("fp8_fnuz",),
)  # fmt: skip
F8E5M2FNUZ = DType(
    "f8e5m2fnuz", 8, "imbrex::f8e5m2fnuz", "f8E5M2FNUZ", "ml_dtypes.float8_e5m2fnuz", 13, "f32", "f32", 3,
    -15, 0x80, largest_finite=57344.0, miopen="convbfp8_fnuz", hipblaslt="bf8_fnuz_r", aliases=("bf8_fnuz",),
)  # fmt: skip
TF32 = DType(
    "tf32", 32, "float", "tf32", "numpy.float32", None, "f32", "f32", 24, -126, F32.poison,
    read_bits=11, tensor_map="TFLOAT32", miopen="convtf32", compute=("xf32_r", "c_xf32_r", "x"),
    aliases=("tensorfloat32", "xf32"),
)  # fmt: skip
I8 = DType(
    "i8", 8, "int8_t", "i8", "numpy.int8", 0, "i32", "i32", 0, 0, 0x80,
    tensor_map="UINT8", miopen="convint8", hipblaslt="i8_r",
)  # fmt: skip
I32 = DType(
    "i32", 32, "int32_t", "i32", "numpy.int32", 0, "i32", "i32", 0, 0, 0xA5A5_5A5A,
    tensor_map="INT32", hipblaslt="i32_r", compute=("i32_r", "c_i32_r", "i"), is_operand=False,
)  # fmt: skip
E8M0 = DType(
    "e8m0", 8, "imbrex::e8m0", "f8E8M0FNU", "ml_dtypes.float8_e8m0fnu", 14, "f32", "f32", 1, -127, 0xFF,
    largest_finite=2.0**127, is_operand=False,
)  # fmt: skip
F4E2M1FN = DType(
    "f4e2m1fn", 4, "imbrex::f4e2m1fn_x2", "vector<2xf4E2M1FN>", "ml_dtypes.float4_e2m1fn", 17, "f32", "f32",
    2, 0, 0xFF, largest_finite=6.0, pack=2, is_operand=False, hipblaslt="f4_r",
)  # fmt: skip
F6E2M3FN = DType(
    "f6e2m3fn", 6, "imbrex::f6e2m3fn_x16", "vector<16xf6E2M3FN>", "ml_dtypes.float6_e2m3fn", 15, "f32", "f32",
    4, 0, 0xFF, largest_finite=7.5, pack=16, is_operand=False, hipblaslt="f6_r",
)  # fmt: skip
F6E3M2FN = DType(
    "f6e3m2fn", 6, "imbrex::f6e3m2fn_x16", "vector<16xf6E3M2FN>", "ml_dtypes.float6_e3m2fn", 16, "f32", "f32",
    3, -2, 0xFF, largest_finite=28.0, pack=16, is_operand=False, hipblaslt="bf6_r",
)  # fmt: skip
MXF8E4M3FN = replace(
    F8E4M3FN, name="mxf8e4m3fn", dlpack_code=None, element_name="f8e4m3fn", tensor_map=None, miopen=None,
    hipblaslt=None, aliases=("mxfp8",),
)  # fmt: skip
MXF8E5M2 = replace(
    F8E5M2, name="mxf8e5m2", dlpack_code=None, element_name="f8e5m2", tensor_map=None, miopen=None,
    hipblaslt=None, aliases=("mxbf8",),
)  # fmt: skip
MXF6E2M3FN = replace(
    F6E2M3FN, name="mxf6e2m3fn", dlpack_code=None, element_name="f6e2m3fn", is_operand=True, hipblaslt=None,
    aliases=("mxfp6",),
)  # fmt: skip
MXF6E3M2FN = replace(
    F6E3M2FN, name="mxf6e3m2fn", dlpack_code=None, element_name="f6e3m2fn", is_operand=True, hipblaslt=None,
    aliases=("mxbf6",),
)  # fmt: skip
MXF4E2M1FN = replace(
    F4E2M1FN, name="mxf4e2m1fn", dlpack_code=None, element_name="f4e2m1fn", is_operand=True, hipblaslt=None,
    aliases=("mxfp4",),
)  # fmt: skip

DTYPES: dict[str, DType] = {
    t.name: t
    for t in (
        *(F32, F16, BF16, F64, F8E4M3FN, F8E5M2, F8E4M3FNUZ, F8E5M2FNUZ, TF32, I8, I32),
        *(E8M0, F4E2M1FN, F6E2M3FN, F6E3M2FN),
        *(MXF8E4M3FN, MXF8E5M2, MXF6E2M3FN, MXF6E3M2FN, MXF4E2M1FN),
    )
}

_ALIASES = {
    **{t.array_name: t.name for t in DTYPES.values() if t.dlpack_code is not None},
    **{alias: t.name for t in DTYPES.values() for alias in t.aliases},
}


def dtype(name: str | DType | npt.DTypeLike) -> DType:
    """The DType of that name (`f32`, `float32`, `fp32`) or of that NumPy element type; else a Diagnostic."""
    if isinstance(name, DType):
        return name
    is_type = isinstance(name, str | np.dtype | type)  # what only has one, as an array, is none
    try:
        word = name.lower() if isinstance(name, str) else np.dtype(name).name if is_type else shown(name)
    except (TypeError, ValueError):
        word = shown(name)
    found = DTYPES.get(_ALIASES.get(word, word))
    if found is None:
        known = ", ".join(DTYPES)
        hint = did_you_mean(word, [*DTYPES, *_ALIASES])
        raise Diagnostic(f"unknown element type '{word}'; known are {known}", hint=hint, subject="dtype")
    return found


def microscaled(element: DType) -> DType | None:
    """The microscaled type of these elements; None where there is none."""
    return next((t for t in DTYPES.values() if t.element_name == element.name), None)


def saturated(values: npt.NDArray[np.float64], element: DType) -> npt.NDArray[np.float64]:
    """As integers of that type: the nearest one, halves to even; its least or largest beyond; 0 of a NaN."""
    found = np.clip(np.rint(values), -element.largest - 1.0, element.largest)
    return np.where(np.isnan(values), 0.0, found)


def packed(values: npt.NDArray[Any], element: DType) -> npt.NDArray[Any]:
    """An array that a kernel takes: numbers rounded to that type, where memory holds packs those of
    neighbours along the last dimension, the first in the lowest bits.
    """
    found = np.ascontiguousarray(values.astype(element.unpacked))
    if element.pack == 1:
        return found
    places = np.arange(element.bits, dtype=np.uint8)
    bits = (found.view(np.uint8)[..., None] >> places & 1).reshape(*found.shape[:-1], -1)
    return np.packbits(bits, axis=-1, bitorder="little").view(element.numpy)


def widened(array: npt.NDArray[Any], element: DType) -> npt.NDArray[np.float64]:
    """The numbers of an array that a kernel takes: single elements."""
    if element.pack == 1:
        return array.astype(np.float64)
    row = np.ascontiguousarray(array).view(np.uint8)
    bits = np.unpackbits(row, axis=-1, bitorder="little").reshape(*row.shape[:-1], -1, element.bits)
    codes = np.packbits(bits, axis=-1, bitorder="little")[..., 0]
    return codes.view(element.unpacked).astype(np.float64)
