"""Activations of `problem.activation` as JAX's own functions, by which they are differentiated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Final

__all__ = ["ACTIVATIONS", "OF_RESULT"]

_nn: Any = import_module("jax.nn")

ACTIVATIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "relu": _nn.relu,
    "relu6": _nn.relu6,
    "leaky_relu": _nn.leaky_relu,
    "hardswish": _nn.hard_swish,
    "sigmoid": _nn.sigmoid,
    "tanh": _nn.tanh,
    "silu": _nn.silu,
    "softplus": _nn.softplus,
    "gelu": partial(_nn.gelu, approximate=False),
    "gelu_tanh": _nn.gelu,
}
OF_RESULT: Final = "relu"
"""The one whose derivative at the result is that at the sums, which need not be kept then."""
