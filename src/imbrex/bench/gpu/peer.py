"""Peers on a GPU: cuBLAS, cuBLASLt and cuDNN through PyTorch, cuBLASLt's best algorithm, and Triton, on
the same tensors as ours.

Law: a peer reads operands where they lie, in the problem's layout, and gives a result of the problem's type;
one that would need another problem, or a copy, does not take part.  f32 is strict: no tf32 but for tf32
problems.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias

from imbrex.bench.gpu.sets import BIAS_RELU
from imbrex.bench.peer import Call
from imbrex.dtype import TF32
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.verify.device.check import Tensor

__all__ = ["Tensors", "peer_calls", "peer_versions"]

Tensors: TypeAlias = Mapping[str, Tensor]
BIAS_GELU = "gelu_tanh(x + bias)"


def peer_calls(name: str, problem: Problem, sets: Sequence[Tensors]) -> list[Call] | None:
    """A call for each set of tensors; None where this peer has no way to compute the problem.

    name: "torch", whatever library it asks; "lt", the fastest that cuBLASLt's heuristics name; or "triton".
    Its package is installed.
    """
    if name == "triton":
        return _triton(problem, sets)
    if name == "lt":
        return _lt(problem, sets)
    make = _library(problem)
    return None if make is None else [make(tensors) for tensors in sets]


def peer_versions() -> dict[str, str]:
    """Versions of the libraries that a time may come from."""
    torch: Any = import_module("torch")
    found = {"torch": str(torch.__version__), "cuda": str(torch.version.cuda)}
    if torch.backends.cudnn.is_available():
        found["cudnn"] = str(torch.backends.cudnn.version())
    for module in ("triton", "nvmath"):
        if importlib.util.find_spec(module) is not None:
            found[module] = str(import_module(module).__version__)
    return found


Maker: TypeAlias = Callable[[Tensors], Call]


def _library(problem: Problem) -> Maker | None:
    _set_precision(problem.dtype == TF32)
    return _product(problem) if isinstance(problem, Gemm) else _convolution(problem)


def _set_precision(tf32: bool) -> None:
    torch: Any = import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True


def _sides(gemm: Gemm, tensors: Tensors) -> tuple[Tensor, Tensor]:
    a, b = tensors["a"], tensors["b"]
    return (a.mT if gemm.transpose_a else a), (b.mT if gemm.transpose_b else b)


def _product(gemm: Gemm) -> Maker | None:
    torch: Any = import_module("torch")
    if gemm.epilogue is not None:
        return _fused_product(gemm)
    is_unscaled = (gemm.alpha, gemm.beta) == (1.0, 0.0)
    if gemm.dtype.bits == 8:
        if not is_unscaled or gemm.batch != 1:
            return None
        if gemm.dtype.is_float:
            return lambda t: _scaled(gemm, t)
        return lambda t: _bound(torch._int_mm, *_sides(gemm, t), out=t["c"])
    if is_unscaled:
        return lambda t: _bound(torch.matmul, *_sides(gemm, t), out=t["c"])
    function = torch.addmm if gemm.batch == 1 else torch.baddbmm
    scales = {"beta": gemm.beta, "alpha": gemm.alpha}
    return lambda t: _bound(function, t["c"], *_sides(gemm, t), out=t["c"], **scales)


def _bound(function: Callable[..., object], *arguments: object, **named: object) -> Call:
    return lambda: function(*arguments, **named)


def _scaled(gemm: Gemm, tensors: Tensors) -> Call:
    """Sums as wgmma has them, not promoted between: the fastest that cuBLASLt offers."""
    torch: Any = import_module("torch")
    a, b = _sides(gemm, tensors)
    one = torch.ones((), dtype=torch.float32, device=a.device)
    kind = tensors["c"].dtype
    return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=kind, use_fast_accum=True)


def _fused_product(gemm: Gemm) -> Maker | None:
    torch: Any = import_module("torch")
    plain = (gemm.alpha, gemm.beta, gemm.batch) == (1.0, 0.0, 1) and gemm.dtype.is_half
    text = str(gemm.epilogue)
    if not plain:
        return None
    if text in (BIAS_RELU, BIAS_GELU):
        gelu = text == BIAS_GELU
        return lambda t: _bound(torch._addmm_activation, t["bias"], *_sides(gemm, t), use_gelu=gelu)
    name, inner = text.removesuffix(")").split("(", 1)
    function = {"gelu": torch.nn.functional.gelu, "silu": torch.nn.functional.silu}.get(name)
    if function is None or inner not in ("x", "x + bias"):
        return None
    return lambda t: _followed(gemm, t, function, has_bias=inner != "x")


def _followed(gemm: Gemm, tensors: Tensors, function: Callable[[Tensor], Tensor], *, has_bias: bool) -> Call:
    """A kernel of its own for what follows the product."""
    torch: Any = import_module("torch")
    sides, c = _sides(gemm, tensors), tensors["c"]
    if has_bias:
        return lambda: function(torch.addmm(tensors["bias"], *sides, out=c))
    return lambda: function(torch.mm(*sides, out=c))


def _lt(problem: Problem, sets: Sequence[Tensors]) -> list[Call] | None:
    """The algorithm that is best for all sets in turn, one for all."""
    if not isinstance(problem, Gemm):
        return None
    lt: Any = import_module("imbrex.bench.gpu.lt_peer")
    calls: list[Call] | None = lt.best(problem, sets)
    return calls


def _convolution(conv: Conv2d) -> Maker | None:
    torch: Any = import_module("torch")
    order = _image_order(conv)
    if order is None or not conv.dtype.is_float or conv.pad_h[0] != conv.pad_h[1]:
        return None
    if conv.pad_w[0] != conv.pad_w[1] or str(conv.epilogue) not in ("None", BIAS_RELU):
        return None
    pads, rest = (conv.pad_h[0], conv.pad_w[0]), (conv.dilation, conv.groups)

    def make(tensors: Tensors) -> Call:
        moved = [
            tensors[role].permute(0, 3, 1, 2) if order == "nhwc" else tensors[role] for role in conv.roles
        ]
        filters, images, result = moved
        if conv.epilogue is not None:
            fused = torch.cudnn_convolution_relu
            return _bound(fused, images, filters, tensors["bias"], conv.stride, pads, *rest)
        if conv.direction == "forward":
            return _bound(torch.conv2d, images, filters, None, conv.stride, pads, *rest)
        mask = [conv.direction == "backward_data", conv.direction == "backward_weight", False]
        return _bound(
            torch.ops.aten.convolution_backward, result, images, filters, None,
            conv.stride, pads, conv.dilation, False, (0, 0), conv.groups, mask,
        )  # fmt: skip

    return make


def _image_order(conv: Conv2d) -> str | None:
    """`nchw` or `nhwc` where all three arrays are so."""
    words = ("".join(conv.layout(role)).replace("hi", "h").replace("wi", "w") for role in conv.roles)
    return {"kcyx nchw nkhowo": "nchw", "kyxc nhwc nhowok": "nhwc"}.get(" ".join(words))


def _triton(problem: Problem, sets: Sequence[Tensors]) -> list[Call] | None:
    """The configuration that is best for all sets in turn, one for all."""
    if not isinstance(problem, Gemm):
        return None
    usual = (problem.alpha, problem.beta, problem.batch, problem.epilogue) == (1.0, 0.0, 1, None)
    if not usual or problem.transpose_a or not problem.dtype.is_half:
        return None
    matmul: Any = import_module("imbrex.bench.gpu.triton_peer.matmul")
    sides = [(*_sides(problem, tensors), tensors["c"]) for tensors in sets]
    calls: list[Call] = matmul.calls(sides, matmul.best(sides))
    return calls
