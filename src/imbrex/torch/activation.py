"""Activations that the ops of PyTorch fuse: one row each, as our epilogue and as torch's own functions.

Law: `backward(dy, z)` is the derivative of `forward(z)` times dy; torch can differentiate both again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from imbrex.diagnostic import did_you_mean
from imbrex.problem.epilogue_function import FUNCTIONS

__all__ = ["ACTIVATIONS", "Activation", "activation", "epilogue", "finished"]

torch: Any = import_module("torch")
_F: Any = torch.nn.functional
_aten: Any = torch.ops.aten


@dataclass(frozen=True)
class Activation:
    """expression: the epilogue, of {}.  forward: of sums z.  backward: of the result's gradient, and of z or,
    where of_result, of the result.  function: what the epilogue calls, which may be computed in f32 only.
    """

    expression: str
    forward: Callable[[Any], Any]
    backward: Callable[[Any, Any], Any]
    function: str
    of_result: bool = False

    def fuses(self, dtype: Any) -> bool:
        """Is it as exact in an epilogue as sums of that type's products are?"""
        return dtype != torch.float64 or not FUNCTIONS[self.function].is_f32


ACTIVATIONS: Final[Mapping[str, Activation]] = {
    "relu": Activation(
        "relu({})", torch.relu, lambda dy, y: _aten.threshold_backward(dy, y, 0), "relu", True
    ),
    "relu6": Activation(
        "clamp({}, 0, 6)", _F.relu6, lambda dy, z: _aten.hardtanh_backward(dy, z, 0.0, 6.0), "clamp"
    ),
    "leaky_relu": Activation(
        "leaky_relu({}, 0.01)", _F.leaky_relu,
        lambda dy, z: _aten.leaky_relu_backward(dy, z, 0.01, False), "leaky_relu",
    ),
    "hardswish": Activation("hardswish({})", _F.hardswish, _aten.hardswish_backward, "hardswish"),
    "sigmoid": Activation("sigmoid({})", torch.sigmoid, _aten.sigmoid_backward, "sigmoid", True),
    "tanh": Activation("tanh({})", torch.tanh, _aten.tanh_backward, "tanh", True),
    "silu": Activation("silu({})", _F.silu, _aten.silu_backward, "silu"),
    "softplus": Activation(
        "softplus({})", _F.softplus, lambda dy, z: _aten.softplus_backward(dy, z, 1, 20), "softplus"
    ),
    "gelu": Activation("gelu({})", _F.gelu, _aten.gelu_backward, "gelu"),
    "gelu_tanh": Activation(
        "gelu_tanh({})", lambda z: _F.gelu(z, approximate="tanh"),
        lambda dy, z: _aten.gelu_backward(dy, z, approximate="tanh"), "gelu_tanh",
    ),
}  # fmt: skip
"""Activations by name; leaky_relu with torch's own slope."""


def activation(name: Any) -> Activation:
    """The row of that name; ValueError where there is none."""
    if not isinstance(name, str):
        raise TypeError(f"'activation' should be the name of one, such as 'relu', got {name!r}")
    if name not in ACTIVATIONS:
        hint = did_you_mean(name, ACTIVATIONS) or f"known: {', '.join(ACTIVATIONS)}"
        raise ValueError(f"no activation '{name}'; {hint}")
    return ACTIVATIONS[name]


def finished(sums: Any, residual: Any, name: str) -> Any:
    """activation(sums + residual), by torch.  residual: or None; name: "" of no activation."""
    added = sums if residual is None else sums + residual
    return activation(name).forward(added) if name else added


@lru_cache(maxsize=256)
def epilogue(
    name: str, has_scale: bool, has_bias: bool, has_residual: bool, keeps: bool = False
) -> str | None:
    """The expression of an op: activation(x * channel_scale + bias + residual); None where it is x alone.

    keeps: what the activation is applied to is stored, too.
    """
    first = "x * channel_scale" if has_scale else "x"
    sums = " + ".join([first, *(["bias"] if has_bias else []), *(["residual"] if has_residual else [])])
    if keeps:
        sums = f"pre_activation({sums})"
    if name:
        return activation(name).expression.format(sums)
    return None if sums == "x" else sums
