"""Convolutions and products as functions of JAX, through XLA's FFI (docs/jax.md).

handler      a kernel as a custom call of XLA
layouts      layouts and pads as JAX says them
activation   activations, as JAX's functions
device       the target of JAX's device, axes of its mesh
batching     what vmap makes of a call
call         a kernel as a primitive of JAX
derivatives  kernels that JAX differentiates
ops          functions of arrays
"""

from importlib.util import find_spec

if find_spec("jax") is None:
    raise ImportError("imbrex.jax needs JAX; pip install 'imbrex[jax]'")

from imbrex.jax.call import export_checks
from imbrex.jax.ops import conv2d, conv_transpose2d, linear, matmul

__all__ = ["conv2d", "conv_transpose2d", "export_checks", "linear", "matmul"]
