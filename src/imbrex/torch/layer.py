"""Layers of torch whose forward is ours: the same object, parameters, keys and hooks, of another class.

Law: what a kernel does not serve, a subclass of tensors, a nested or sparse one, or another type or device,
the layer of torch computes, and what is added of another type than the sums', or to be broadcast, torch adds.
`fused` is the layer with what follows it, by tensors as they are now (`fold`), so that parameters may change.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from math import prod
from typing import Any, Final

from imbrex.function.batches import Batches
from imbrex.problem.run_time import MOST_IMAGES, MOST_ROWS
from imbrex.torch import call
from imbrex.torch.activation import finished
from imbrex.torch.arguments import is_dense
from imbrex.torch.direct import EXACT
from imbrex.torch.fold import Fold, fold_of
from imbrex.torch.opened import Opened
from imbrex.torch.traced import is_fake, is_within_graph

__all__ = ["LAYERS", "MANY", "Layer", "Swapped", "plain"]

torch: Any = import_module("torch")
_nn: Any = torch.nn

MANY: Final = 10
"""Shapes of one layer, each with a kernel of its own, from which on that is told."""


@dataclass
class Swapped:
    """What a swapped layer knows beside torch's.  fallback, batches: as `call` has them.  shapes: those that
    it met; own: of these what has a kernel of its own.  fitting: shapes of an input and a residual that may
    be added.  fold: of the norm that follows.  opened: kernels of all layers for any number, where calls wait
    for them.
    """

    fallback: bool
    batches: Batches = "each"
    shapes: set[tuple[int, ...]] = field(default_factory=set[tuple[int, ...]])
    own: set[tuple[int, ...]] = field(default_factory=set[tuple[int, ...]])
    fitting: set[tuple[Any, Any]] = field(default_factory=set[tuple[Any, Any]], compare=False)
    fold: Fold | None = field(default=None, compare=False)
    opened: Opened | None = field(default=None, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "fold": None, "opened": None}


class Layer:
    """What swapped layers have in common."""

    imbrex_swapped: Swapped

    def imbrex_serves(self: Any, input: Any) -> bool:
        """May a kernel compute it?  Notes the shape."""
        weight = self.weight
        if not (_is_plain(input) and _is_plain(weight)) or input.device != weight.device:
            return False
        if input.dtype != weight.dtype and not torch.is_autocast_enabled(input.device.type):
            return False
        is_counted = type(input) in EXACT and not is_within_graph()
        if is_counted and input.shape not in self.imbrex_swapped.shapes:
            _note(self, tuple(input.shape))
        return True

    def __prepare_scriptable__(self) -> Any:
        """What torch.jit.script calls first."""
        message = "torch.jit.script knows torch's own layers, and this one is swapped"
        raise TypeError(f"{message}: script the model before 'replace', or after imbrex.torch.restore(model)")


class Conv2d(Layer, _nn.Conv2d):
    """torch.nn.Conv2d."""

    def imbrex_serves(self: Any, input: Any) -> bool:
        """The same, of padding that is zeros still."""
        return self.padding_mode == "zeros" and Layer.imbrex_serves(self, input)

    def forward(self: Any, input: Any) -> Any:
        if not self.imbrex_serves(input):
            return _nn.Conv2d.forward(self, input)
        return call.conv2d(
            input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups,
            fallback=self.imbrex_swapped.fallback, batches=self.imbrex_swapped.batches,
        )  # fmt: skip

    def fused(self: Any, input: Any, norm: Any, residual: Any, activation: str) -> Any:
        """activation(norm(self(input)) + residual).  norm: of batches, in eval mode, or None."""
        moves = self.stride, self.padding, self.dilation
        if not self.imbrex_serves(input) or input.dim() != 4:
            return plain(self, input, norm, residual, activation)
        if residual is not None and not (_is_alike(residual, input) and self._fits(input, residual)):
            return finished(self.fused(input, norm, None, ""), residual, activation)
        scale, shift = (None, self.bias) if norm is None else fold_of(norm, self)
        return call.conv2d(
            input, self.weight, shift, *moves, self.groups, activation=activation or None,
            residual=residual, scale=scale, fallback=self.imbrex_swapped.fallback,
            batches=self.imbrex_swapped.batches,
        )  # fmt: skip

    def _fits(self: Any, input: Any, residual: Any) -> bool:
        """Has a residual the result's shape?"""
        pair = (input.shape, residual.shape)
        if not is_within_graph() and pair in self.imbrex_swapped.fitting:
            return True
        shape = call.conv2d_shape(input, self.weight, self.stride, self.padding, self.dilation)
        if tuple(residual.shape) != shape:
            return False
        if not is_within_graph():
            self.imbrex_swapped.fitting.add(pair)
        return True


