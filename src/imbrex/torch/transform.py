"""Transforms: an op under `torch.func` and in forward mode, where torch asks for a Function whose context,
gradient and tangent stand apart; everywhere else the op itself, which is one node of a graph.

Law: both have the same results and gradients.  A tangent is made of the ops as a gradient is (`gradient`):

    conv2d(x, w), backward_data(dy, w), .., product(a, b)     a sum, with each factor's tangent in its place
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from imbrex.torch.forward_mode import followed, is_forward
from imbrex.torch.ops import OPS

__all__ = ["declare", "transformed"]

torch: Any = import_module("torch")
_is_active: Final[Callable[[], bool]] = torch._C._are_functorch_transforms_active
_FUNCTIONS: Final[dict[str, Any]] = {}
_WITHIN: Final = "torch.compile does not trace transforms of ops that have gradients of their own"


def declare(
    name: str, keep: Callable[..., None], backward: Callable[..., Any], tangent: Callable[..., Any]
) -> None:
    """Makes the Function of an op.  keep: what its context holds; tangent: of its arguments' tangents."""

    rules = {"forward": followed(OPS[name]), "setup_context": keep, "backward": backward, "jvp": tangent}
    held: dict[str, Any] = {key: staticmethod(rule) for key, rule in rules.items()}
    _FUNCTIONS[name] = type(
        f"Imbrex_{name}", (torch.autograd.Function,), {**held, "generate_vmap_rule": True}
    )


def transformed(name: str) -> Callable[..., Any]:
    """The op of that name, or its Function, which torch.compile does not trace under a transform."""
    op = OPS[name]

    def called(*given: Any) -> Any:
        if not (_is_active() or is_forward()):
            return op(*given)
        if torch.compiler.is_compiling():
            raise NotImplementedError(_WITHIN)
        return _FUNCTIONS[name].apply(*given)

    return called
