"""Ops of PyTorch: convolutions and products with what follows them in the same kernel, differentiable, in
eager mode, in torch.compile and in torch.export (docs/pytorch.md).

activation  activations that are fused
lying       shapes of results, and how they lie
ops         what the dispatcher knows
gradient    derivatives of ops, made of ops
rules       autocast and vmap
call        functions of tensors
"""

from importlib.util import find_spec

if find_spec("torch") is None:
    raise ImportError("imbrex.torch needs PyTorch; pip install 'imbrex[torch]', or torch for your machine")

from imbrex.torch import gradient, rules
from imbrex.torch.call import addmm, bmm, conv2d, conv_transpose2d, linear, mm

gradient.register()
rules.register()

__all__ = ["addmm", "bmm", "conv2d", "conv_transpose2d", "linear", "mm"]
