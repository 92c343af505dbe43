"""hipblaslt-bench lines, whose matrices are column-major, read into our row-major Gemm.

Law: a column-major m x n matrix is, byte for byte, a row-major n x m one, and D = op(A) op(B) transposed is
op(B)^T op(A)^T.  So our m is their n, our n their m, our a their B buffer and our b their A buffer; a
buffer is transposed here exactly if it is transposed there, and its leading dimension and batch stride are
the same numbers.  Those that are too small mean the compact ones to hipblaslt-bench (ROCm/hipBLASLt,
clients/benchmarks/client.cpp), and so they do here; with --any_stride 1, batch strides are taken as they are.
Our c is their D; where beta reads their C, it must lie in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DTYPES, F16, F32, TF32, DType
from imbrex.problem.flags import Flag, Flags, Line, Word, read_flags
from imbrex.problem.gemm import Gemm, GemmRole
from imbrex.problem.stride import LEADING, STRIDES, Matrices
from imbrex.problem.value import read_number, read_size, read_truth, read_whole

__all__ = ["HIPBLASLT_FLAGS", "read_hipblaslt"]

_TYPES = {t.hipblaslt: t for t in DTYPES.values() if t.hipblaslt is not None}

_ACTIVATIONS = {"none": "{}", "relu": "relu({})", "gelu": "gelu_tanh({})", "swish": "silu({})"}
"""Activations as hipblaslt-bench names them: its gelu is the one by tanh; the bias comes before them."""

_LETTERS: Mapping[GemmRole, str] = {"a": "b", "b": "a", "c": "d"}
"""The buffer of theirs that each of our arrays is."""

_REFUSED_SWITCHES = "scaleAlpha_vector amaxScaleA amaxScaleB amaxD use_e gradient".split()
_IGNORED_SWITCHES = "c_equal_d log_function_name".split()
_IGNORED = (
    "api_method algo_method solution_index requested_solution initialization device workspace rotating "
    "use_gpu_timer flush print_kernel_info function_filter HMM splitk wgm scale_type bias_type bias_source "
    "aux_type activation_arg1 activation_arg2 lde stride_e compute_input_typeA compute_input_typeB "
    "use_user_args skip_slow_solution_ratio"
).split()

HIPBLASLT_FLAGS = (
    Flag("m", ("-m", "--sizem")),
    Flag("n", ("-n", "--sizen")),
    Flag("k", ("-k", "--sizek")),
    *(Flag(f"ld{letter}", (f"--ld{letter}",)) for letter in "abcd"),
    *(Flag(f"stride_{letter}", (f"--stride_{letter}",)) for letter in "abcd"),
    Flag("alpha", ("--alpha",)),
    Flag("beta", ("--beta",)),
    Flag("precision", ("-r", "--precision"), only=tuple(_TYPES)),
    *(Flag(f"{letter}_type", (f"--{letter}_type",), only=tuple(_TYPES)) for letter in "abcd"),
    Flag("compute_type", ("--compute_type",)),
    Flag("transpose_a", ("--transA",)),
    Flag("transpose_b", ("--transB",)),
    Flag("batch", ("--batch_count", "--batch")),
    Flag("function", ("-f", "--function"), "ignored", only=("matmul",)),
    Flag("activation_type", ("--activation_type",), only=tuple(_ACTIVATIONS)),
    Flag("bias_vector", ("--bias_vector",), takes_value=False),
    Flag("grouped_gemm", ("--grouped_gemm",), "ignored", only=("0", "false")),
    Flag("any_stride", ("--any_stride",)),
    *(Flag(f"scale{letter}", (f"--scale{letter}",), "ignored", only=("0",)) for letter in "ABCD"),
    *(Flag(name, (f"--{name}",), "refused", takes_value=False) for name in _REFUSED_SWITCHES),
    *(Flag(name, (f"--{name}",), "ignored", takes_value=False) for name in _IGNORED_SWITCHES),
    Flag("verify", ("-v", "--verify"), "ignored"),
    Flag("iters", ("-i", "--iters"), "ignored"),
    Flag("cold_iters", ("-j", "--cold_iters"), "ignored"),
    *(Flag(name, (f"--{name}",), "ignored") for name in _IGNORED),
)


def read_hipblaslt(line: Line, words: list[Word]) -> tuple[list[Gemm], tuple[str, ...]]:
    """The problem of the flags of a line, and those that were ignored."""
    flags = read_flags(line, words, HIPBLASLT_FLAGS)
    try:
        gemm = Gemm(
            m=flags.get("n", 128, read_size),
            n=flags.get("m", 128, read_size),
            k=flags.get("k", 128, read_size),
            batch=flags.get("batch", 1, read_size),
            transpose_a=flags.get("transpose_b", False, read_truth),
            transpose_b=flags.get("transpose_a", False, read_truth),
            alpha=flags.get("alpha", 1.0, read_number),
            beta=flags.get("beta", 0.0, read_number),
            dtype=_operand_type(flags),
            epilogue=_epilogue(flags),
        )
    except Diagnostic as error:
        raise flags.locate(error) from None
    return [_laid(flags, gemm)], flags.ignored


def _operand_type(flags: Flags) -> DType:
    """The one type of a and b, where c, d and the arithmetic have the types that follow from it."""

    def read(_: str, text: str) -> DType:
        return _TYPES[text]

    precision = flags.get("precision", F16, read)
    a = flags.get("a_type", precision, read)
    wanted = {"b_type": a, "c_type": a.output, "d_type": a.output}
    for name, type_ in wanted.items():
        given = flags.get(name, type_ if name != "b_type" else precision, read)
        if given != type_:
            message = f"mixed types are not supported: a_type is {a}, so {name} must be {type_}, got {given}"
            cast = f'a gemm line with --epilogue "{given}(x)" stores {given}' if name != "b_type" else None
            raise flags.line.error(message, flags.values.get(name), cast)
    if a == F32 and flags.get("compute_type", "", lambda _, text: text) in TF32.compute:
        return TF32
    arithmetic = a.accumulator.compute
    if "compute_type" in flags.values and flags.values["compute_type"].text not in arithmetic:
        word = flags.values["compute_type"]
        message = f"products of {a} are summed in {a.accumulator}, got compute_type {word.text}"
        raise flags.line.error(message, word, f"give {arithmetic[0]}")
    return a


def _epilogue(flags: Flags) -> str | None:
    """Our columns are their rows, along which their bias lies."""
    activation = flags.get("activation_type", "none", lambda _, text: text)
    text = _ACTIVATIONS[activation].format("x + bias" if "bias_vector" in flags.values else "x")
    return None if text == "x" else text


def _laid(flags: Flags, gemm: Gemm) -> Gemm:
    """The problem with the strides of the line."""
    any_stride = flags.get("any_stride", False, read_truth)
    fields: dict[str, int] = {}
    found = {
        role: _given(flags, letter, gemm.matrices(role), any_stride) for role, letter in _LETTERS.items()
    }
    for role, (leading, batch) in found.items():
        fields |= {LEADING[role]: leading, STRIDES[role]: batch}
    if gemm.beta != 0.0 and (read := _given(flags, "c", gemm.matrices("c"), any_stride)) != found["c"]:
        what = next(w for w, x, y in zip(("ld", "stride_"), read, found["c"], strict=True) if x != y)
        message = f"c is read and written where it lies, so {what}c must be {what}d"
        word = flags.values.get(f"{what}d") or flags.values.get(f"{what}c")
        raise flags.line.error(message, word, f"give both of --{what}c and --{what}d, or neither")
    try:
        return replace(gemm, **fields)
    except Diagnostic as error:
        theirs = {ours[r]: f"{name}{x}" for r, x in _LETTERS.items() for ours, name in _NAMED}
        raise flags.line.locate(error, flags.values.get(theirs.get(error.subject or "", ""))) from None


_NAMED = ((LEADING, "ld"), (STRIDES, "stride_"))


def _given(flags: Flags, letter: str, matrices: Matrices, any_stride: bool) -> tuple[int, int]:
    """The leading dimension and the batch stride of a buffer, the compact ones where they are too small."""
    leading = max(matrices.columns, flags.get(f"ld{letter}", 0, read_whole))
    compact = leading * matrices.rows
    batch = flags.get(f"stride_{letter}", 0 if not any_stride else compact, read_whole)
    return leading, batch if any_stride else max(compact, batch)
