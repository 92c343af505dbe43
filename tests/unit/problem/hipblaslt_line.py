"""The line that makes hipblaslt-bench compute a Gemm: what the reader has to read back."""

from __future__ import annotations

from imbrex.problem import Gemm
from imbrex.problem.gemm import GemmRole

TYPES = {
    "f32": "f32_r", "tf32": "f32_r", "f16": "f16_r", "bf16": "bf16_r", "f64": "f64_r",
    "i8": "i8_r", "i32": "i32_r",
    "f8e4m3fn": "f8_r", "f8e5m2": "bf8_r", "f8e4m3fnuz": "f8_fnuz_r", "f8e5m2fnuz": "bf8_fnuz_r",
    "f4e2m1fn": "f4_r", "f6e2m3fn": "f6_r", "f6e3m2fn": "bf6_r",
}  # fmt: skip
COMPUTE = {"tf32": "xf32_r", "f32": "f32_r", "f64": "f64_r", "i32": "i32_r"}
BUFFERS: tuple[tuple[str, GemmRole], ...] = (("a", "b"), ("b", "a"), ("c", "c"), ("d", "c"))
"""Their buffers as our arrays."""
EPILOGUES = {
    "None": "",
    "x + bias": " --bias_vector",
    "relu(x)": " --activation_type relu",
    "relu(x + bias)": " --activation_type relu --bias_vector",
    "gelu_tanh(x)": " --activation_type gelu",
    "gelu_tanh(x + bias)": " --activation_type gelu --bias_vector",
    "silu(x)": " --activation_type swish",
    "silu(x + bias)": " --activation_type swish --bias_vector",
}


def hipblaslt_line(gemm: Gemm) -> str:
    """The line; a KeyError for an epilogue that hipblaslt-bench lacks."""
    b, a = (TYPES[of.name] for of in gemm.dtype.operands)
    result = TYPES[gemm.element("c").name]
    compute = COMPUTE["tf32" if gemm.dtype.name == "tf32" else gemm.dtype.accumulator.name]
    trans_a, trans_b = "NT"[gemm.transpose_b], "NT"[gemm.transpose_a]
    scales = " --scaleA 3 --scaleB 3" if gemm.dtype.is_microscaled else ""
    return (
        f"hipblaslt-bench -m {gemm.n} -n {gemm.m} -k {gemm.k} {strides_text(gemm)}"
        f" --alpha {gemm.alpha!r} --beta {gemm.beta!r} --transA {trans_a} --transB {trans_b}"
        f" --batch_count {gemm.batch} --a_type {a} --b_type {b}"
        f" --c_type {result} --d_type {result} --compute_type {compute}"
        f"{EPILOGUES[str(gemm.epilogue)]}{scales}"
    )


def strides_text(gemm: Gemm) -> str:
    """Leading dimensions, of C as of D, and the batch strides that do not follow from these."""
    steps = {role: gemm.stride(role).of(gemm.matrices(role)) for role in gemm.roles}
    told = [f"--ld{letter} {steps[role][-2]}" for letter, role in BUFFERS]
    given = [buffer for buffer in BUFFERS if gemm.stride(buffer[1]).batch is not None]
    told += [f"--stride_{letter} {steps[role][0]}" for letter, role in given]
    if any(steps[r][0] < steps[r][-2] * gemm.matrices(r).rows for _, r in given):
        told.append("--any_stride 1")
    return " ".join(told)
