"""Profiles of rocBLAS, as ROCBLAS_LAYER=4 writes them at a program's end, one call a line with its count:

    - { rocblas_function: "rocblas_gemm_ex", a_type: "f16_r", transA: 'T', M: 64, call_count: 136 }

Law: a line means what rocblas-bench with the same words would compute.
"""

from __future__ import annotations

import re

from imbrex.numeral import MOST, whole
from imbrex.problem.flags import Line, Token

__all__ = ["is_profile", "profile_tokens"]

_PROFILE = re.compile(r"\s*(?:-\s*)?\{\s*rocblas_function\s*:")
_ENTRY = re.compile(r"""(?P<key>\w+)\s*:\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<plain>[^\s,}]+))""")
_FUNCTION = re.compile(r"(?:rocblas_)?(?P<precision>[a-z])?(?P<name>gemm\w*?)(?:_64)?")
_FLAGS = {"transA": "--transposeA", "transB": "--transposeB", "M": "-m", "N": "-n", "K": "-k"}
"""Flags of rocblas-bench whose names differ from the keys."""
_OF_CALL = ("atomics_mode",)
"""Keys that change nothing of what is computed, and are no flag."""


def is_profile(text: str) -> bool:
    """Is a line one of a profile?"""
    return _PROFILE.match(text) is not None


def profile_tokens(line: Line) -> tuple[list[Token], int]:
    """The words that rocblas-bench would have, each where its value stands, and how often it was called."""
    tokens: list[Token] = []
    count = 1
    for entry in _ENTRY.finditer(line.text):
        key, kind = entry["key"], entry.lastgroup or "plain"
        value = Token(entry[kind], entry.start(kind) + 1)
        if key == "call_count":
            found = whole(value.text, 1, MOST)
            if found is None:
                raise line.error(f"call_count should be a whole number, got '{value.text}'", value)
            count = found
        elif key == "rocblas_function":
            tokens += _function(value)
        elif key not in _OF_CALL:
            tokens += [Token(_FLAGS.get(key, f"--{key}"), entry.start() + 1), value]
    return tokens, count


def _function(name: Token) -> list[Token]:
    """`rocblas_sgemm` is gemm of f32; a function that is none of gemm's is named whole."""
    found = _FUNCTION.fullmatch(name.text)
    if found is None:
        return [Token("-f", name.col), name]
    words = [Token("-f", name.col), Token(found["name"], name.col)]
    if found["precision"]:
        words += [Token("-r", name.col), Token(found["precision"], name.col)]
    return words
