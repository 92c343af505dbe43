"""Norms of batches in eval mode, folded: the scale and the bias that a convolution's sums take instead.

    scale = weight / sqrt(running_var + eps)       shift = norm's bias + (layer's bias - running_mean) * scale

Law: a fold is of the numbers as they are now.  On a CPU the last one is taken again where not one bit of them
differs; on a GPU, where looking would wait, one launch folds them in every call, in a CUDA graph too.  In a
graph of torch's it is ops of torch, so that the graph folds the numbers that it is called with.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from imbrex.run.cpu import short_way
from imbrex.torch.direct import EXACT, is_watched
from imbrex.torch.fold_launch import folded_on_gpu

__all__ = ["Fold", "fold_of", "folded"]

torch: Any = import_module("torch")
_KEPT: Final = (type(None), *EXACT)


@dataclass(frozen=True)
class Fold:
    """A scale and a bias, and copies of the numbers that they were made of.  options: what is no tensor."""

    tensors: tuple[Any, ...]
    options: tuple[Any, ...]
    result: tuple[Any, Any]


def fold_of(norm: Any, layer: Any) -> tuple[Any, Any]:
    """The fold of a norm's numbers as they are now; a swapped layer keeps the last one."""
    tensors = _tensors(norm, layer)
    options = norm.eps, layer.weight.dtype
    if is_watched():
        return folded(tensors, *options)
    is_known = not torch.is_grad_enabled() and all(type(t) in _KEPT for t in tensors)
    if layer.weight.is_cuda:
        launched = folded_on_gpu(tensors, *options) if is_known else None
        return launched or folded(tensors, *options)
    short = short_way()
    last: Fold | None = layer.imbrex_swapped.fold
    if (
        last is not None
        and short is not None
        and last.options == options
        and short.same(tensors, last.tensors)
    ):
        return last.result
    result = folded(tensors, *options)
    if short is not None and is_known:
        copies = tuple(None if t is None else t.detach().clone() for t in tensors)
        short.learn(copies)
        if short.same(tensors, copies):  # else nobody can tell whether they still are
            layer.imbrex_swapped.fold = Fold(copies, options, result)
    return result


def _tensors(norm: Any, layer: Any) -> tuple[Any, ...]:
    """Running mean and variance, the norm's weight and bias, the layer's bias; where they are what modules
    usually keep, without the search that an attribute of a module costs.
    """
    kept, own = norm._buffers, norm._parameters
    try:
        return (
            kept["running_mean"],
            kept["running_var"],
            own["weight"],
            own["bias"],
            layer._parameters["bias"],
        )
    except KeyError:
        return (norm.running_mean, norm.running_var, norm.weight, norm.bias, layer.bias)


def folded(tensors: tuple[Any, ...], epsilon: float, kind: Any) -> tuple[Any, Any]:
    """Scale and bias of a layer's sums, after which a norm is computed.  tensors: running mean and variance,
    the norm's weight and bias, the layer's bias.  kind: of the sums.
    """
    mean, variance, weight, shift, bias = tensors
    wide = torch.float64 if kind == torch.float64 else torch.float32
    scale = torch.rsqrt(variance.to(wide) + epsilon)
    scale = scale if weight is None else scale * weight
    mean = mean if bias is None else mean - bias
    moved = -mean * scale if shift is None else torch.addcmul(shift.to(wide), mean.to(wide), scale, value=-1)
    return scale.to(wide), moved.to(kind)
