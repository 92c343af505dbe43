"""Lines of BLAS benchmarks, whose matrices are column-major, read into our row-major Gemm.

Law: a column-major m x n matrix is, byte for byte, a row-major n x m one, and D = op(A) op(B) transposed is
op(B)^T op(A)^T.  So our m is their n, our n their m, our a their B buffer and our b their A buffer; a
buffer is transposed here exactly if it is transposed there, and its leading dimension and batch stride are
the same numbers.  Those that are too small mean the compact ones to hipblaslt-bench (ROCm/hipBLASLt,
clients/benchmarks/client.cpp), and so they do here; with --any_stride 1, batch strides are taken as they are.
Our c is their D; where beta reads their C, it must lie in the same way.  D may have another type than sums
have: our epilogue's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DTYPES, F16, F32, TF32, DType, microscaled, product_of
from imbrex.problem.flags import Flag, Flags, Line, Token, read_flags
from imbrex.problem.gemm import Gemm, GemmRole
from imbrex.problem.stride import LEADING, STRIDES, Matrices
from imbrex.problem.value import read_number, read_size, read_transposed, read_truth, read_whole

__all__ = ["BUFFERS", "BY_NAME", "SIZES", "Tool", "read_blas"]

BY_NAME: Mapping[str, DType] = {t.hipblaslt: t for t in DTYPES.values() if t.hipblaslt is not None}
"""Element types as both benchmarks name them."""

SIZES = (
    Flag("m", ("-m", "--sizem")),
    Flag("n", ("-n", "--sizen")),
    Flag("k", ("-k", "--sizek")),
    Flag("alpha", ("--alpha",)),
    Flag("beta", ("--beta",)),
    Flag("compute_type", ("--compute_type",)),
    Flag("verify", ("-v", "--verify"), "ignored"),
    Flag("iters", ("-i", "--iters"), "ignored"),
    Flag("cold_iters", ("-j", "--cold_iters"), "ignored"),
)
BUFFERS = tuple(
    Flag(f"{name}{letter}", (f"--{name}{letter}",)) for name in ("ld", "stride_") for letter in "abcd"
)

_LETTERS: Mapping[GemmRole, str] = {"a": "b", "b": "a", "c": "d"}
"""The buffer of theirs that each of our arrays is."""
BLOCKS: Final = "3"
"""What stands for scales of blocks, in place of a number or a vector."""
_SCALES = {("A", "1"): "scale_b", ("A", "2"): "channel_scale", ("B", "1"): "scale_a", ("B", "2"): "row_scale"}
"""Factors of their A and B: 1 is one number, 2 a vector along its rows or columns, in the result too."""


@dataclass(frozen=True)
class Tool:
    """A benchmark: its flags, the types that it has by its own names, the one of a line that names none, and
    activations that take a sum alone, in place of `{}`; `clamp` takes two numbers more.
    """

    flags: tuple[Flag, ...]
    types: Mapping[str, DType]
    usual: DType = F16
    activations: Mapping[str, str] = field(default_factory=dict[str, str])


def read_blas(line: Line, tokens: list[Token], tool: Tool) -> tuple[list[Gemm], tuple[str, ...]]:
    """The problem of the flags of a line, and those that were ignored."""
    flags = read_flags(line, tokens, tool.flags)
    element, stored = _types(flags, tool)
    try:
        gemm = Gemm(
            m=flags.get("n", 128, read_size),
            n=flags.get("m", 128, read_size),
            k=flags.get("k", 128, read_size),
            batch=flags.get("batch", 1, read_size),
            transpose_a=flags.get("transpose_b", False, read_transposed),
            transpose_b=flags.get("transpose_a", False, read_transposed),
            alpha=flags.get("alpha", 1.0, read_number),
            beta=flags.get("beta", 0.0, read_number),
            dtype=element,
            epilogue=_epilogue(flags, tool, stored, None if stored == element.output else stored),
        )
    except Diagnostic as error:
        raise flags.locate(error) from None
    return [_laid(flags, gemm)], flags.ignored


def _types(flags: Flags, tool: Tool) -> tuple[DType, DType]:
    """The type of a product of b by a, and d's, which is c's, too, where beta reads it."""

    def read(_: str, text: str) -> DType:
        return tool.types[text]

    precision = flags.get("precision", tool.usual, read)
    a = flags.get("a_type", precision, read)
    b = flags.get("b_type", precision, read)
    if (found := product_of(b, a)) is None:
        raise flags.line.error(_unpaired(a, b), flags.values.get("b_type"))
    a = _blocked(flags, found)
    stored = flags.get("d_type", a.output, read)
    if stored.pack > 1:
        raise flags.line.error(f"no result is stored as {stored}", flags.values["d_type"])
    if flags.get("beta", 0.0, read_number) and (c := flags.get("c_type", stored, read)) != stored:
        message = f"c is read and written where it lies, so c_type must be d_type, {stored}, got {c}"
        raise flags.line.error(message, flags.values.get("c_type"))
    compute = flags.values.get("compute_type")
    named = "" if compute is None else compute.text if "_" in compute.text else f"{compute.text}_r"
    if a == F32 and named in TF32.compute:
        return TF32, stored
    arithmetic = a.accumulator.compute
    if compute is not None and not {named, compute.text} & set(arithmetic):
        message = f"products of {a} are summed in {a.accumulator}, got compute_type {compute.text}"
        raise flags.line.error(message, compute, f"give {arithmetic[0]}")
    return a, stored


def _unpaired(a: DType, b: DType) -> str:
    """Says which types may be multiplied by those of a_type."""
    fit = dict.fromkeys(str(of) for of in (a, *BY_NAME.values()) if product_of(of, a) is not None)
    return f"mixed types are not supported: a_type is {a}, so b_type must be {' or '.join(fit)}, got {b}"


def _blocked(flags: Flags, element: DType) -> DType:
    """The microscaled type where both scales are those of blocks."""
    given = {letter: flags.values.get(f"scale{letter}") for letter in "AB"}
    blocks = [word for word in given.values() if word is not None and word.text == BLOCKS]
    found = microscaled(element)
    if not blocks:
        if found is not None and not element.is_operand:
            word = flags.values.get("b_type") or flags.values.get("a_type")
            hint = f"give --scaleA {BLOCKS} and --scaleB {BLOCKS}"
            raise flags.line.error(f"products of {element} have scales of blocks", word, hint)
        return element
    if len(blocks) != len(given):
        raise flags.line.error("scales of blocks are of A and of B, or of neither", blocks[0], "give both 3")
    if found is None:
        known = ", ".join(t.element.hipblaslt or "" for t in DTYPES.values() if t.is_microscaled)
        message = f"no product of {element} has scales of blocks"
        raise flags.line.error(message, blocks[0], f"those of {known} have")
    return found


def _epilogue(flags: Flags, tool: Tool, result: DType, stored: DType | None) -> str | None:
    """Factors, bias, activation, the result's factor and, where it is not that of sums, its type.  Our
    columns are their rows, along which their bias lies.
    """
    factors = _factors(flags)
    text = " * ".join(("x", *factors))
    if "bias_vector" in flags.values:
        text += " + bias"
        _expect_bias_of(flags, tool, result)
    activation = flags.get("activation_type", "none", lambda _, name: name)
    if activation == "clamp":
        text = _clamped(flags, text)
    else:
        text = tool.activations.get(activation, "{}").format(text)
    if flags.get("scaleD", "0", lambda _, name: name) == "1":
        text = f"({text}) * scale_c"
    if stored is not None:
        return f"{stored}({text})"
    return None if text == "x" else text


def _expect_bias_of(flags: Flags, tool: Tool, result: DType) -> None:
    """A Diagnostic where the bias has another type than the result."""
    word = flags.values.get("bias_type")
    if word is not None and tool.types[word.text] != result:
        message = f"a bias is of the result's type, {result}, got bias_type {word.text}"
        raise flags.line.error(message, word, f"give {result.hipblaslt}, or another d_type")


def _factors(flags: Flags) -> list[str]:
    """Our names of what multiplies the products; where beta reads C, that is no part of them."""
    found = {
        _SCALES[letter, word.text]: word
        for letter in "AB"
        if (word := flags.values.get(f"scale{letter}")) and word.text not in ("0", BLOCKS)
    }
    if word := flags.values.get("scaleAlpha_vector"):
        if "channel_scale" in found:
            message = "--scaleAlpha_vector and --scaleA 2 both lie along the rows of D: give one of them"
            raise flags.line.error(message, word)
        found["channel_scale"] = word
    if found and flags.get("beta", 0.0, read_number):
        message = "scales apply to A B alone, and beta is not 0"
        raise flags.line.error(message, next(iter(found.values())), "give beta 0, or C as a residual")
    return sorted(found)


def _clamped(flags: Flags, text: str) -> str:
    """Between the two further numbers of an activation; hipblaslt-bench's are 0 and infinity."""
    low = flags.get("activation_arg1", 0.0, read_number)
    if "activation_arg2" not in flags.values or flags.values["activation_arg2"].text.lower() == "inf":
        return f"max({text}, {low!r})"
    return f"clamp({text}, {low!r}, {flags.get('activation_arg2', 0.0, read_number)!r})"


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
