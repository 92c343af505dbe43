"""A norm folded by one launch on an NVIDIA GPU, where torch's ops are five.

A kernel is for one number of channels, the types of its arrays and an epsilon; cubins are kept as those of
products.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy as np

from imbrex.build.nvidia.cubin import build_cubin
from imbrex.chip import gpus
from imbrex.emit.bundle import device_headers
from imbrex.run.cpu import Parameter
from imbrex.run.cuda.kernel import CudaKernel
from imbrex.run.launch import Launch

__all__ = ["folded_on_gpu"]

torch: Any = import_module("torch")

CHIP: Final = gpus("NVIDIA")[0]
_ARRAYS: Final = ("mean", "variance", "weight", "offset", "bias")
_TYPES: Final = {
    torch.float32: ("float", np.dtype(np.float32)),
    torch.float16: ("imbrex::f16", np.dtype(np.float16)),
    torch.bfloat16: ("imbrex::bf16", np.dtype(np.uint16)),
}
"""Types as the source and as a parameter has them."""
_WORK_ITEMS: Final = 256
_NAME: Final = "norm_fold"


def folded_on_gpu(tensors: tuple[Any, ...], epsilon: float, kind: Any) -> tuple[Any, Any] | None:
    """Scale, in f32, and shift, of `kind`; None where no kernel takes these tensors.

    tensors: running mean and variance, the norm's weight and bias, the layer's bias; all but the first two
    may be None.
    """
    there = [tensor for tensor in tensors if tensor is not None]
    if kind not in _TYPES or not all(
        one.is_cuda and one.dtype in _TYPES and one.is_contiguous() for one in there
    ):
        return None
    mean = tensors[0]
    count, device = mean.shape[0], mean.device
    kinds = tuple(None if one is None else one.dtype for one in tensors)
    scale = torch.empty(count, dtype=torch.float32, device=device)
    shift = torch.empty(count, dtype=kind, device=device)
    addresses = tuple([one.data_ptr() for one in (*there, scale, shift)])
    stream = torch.cuda.current_stream(device).cuda_stream
    is_done = _kernel(count, kinds, kind, epsilon).at(addresses, mean.get_device(), stream)
    return (scale, shift) if is_done else None


@cache
def _kernel(count: int, kinds: tuple[Any, ...], kind: Any, epsilon: float) -> CudaKernel:
    named = [(name, of, False) for name, of in zip(_ARRAYS, kinds, strict=True) if of is not None]
    named += [("scale", torch.float32, True), ("shift", kind, True)]
    arrays = [f"{'' if written else 'const '}{_TYPES[of][0]} *{name}" for name, of, written in named]
    text = _source(count, ", ".join(arrays), {name for name, *_ in named}, _TYPES[kind][0], epsilon)
    unit = f"{_NAME}.cu"
    cubin = build_cubin({unit: text, **device_headers(CHIP)}, unit, CHIP)
    parameters = tuple(Parameter(name, (count,), _TYPES[of][1], written) for name, of, written in named)
    launch = Launch(_NAME, -(-count // _WORK_ITEMS), _WORK_ITEMS, tuple(range(len(named))))
    return CudaKernel(cubin.path, _NAME, CHIP, parameters, (launch,))


def _source(count: int, arrays: str, given: set[str], kind: str, epsilon: float) -> str:
    """The unit of a kernel.  given: names of the arrays that there are.  kind: of the shift."""
    weight = "imbrex::widen(weight[at]) * " if "weight" in given else ""
    bias = "imbrex::widen(bias[at]) - " if "bias" in given else "-"
    offset = "imbrex::widen(offset[at])" if "offset" in given else "0.0f"
    return f"""#include "device/cuda/element.h"

extern "C" __global__ void __launch_bounds__({_WORK_ITEMS})
{_NAME}({arrays}) {{
  const int at = blockIdx.x * {_WORK_ITEMS} + threadIdx.x;
  if (at >= {count}) return;
  const float factor = {weight}(1.0f / sqrtf(imbrex::widen(variance[at]) + {float(epsilon)!r}f));
  const float moved = {bias}imbrex::widen(mean[at]);
  scale[at] = factor;
  shift[at] = imbrex::narrow_to<{kind}>::from(fmaf(moved, factor, {offset}));
}}
"""
