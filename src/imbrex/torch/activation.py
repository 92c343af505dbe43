"""Activations that the ops of PyTorch fuse: one row each, as torch's own functions.

Law: `backward(dy, z)` is the derivative of `forward(z)` times dy; torch can differentiate both again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from imbrex.problem.activation import expect_activation, is_f32

__all__ = ["ACTIVATIONS", "FUNCTIONS", "MODULES", "Activation", "activation", "finished", "fuses"]

torch: Any = import_module("torch")
_nn: Any = torch.nn
_F: Any = torch.nn.functional
_aten: Any = torch.ops.aten


@dataclass(frozen=True)
class Activation:
    """forward: of sums z.  backward: of the result's gradient, and of z, or of the result where of_result."""

    forward: Callable[[Any], Any]
    backward: Callable[[Any, Any], Any]
    of_result: bool = False


def _silu_backward(dy: Any, z: Any) -> Any:
    """Torch's own has no derivative, so that it serves where none is asked for."""
    if not torch.is_grad_enabled():
        return _aten.silu_backward(dy, z)
    share = torch.sigmoid(z)
    return dy * share * (1 + z * (1 - share))


ACTIVATIONS: Final[Mapping[str, Activation]] = {
    "relu": Activation(torch.relu, lambda dy, y: _aten.threshold_backward(dy, y, 0), True),
    "relu6": Activation(_F.relu6, lambda dy, z: _aten.hardtanh_backward(dy, z, 0.0, 6.0)),
    "leaky_relu": Activation(_F.leaky_relu, lambda dy, z: _aten.leaky_relu_backward(dy, z, 0.01, False)),
    "hardswish": Activation(_F.hardswish, _aten.hardswish_backward),
    "sigmoid": Activation(torch.sigmoid, _aten.sigmoid_backward, True),
    "tanh": Activation(torch.tanh, _aten.tanh_backward, True),
    "silu": Activation(_F.silu, _silu_backward),
    "softplus": Activation(_F.softplus, lambda dy, z: _aten.softplus_backward(dy, z, 1, 20)),
    "gelu": Activation(_F.gelu, _aten.gelu_backward),
    "gelu_tanh": Activation(
        lambda z: _F.gelu(z, approximate="tanh"),
        lambda dy, z: _aten.gelu_backward(dy, z, approximate="tanh"),
    ),
}
"""The rows of `problem.activation`, by name."""


Read = Callable[[Any], str | None]
MODULES: Final[Mapping[Any, Read]] = {
    _nn.ReLU: lambda m: "relu",
    _nn.ReLU6: lambda m: "relu6",
    _nn.LeakyReLU: lambda m: "leaky_relu" if m.negative_slope == 0.01 else None,
    _nn.Hardswish: lambda m: "hardswish",
    _nn.Sigmoid: lambda m: "sigmoid",
    _nn.Tanh: lambda m: "tanh",
    _nn.SiLU: lambda m: "silu",
    _nn.Softplus: lambda m: "softplus" if (m.beta, m.threshold) == (1, 20) else None,
    _nn.GELU: lambda m: {"none": "gelu", "tanh": "gelu_tanh"}.get(m.approximate),
}
"""Activations that are modules: which one it is, None where it has other parameters than ours."""
FUNCTIONS: Final[Mapping[Any, str]] = {
    **dict.fromkeys((_F.relu, torch.relu, torch.relu_, "relu", "relu_"), "relu"),
    **dict.fromkeys((_F.sigmoid, torch.sigmoid, "sigmoid", "sigmoid_"), "sigmoid"),
    **dict.fromkeys((_F.tanh, torch.tanh, "tanh", "tanh_"), "tanh"),
    _F.relu6: "relu6",
    _F.leaky_relu: "leaky_relu",
    _F.hardswish: "hardswish",
    _F.silu: "silu",
    _F.softplus: "softplus",
    _F.gelu: "gelu",
}
"""Activations that are functions, or methods by name, with torch's own parameters."""


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
