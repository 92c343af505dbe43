"""Activations by name, as epilogues: what the ops of PyTorch and of JAX fuse into their kernels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from imbrex.diagnostic import did_you_mean
from imbrex.problem.epilogue_function import FUNCTIONS

__all__ = ["EXPRESSIONS", "expect_activation", "finished_text", "is_f32"]

EXPRESSIONS: Final[Mapping[str, str]] = {
    "relu": "relu({})",
    "relu6": "clamp({}, 0, 6)",
    "leaky_relu": "leaky_relu({}, 0.01)",
    "hardswish": "hardswish({})",
    "sigmoid": "sigmoid({})",
    "tanh": "tanh({})",
    "silu": "silu({})",
    "softplus": "softplus({})",
    "gelu": "gelu({})",
    "gelu_tanh": "gelu_tanh({})",
}
"""The epilogue of each, of {}; leaky_relu with the slope that PyTorch and JAX have unless told."""


def expect_activation(name: Any) -> str:
    """The name; TypeError for what is no text, ValueError for no activation's."""
    if not isinstance(name, str):
        raise TypeError(f"'activation' should be the name of one, such as 'relu', got {name!r}")
    if name not in EXPRESSIONS:
        hint = did_you_mean(name, EXPRESSIONS) or f"known: {', '.join(EXPRESSIONS)}"
        raise ValueError(f"no activation '{name}'; {hint}")
    return name


def is_f32(name: str) -> bool:
    """Does an epilogue compute it in f32 only?"""
    return FUNCTIONS[EXPRESSIONS[name].partition("(")[0]].is_f32


@lru_cache(maxsize=256)
def finished_text(
    name: str, has_scale: bool, has_bias: bool, has_residual: bool, keeps: bool = False
) -> str | None:
    """The epilogue activation(x * channel_scale + bias + residual); None where it is x alone.

    name: "" of no activation.  keeps: what the activation is applied to is stored, too.
    """
    first = "x * channel_scale" if has_scale else "x"
    sums = " + ".join([first, *(["bias"] if has_bias else []), *(["residual"] if has_residual else [])])
    if keeps:
        sums = f"pre_activation({sums})"
    if name:
        return EXPRESSIONS[name].format(sums)
    return None if sums == "x" else sums
