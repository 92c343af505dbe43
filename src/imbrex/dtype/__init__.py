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

A product of two types of narrow floats has a type of its own, in PAIRS, derived from the two rows:
`operands` are the types of the two arrays, `packs` what a kernel counts k in, and what the row says of an
element is what holds for both.  See `dtype.pair`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.dtype.arrays import packed, saturated, widened
from imbrex.dtype.pair import (
    SCALED,
    fill_across,
    fill_held,
    fill_pairs,
    microscaled,
    product_of,
    product_of_packs,
    scaled,
)
from imbrex.dtype.row import ACROSS, BLOCK, DTYPES, HELD, PACKED, PAIRS, PANELS, DType
from imbrex.numeral import shown

__all__ = [
    "ACROSS",
    "BF16",
    "BLOCK",
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
    "HELD",
    "I8",
    "I16",
    "I32",
    "MXF4E2M1FN",
    "MXF6E2M3FN",
    "MXF6E3M2FN",
    "MXF8E4M3FN",
    "MXF8E5M2",
    "PACKED",
    "PAIRS",
    "PANELS",
    "SCALED",
    "TF32",
    "DType",
    "dtype",
    "microscaled",
    "packed",
    "product_of",
    "product_of_packs",
    "saturated",
    "widened",
]

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
I16 = DType(
    "i16", 16, "int16_t", "i16", "numpy.int16", 0, "i32", "i32", 0, 0, 0xA55A, is_operand=False
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
MXF8E4M3FN = scaled(F8E4M3FN, "mxfp8")
MXF8E5M2 = scaled(F8E5M2, "mxbf8")
MXF6E2M3FN = scaled(F6E2M3FN, "mxfp6")
MXF6E3M2FN = scaled(F6E3M2FN, "mxbf6")
MXF4E2M1FN = scaled(F4E2M1FN, "mxfp4")

DTYPES.update(
    (t.name, t)
    for t in (
        *(F32, F16, BF16, F64, F8E4M3FN, F8E5M2, F8E4M3FNUZ, F8E5M2FNUZ, TF32, I8, I32),
        *(E8M0, F4E2M1FN, F6E2M3FN, F6E3M2FN),
        *(MXF8E4M3FN, MXF8E5M2, MXF6E2M3FN, MXF6E3M2FN, MXF4E2M1FN),
    )
)

PANELS[I16.name] = I16

fill_pairs((F8E4M3FN, F8E5M2, F6E2M3FN, F6E3M2FN, F4E2M1FN))
fill_pairs((MXF8E4M3FN, MXF8E5M2, MXF6E2M3FN, MXF6E3M2FN, MXF4E2M1FN))
fill_pairs((F8E4M3FNUZ, F8E5M2FNUZ))
fill_across((F6E2M3FN, F6E3M2FN, F4E2M1FN))
fill_held((F6E2M3FN, F6E3M2FN, ACROSS["f6e2m3fn"], ACROSS["f6e3m2fn"]))

_ALIASES = {
    **{t.array_name: t.name for t in DTYPES.values() if t.dlpack_code is not None},
    **{alias: t.name for t in (*DTYPES.values(), *PAIRS.values()) for alias in t.aliases},
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
    word = _ALIASES.get(word, word)
    found = DTYPES.get(word) or PAIRS.get(word)
    if found is None:
        known = ", ".join(DTYPES)
        hint = did_you_mean(word, [*DTYPES, *PAIRS, *_ALIASES])
        raise Diagnostic(f"unknown element type '{word}'; known are {known}", hint=hint, subject="dtype")
    return found