class ConvTranspose2d(Layer, _nn.ConvTranspose2d):
    """torch.nn.ConvTranspose2d."""

    def forward(self: Any, input: Any, output_size: Any = None) -> Any:
        if not self.imbrex_serves(input):
            return _nn.ConvTranspose2d.forward(self, input, output_size)
        further = self.output_padding
        if output_size is not None:
            window = self.stride, self.padding, self.kernel_size
            further = self._output_padding(input, output_size, *window, 2, self.dilation)
        return call.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, further, self.groups, self.dilation,
            fallback=self.imbrex_swapped.fallback, batches=self.imbrex_swapped.batches,
        )  # fmt: skip


class Linear(Layer, _nn.Linear):
    """torch.nn.Linear."""

    def forward(self: Any, input: Any) -> Any:
        if not self.imbrex_serves(input):
            return _nn.Linear.forward(self, input)
        own = self.imbrex_swapped
        return call.linear(input, self.weight, self.bias, fallback=own.fallback, batches=own.batches)

    def fused(self: Any, input: Any, norm: Any, residual: Any, activation: str) -> Any:
        """activation(self(input) + residual).  norm: None."""
        if not self.imbrex_serves(input):
            return plain(self, input, norm, residual, activation)
        if residual is not None:
            shape = (*input.shape[:-1], self.out_features)
            if not _is_alike(residual, input) or tuple(residual.shape) != shape:
                return finished(self(input), residual, activation)
        return call.linear(
            input, self.weight, self.bias, activation=activation or None, residual=residual,
            fallback=self.imbrex_swapped.fallback, batches=self.imbrex_swapped.batches,
        )  # fmt: skip


LAYERS: Final[Mapping[Any, type[Any]]] = {
    _nn.Conv2d: Conv2d,
    _nn.ConvTranspose2d: ConvTranspose2d,
    _nn.Linear: Linear,
}
"""Ours by torch's."""


def _is_plain(tensor: Any) -> bool:
    """Is it a dense tensor of torch's own, or what stands for one in a graph?"""
    return (type(tensor) in EXACT or is_fake(tensor)) and is_dense(tensor)


def _is_alike(residual: Any, input: Any) -> bool:
    """Is what is added a tensor of the sums' type, where the input lies?  It may be a number."""
    if not isinstance(residual, torch.Tensor) or not _is_plain(residual) or residual.device != input.device:
        return False
    kind, device = input.dtype, input.device.type
    if kind != torch.float64 and torch.is_autocast_enabled(device):
        kind = torch.get_autocast_dtype(device)
    return residual.dtype == kind


def plain(layer: Any, input: Any, norm: Any, residual: Any, activation: str, *more: Any) -> Any:
    """What `fused` computes, by torch, one after the other.  more: what the layer takes beside its input."""
    of = next(theirs for theirs in LAYERS if isinstance(layer, theirs))
    result = of.forward(layer, input, *more)
    return finished(result if norm is None else norm(result), residual, activation)


_lock = threading.Lock()
_warned = False


def _note(layer: Any, shape: tuple[int, ...]) -> None:
    """One more shape; the first layer that meets many which have kernels of their own is told of, once a
    process.
    """
    global _warned
    swapped = layer.imbrex_swapped
    with _lock:
        swapped.shapes.add(shape)
        own = _own(layer, shape)
        is_opened = own in swapped.own
        swapped.own.add(own)
        warns = not is_opened and len(swapped.own) == MANY and not _warned
        _warned |= warns
    if is_opened and swapped.opened is not None:
        swapped.opened.compile()
    if not warns:
        return
    message = (
        f"{layer} has met {MANY} shapes of its input, the last one {shape}, and each has a kernel of its own"
    )
    warnings.warn(f"{message}; pad to fewer shapes, or leave such a layer out", stacklevel=4)


def _own(layer: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """What of a shape takes another kernel where it is another one: not the number of images, or of rows,
    where one kernel is for any.  On a GPU the gradient by a weight, a sum over them, has one of each number.
    """
    has_each = torch.is_grad_enabled() and layer.weight.requires_grad and layer.weight.is_cuda
    if layer.imbrex_swapped.batches == "each" or has_each:
        return shape
    if isinstance(layer, Linear):
        return shape if prod(shape[:-1]) > MOST_ROWS else ()
    return shape if len(shape) != 4 or shape[0] > MOST_IMAGES else shape[1:]
