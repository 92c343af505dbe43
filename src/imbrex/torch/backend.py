"""backend: what `torch.compile(model, backend="imbrex")` does: convolutions and linear layers of a graph
become ops of ours, with what follows them, and another backend compiles the graph, a node each.

Law: torch's own ops answer until kernels are compiled, in the background.  A norm is fused where no gradient
is asked for.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from imbrex.torch import call
from imbrex.torch.candidate import misfit
from imbrex.torch.direct import EXACT
from imbrex.torch.fold import folded
from imbrex.torch.fusion import activation_of, added, is_changed, only_user
from imbrex.torch.traced import is_fake

__all__ = ["backend"]

torch: Any = import_module("torch")
_F: Any = torch.nn.functional
_symbolic: Any = import_module("torch.fx.experimental.symbolic_shapes")

FUNCTIONS: Final[Mapping[Any, Any]] = {
    **dict.fromkeys((torch.conv2d, _F.conv2d), call.conv2d),
    **dict.fromkeys((torch.conv_transpose2d, _F.conv_transpose2d), call.conv_transpose2d),
    _F.linear: call.linear,
}
"""Ours by torch's, which take the same arguments."""
_KNOWN: Final = {"example_value", "val"}
NORM: Final = 8
"""Arguments of `batch_norm`: input, mean, variance, weight, bias, training, momentum, epsilon."""


def backend(
    graph: Any, inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, mode: str | None = None
) -> Any:
    """A backend of torch.compile.  graph: torch.fx's.  options: "inner", the backend that compiles all else,
    its name or itself, "inductor" unless told otherwise.  mode: torch.compile's, which is inductor's own.
    """
    if mode is not None:
        raise TypeError(f"backend 'imbrex' has no modes, got '{mode}'; known options: inner")
    given = dict(options or {})
    inner = given.pop("inner", "inductor")
    if given:
        raise TypeError(f"backend 'imbrex' has no option '{next(iter(given))}'; known: inner")
    if not (isinstance(inner, str) or callable(inner)):
        raise TypeError(f"'inner' should be a backend of torch.compile, got {type(inner).__name__}")
    compiled: Any = import_module("torch._dynamo.backends.registry").lookup_backend(inner)
    for node in list(graph.graph.nodes):
        if node.op == "call_function" and node.target in FUNCTIONS and _is_served(node):
            _swap(node, graph.graph)
    graph.recompile()
    return compiled(graph, inputs)


def _is_served(node: Any) -> bool:
    """Do kernels take its tensors?"""
    tensors = [value for one in node.all_input_nodes if (value := _value(one)) is not None]
    return (
        _value(node) is not None
        and len({(value.dtype, value.device) for value in tensors}) == 1
        and all(_is_plain(value) and misfit(value, is_traced=True) is None for value in tensors)
    )


def _is_plain(value: Any) -> bool:
    """Is it a tensor of torch's own, as one that is traced?"""
    return type(value) in EXACT or is_fake(value)


def _value(node: Any) -> Any:
    """What tracing knows of a tensor; None of what is none."""
    found = node.meta.get("example_value", node.meta.get("val"))
    return found if isinstance(found, torch.Tensor) else None


def _swap(first: Any, graph: Any) -> None:
    """Makes it, and what follows it, one call of ours."""
    ours = FUNCTIONS[first.target]
    named: dict[str, Any] = {"fallback": True, "batches": "any"}
    nodes, norm = [first], None
    while ours is not call.conv_transpose2d and (after := only_user(nodes[-1])) is not None:
        if is_changed(first, after, nodes, graph, None) or _is_outside(after, nodes[-1]):
            break
        is_sum = not {"residual", "activation"} & named.keys()
        if is_sum and norm is None and ours is call.conv2d and _is_norm(after, nodes[-1]):
            norm = after
        elif is_sum and (other := added(after, nodes[-1])) is not None and _is_alike(other, after, first):
            named["residual"] = other
        elif "activation" not in named and (name := activation_of(after, None)) is not None:
            named["activation"] = name
        else:
            break
        nodes.append(after)
    with graph.inserting_before(nodes[-1]):
        given = list(first.args) if norm is None else _normed(graph, first, norm, named)
        kept = {} if norm is not None else dict(first.kwargs)
        made = graph.call_function(ours, tuple(given), {**kept, **named})
    made.meta = dict(nodes[-1].meta)
    nodes[-1].replace_all_uses_with(made)
    for node in reversed(nodes):
        graph.erase_node(node)


def _is_outside(after: Any, before: Any) -> bool:
    """Does a region, as of autocast or without gradients, begin or end between the two?  Tracing knows the
    value of every other call.
    """
    while (after := after.prev) is not before:
        is_known = bool(_KNOWN & after.meta.keys()) or after.target in (folded, operator.getitem)
        if after.op == "call_function" and not is_known:
            return True
    return False


def _is_alike(other: Any, total: Any, first: Any) -> bool:
    """Has what is added the very shape and type of the sums, so that nothing is broadcast?"""
    values = [_value(node) for node in (other, total, first)]
    if any(value is None for value in values):
        return False
    return all(v.dtype == values[0].dtype and _is_of_shape(v, values[0].shape) for v in values)


def _is_of_shape(value: Any, shape: Sequence[Any]) -> bool:
    """Has it this shape, whatever number stands for a size that has none?"""
    known: Any = _symbolic.statically_known_true
    return value.dim() == len(shape) and all(
        known(one == of) for one, of in zip(value.shape, shape, strict=True)
    )


def _is_norm(node: Any, sums: Any) -> bool:
    """Is it a norm of batches by kept statistics, where no gradient is asked for?"""
    if node.op != "call_function" or node.target is not _F.batch_norm or torch.is_grad_enabled():
        return False
    is_plain = len(node.args) == NORM and not node.kwargs and node.args[0] is sums
    return is_plain and node.args[1] is not None and node.args[5] is False


def _normed(graph: Any, first: Any, norm: Any, named: dict[str, Any]) -> list[Any]:
    """Arguments of a convolution whose sums are scaled and shifted as the norm does it."""
    arguments: dict[str, Any] = dict(zip(("input", "weight", "bias"), first.args[:3], strict=False))
    arguments |= dict(zip(("stride", "padding", "dilation", "groups"), first.args[3:], strict=False))
    arguments |= first.kwargs
    _, mean, variance, weight, shift, _, _, epsilon = norm.args
    tensors = mean, variance, weight, shift, arguments.get("bias")
    pair = graph.call_function(folded, (tensors, epsilon, _value(first).dtype))
    named["scale"] = graph.call_function(operator.getitem, (pair, 0))
    arguments["bias"] = graph.call_function(operator.getitem, (pair, 1))
    usual = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
    return [arguments[name] for name in ("input", "weight", "bias")] + [
        arguments.get(n, v) for n, v in usual.items()
    ]
