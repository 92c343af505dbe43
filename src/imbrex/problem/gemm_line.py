"""GEMM lines: `gemm -t f32 -m 1024 -n 512 -k 256 -transA 0 -transB 1 -g 1`, the form that rocMLIR uses.

Law: sizes are those of row-major C[m, n]; nothing is converted.  -m ? and -m ?1..4096 leave m to each call.
-g is the batch; -lda, -strideA and so on (rocblas-bench's --lda, --stride_a), of the arrays as they are
stored, -alpha, -beta and --epilogue are ours.
"""

from __future__ import annotations

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import dtype
from imbrex.problem.flags import Flag, Line, Token, read_flags
from imbrex.problem.gemm import Gemm
from imbrex.problem.run_time import extent_text
from imbrex.problem.stride import LEADING, STRIDES
from imbrex.problem.value import (
    epilogue_flag,
    read_epilogue,
    read_extent,
    read_number,
    read_size,
    read_truth,
    read_whole,
)

__all__ = ["GEMM_FLAGS", "gemm_line", "read_gemm_line"]

GEMM_FLAGS = (
    Flag("dtype", ("-t", "--type")),
    Flag("out_dtype", ("-out_datatype", "--out_datatype")),
    Flag("m", ("-m",)),
    Flag("n", ("-n",)),
    Flag("k", ("-k",)),
    Flag("batch", ("-g", "--batch_count")),
    Flag("transpose_a", ("-transA", "--transA")),
    Flag("transpose_b", ("-transB", "--transB")),
    *(Flag(f"ld{x}", (f"-ld{x}", f"--ld{x}")) for x in "abc"),
    *(Flag(f"stride_{x}", (f"-stride{x.upper()}", f"--stride{x.upper()}", f"--stride_{x}")) for x in "abc"),
    Flag("alpha", ("-alpha", "--alpha")),
    Flag("beta", ("-beta", "--beta")),
    Flag("epilogue", ("--epilogue",)),
    Flag("transpose_c", ("-transC", "--transC"), "ignored", only=("0", "false")),
)


def read_gemm_line(line: Line, tokens: list[Token]) -> tuple[list[Gemm], tuple[str, ...]]:
    """The problem of a line whose first word is `gemm`, and the flags that were ignored."""
    flags = read_flags(line, tokens[1:], GEMM_FLAGS)
    for name in ("m", "n", "k"):
        if name not in flags.values:
            raise line.error(f"missing '-{name}'", tokens[0])
    operand = flags.get("dtype", dtype("f32"), lambda _, text: dtype(text))
    result = flags.get("out_dtype", operand.output, lambda _, text: dtype(text))
    if result != operand.output:
        message = f"a product of {operand} has {operand.output} results, got {result}"
        raise line.error(message, flags.values["out_dtype"], f'--epilogue "{result}(x)" stores {result}')
    try:
        gemm = Gemm(
            flags.get("m", 1, read_extent),
            flags.get("n", 1, read_size),
            flags.get("k", 1, read_extent),
            batch=flags.get("batch", 1, read_size),
            transpose_a=flags.get("transpose_a", False, read_truth),
            transpose_b=flags.get("transpose_b", False, read_truth),
            alpha=flags.get("alpha", 1.0, read_number),
            beta=flags.get("beta", 0.0, read_number),
            dtype=operand,
            epilogue=flags.get("epilogue", None, read_epilogue),
            **{name: flags.get(name, None, read_size) for name in LEADING.values()},
            **{name: flags.get(name, None, read_whole) for name in STRIDES.values()},
        )
    except Diagnostic as error:
        raise flags.locate(error) from None
    return [gemm], flags.ignored


def gemm_line(gemm: Gemm) -> str:
    """The canonical line of a problem; strides, alpha, beta and epilogue are written where they change
    something.
    """
    line = (
        f"gemm -t {gemm.dtype} -m {extent_text(gemm.m, gemm.least_m)} -n {gemm.n}"
        f" -k {extent_text(gemm.k, gemm.least_k)}"
        f" -transA {gemm.transpose_a:d} -transB {gemm.transpose_b:d} -g {gemm.batch}"
    )
    spelled = {flag.name: flag.spellings[0] for flag in GEMM_FLAGS}
    line += "".join(f" {spelled[name]} {value}" for name, value in gemm.gaps.items())
    if (gemm.alpha, gemm.beta) != (1.0, 0.0):
        line += f" -alpha {gemm.alpha!r} -beta {gemm.beta!r}"
    return line + epilogue_flag(gemm.epilogue)
