"""Ways to an op: under `torch.func` and in forward mode a Function whose context, gradient and tangent stand
apart, as torch asks for; where nothing stands between, past the dispatcher (`direct`), with a gradient by a
Function that is one call of Python's; everywhere else the op itself, which is one node of a graph.

Law: all have the same results and gradients.  A tangent is made of the ops as a gradient is (`gradient`):

    conv2d(x, w), backward_data(dy, w), .., product(a, b)     a sum, with each factor's tangent in its place
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final

from imbrex.torch.again import Again
from imbrex.torch.direct import direct
from imbrex.torch.forward_mode import followed, is_forward
from imbrex.torch.ops import KERNELS, OPS

__all__ = ["declare", "op_of"]

torch: Any = import_module("torch")
_is_active: Final[Callable[[], bool]] = torch._C._are_functorch_transforms_active
_TENSORS: Final = {
    name: sum(str(argument.type) in ("Tensor", "Optional[Tensor]") for argument in op._schema.arguments)
    for name, op in OPS.items()
}
"""How many arguments of each op are tensors; they come first."""
_AGAIN: Final = {name: Again(kernel, _TENSORS[name]) for name, kernel in KERNELS.items()}
_FUNCTIONS: Final[dict[str, Any]] = {}
_RECORDED: Final[dict[str, Any]] = {}
_WITHIN: Final = "torch.compile does not trace transforms of ops that have gradients of their own"


def declare(
    name: str, keep: Callable[..., None], backward: Callable[..., Any], tangent: Callable[..., Any]
) -> None:
    """Makes the Functions of an op.  keep: what its context holds; tangent: of its arguments' tangents."""

    rules = {"forward": followed(OPS[name]), "setup_context": keep, "backward": backward, "jvp": tangent}
    held: dict[str, Any] = {key: staticmethod(rule) for key, rule in rules.items()}
    _FUNCTIONS[name] = type(
        f"Imbrex_{name}", (torch.autograd.Function,), {**held, "generate_vmap_rule": True}
    )
    again = _AGAIN[name]

    def forward(ctx: Any, *given: Any) -> Any:
        result = again(*given)
        keep(ctx, given, result)
        return result

    plain = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    _RECORDED[name] = type(f"Imbrex_{name}", (torch.autograd.Function,), plain)


@cache
def op_of(name: str) -> Callable[..., Any]:
    """The op of that name, by the shortest way on which nothing of a call is lost."""
    op = OPS[name]

    def called(*given: Any) -> Any:
        if not (_is_active() or is_forward()):
            return op(*given)
        if torch.compiler.is_compiling():
            raise NotImplementedError(_WITHIN)
        return _FUNCTIONS[name].apply(*given)

    return direct(called, _AGAIN[name], lambda *given: _RECORDED[name].apply(*given), _TENSORS[name])
