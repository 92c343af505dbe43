"""hipblaslt-bench lines: `hipblaslt-bench -m 48 -n 176 -k 1024 --transA T --a_type f16_r`, one problem each.

The flags are those of ROCm/hipBLASLt, clients; what they mean here is in `blas`.
"""

from __future__ import annotations

from imbrex.problem.blas import BUFFERS, BY_NAME, SIZES, Tool, read_blas
from imbrex.problem.flags import Flag, Line, Token
from imbrex.problem.gemm import Gemm

__all__ = ["read_hipblaslt"]

_ACTIVATIONS = {
    "relu": "relu({})",
    "gelu": "gelu_tanh({})",
    "swish": "silu({})",
    "sigmoid": "sigmoid({})",
}
"""Activations as hipblaslt-bench names them: its gelu is the one by tanh; the bias comes before them."""

_REFUSED_SWITCHES = "amaxScaleA amaxScaleB amaxD use_e gradient".split()
_IGNORED_SWITCHES = "c_equal_d log_function_name".split()
_IGNORED = (
    "api_method algo_method solution_index requested_solution initialization device workspace rotating "
    "use_gpu_timer flush print_kernel_info function_filter HMM splitk wgm scale_type bias_source "
    "aux_type lde stride_e compute_input_typeA compute_input_typeB use_user_args skip_slow_solution_ratio"
).split()
_SCALES = "1 is a number, 2 a vector, 3 one of each 32 neighbours along k, of A and B alike"

_FLAGS = (
    *SIZES,
    *BUFFERS,
    Flag("precision", ("-r", "--precision"), only=tuple(BY_NAME)),
    *(Flag(f"{letter}_type", (f"--{letter}_type",), only=tuple(BY_NAME)) for letter in "abcd"),
    Flag("transpose_a", ("--transA",)),
    Flag("transpose_b", ("--transB",)),
    Flag("batch", ("--batch_count", "--batch")),
    Flag("function", ("-f", "--function"), "ignored", only=("matmul",)),
    Flag("activation_type", ("--activation_type",), only=("none", *_ACTIVATIONS, "clamp")),
    Flag("activation_arg1", ("--activation_arg1",)),
    Flag("activation_arg2", ("--activation_arg2",)),
    Flag("bias_vector", ("--bias_vector",), takes_value=False),
    Flag("bias_type", ("--bias_type",), only=tuple(BY_NAME)),
    Flag("grouped_gemm", ("--grouped_gemm",), "ignored", only=("0", "false")),
    Flag("any_stride", ("--any_stride",)),
    *(
        Flag(f"scale{letter}", (f"--scale{letter}",), only=("0", "1", "2", "3"), hint=_SCALES)
        for letter in "AB"
    ),
    Flag("scaleC", ("--scaleC",), "ignored", only=("0",)),
    Flag("scaleD", ("--scaleD",), only=("0", "1")),
    Flag("scaleAlpha_vector", ("--scaleAlpha_vector",), takes_value=False),
    *(Flag(name, (f"--{name}",), "refused", takes_value=False) for name in _REFUSED_SWITCHES),
    *(Flag(name, (f"--{name}",), "ignored", takes_value=False) for name in _IGNORED_SWITCHES),
    *(Flag(name, (f"--{name}",), "ignored") for name in _IGNORED),
)
HIPBLASLT = Tool(_FLAGS, BY_NAME, activations=_ACTIVATIONS)


def read_hipblaslt(line: Line, tokens: list[Token]) -> tuple[list[Gemm], tuple[str, ...]]:
    """The problem of the flags of a line, and those that were ignored."""
    return read_blas(line, tokens, HIPBLASLT)
