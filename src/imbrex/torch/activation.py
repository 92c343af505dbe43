"""Activations that the ops of PyTorch fuse: one row each, as torch's own functions.

Law: `backward(dy, z)` is the derivative of `forward(z)` times dy; torch can differentiate both again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from imbrex.problem.activation import expect_activation, is_f32

__all__ = ["ACTIVATIONS", "Activation", "activation", "finished", "fuses"]

torch: Any = import_module("torch")
_F: Any = torch.nn.functional
_aten: Any = torch.ops.aten


@dataclass(frozen=True)
class Activation:
    """forward: of sums z.  backward: of the result's gradient, and of z, or of the result where of_result."""

    forward: Callable[[Any], Any]
    backward: Callable[[Any, Any], Any]
    of_result: bool = False


ACTIVATIONS: Final[Mapping[str, Activation]] = {
    "relu": Activation(torch.relu, lambda dy, y: _aten.threshold_backward(dy, y, 0), True),
    "relu6": Activation(_F.relu6, lambda dy, z: _aten.hardtanh_backward(dy, z, 0.0, 6.0)),
    "leaky_relu": Activation(_F.leaky_relu, lambda dy, z: _aten.leaky_relu_backward(dy, z, 0.01, False)),
    "hardswish": Activation(_F.hardswish, _aten.hardswish_backward),
    "sigmoid": Activation(torch.sigmoid, _aten.sigmoid_backward, True),
    "tanh": Activation(torch.tanh, _aten.tanh_backward, True),
    "silu": Activation(_F.silu, _aten.silu_backward),
    "softplus": Activation(_F.softplus, lambda dy, z: _aten.softplus_backward(dy, z, 1, 20)),
    "gelu": Activation(_F.gelu, _aten.gelu_backward),
    "gelu_tanh": Activation(
        lambda z: _F.gelu(z, approximate="tanh"),
        lambda dy, z: _aten.gelu_backward(dy, z, approximate="tanh"),
    ),
}
"""The rows of `problem.activation`, by name."""


def activation(name: Any) -> Activation:
    """The row of that name; TypeError and ValueError where there is none."""
    return ACTIVATIONS[expect_activation(name)]


def fuses(name: str, dtype: Any) -> bool:
    """Is it as exact in an epilogue as sums of that type's products are?"""
    return dtype != torch.float64 or not is_f32(name)


def finished(sums: Any, residual: Any, name: str) -> Any:
    """activation(sums + residual), by torch.  residual: or None; name: "" of no activation."""
    added = sums if residual is None else sums + residual
    return activation(name).forward(added) if name else added
