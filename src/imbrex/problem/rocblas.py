"""rocblas-bench lines, as rocBLAS writes them with ROCBLAS_LAYER=2: `rocblas-bench -f gemm_ex -m 48 ...`.

The flags are those of ROCm/rocBLAS, clients; what they mean here is in `blas`.  A product of halves is summed
in f32 whatever the function is.
"""

from __future__ import annotations

import re
from itertools import pairwise

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import F16, F32, F64
from imbrex.problem.blas import BUFFERS, BY_NAME, SIZES, Tool, read_blas
from imbrex.problem.flags import Flag, Line, Token
from imbrex.problem.gemm import Gemm
from imbrex.problem.value import read_transposed

__all__ = ["read_rocblas"]

_TYPES = {"h": F16, "s": F32, "d": F64, **BY_NAME}
_FUNCTIONS = ("gemm", "gemm_ex", "gemm_strided_batched", "gemm_strided_batched_ex")
_STRIDED = "matrices of a batch lie at one distance here, as in gemm_strided_batched"
_VECTOR = re.compile(r"(?:rocblas_\w)?gemv\w*")
_TRANSPOSED = ("--transposeA", "--transA")
_IGNORED_SWITCHES = "atomics_allowed atomics_not_allowed log_function_name".split()
_IGNORED = (
    "algo solution_index flags workspace workspace_size device math_mode initialization rotating "
    "flush_batch_count flush_memory_size"
).split()

_FLAGS = (
    *SIZES,
    *BUFFERS,
    Flag("precision", ("-r", "--precision"), only=tuple(_TYPES)),
    *(Flag(f"{letter}_type", (f"--{letter}_type",), only=tuple(_TYPES)) for letter in "abcd"),
    Flag("transpose_a", ("--transposeA",)),
    Flag("transpose_b", ("--transposeB",)),
    Flag("batch", ("--batch_count", "--batch")),
    Flag("function", ("-f", "--function"), only=_FUNCTIONS, hint=_STRIDED),
    *(Flag(name, (f"--{name}",), "ignored", takes_value=False) for name in _IGNORED_SWITCHES),
    *(Flag(name, (f"--{name}",), "ignored") for name in _IGNORED),
)
ROCBLAS = Tool(_FLAGS, _TYPES, usual=F32)


def read_rocblas(line: Line, tokens: list[Token]) -> tuple[list[Gemm], tuple[str, ...]]:
    """The problem of the flags of a line, and those that were ignored."""
    said = {name.text: value for name, value in pairwise(tokens)}
    function = said.get("-f") or said.get("--function")
    if function is not None and _VECTOR.fullmatch(function.text):
        message = f"'{function.text}' multiplies a matrix by a vector, and no problem states it"
        form = function.text[function.text.index("gemv") :].replace("gemv", "gemm")
        raise line.error(
            message, function, f"with vectors without gaps it is -f {form} {_of_one_column(said)}"
        )
    return read_blas(line, tokens, ROCBLAS)


def _of_one_column(said: dict[str, Token]) -> str:
    """Sizes of the product that a line of gemv is, as words of rocblas-bench."""
    flag = next((name for name in _TRANSPOSED if name in said), "")
    try:
        is_transposed = bool(flag) and read_transposed(flag, said[flag].text)
    except Diagnostic:
        is_transposed = False
    rows, columns = (said[name].text if name in said else name[1:] for name in ("-m", "-n"))
    if is_transposed:
        return f"--transposeA T -m {columns} -n 1 -k {rows}"
    return f"-m {rows} -n 1 -k {columns}"
