"""Ops of PyTorch: convolutions and products with what follows them in the same kernel, differentiable, in
eager mode, in torch.compile and in torch.export (docs/pytorch.md).

activation  activations that are fused
lying       shapes of results, and how they lie
plain       the same results by torch's own ops
fallback    kernels that are compiled while those answer
forward_mode  tangents, which ops do not have
ops         what the dispatcher knows
direct      past it
transform   ops under torch.func and in forward mode
gradient    derivatives of ops, made of ops
rules       autocast and vmap
flops       operations of ops, for torch's counter
call        functions of tensors
opened      kernels for any number of images or rows, of all layers at once
layer       layers of torch by these functions
fusion      a layer with what follows it, as torch.fx sees it
candidate   layers of a model that may be swapped, and the others
trial       a layer by kernels and by torch
report      what came of each layer
form        which layers are swapped, and how filters lie
replace     `replace` and `restore`
backend     of torch.compile
"""

from importlib.util import find_spec

if find_spec("torch") is None:
    raise ImportError("imbrex.torch needs PyTorch; pip install 'imbrex[torch]', or torch for your machine")

from imbrex.torch import flops, gradient, rules
from imbrex.torch.backend import backend
from imbrex.torch.call import addmm, bmm, conv2d, conv_transpose2d, linear, mm
from imbrex.torch.fallback import wait
from imbrex.torch.replace import replace, restore

gradient.register()
rules.register()
flops.register()

__all__ = [
    "addmm",
    "backend",
    "bmm",
    "conv2d",
    "conv_transpose2d",
    "linear",
    "mm",
    "replace",
    "restore",
    "wait",
]
