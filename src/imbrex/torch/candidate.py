"""Candidates: the layers of a model that kernels may compute, and of the others the reason why not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Final

from imbrex.diagnostic import Diagnostic, printable
from imbrex.torch.arguments import is_dense
from imbrex.torch.direct import EXACT
from imbrex.torch.example import repeatable
from imbrex.torch.fusion import has_hooks
from imbrex.torch.layer import LAYERS, Layer

__all__ = [
    "Candidate", "Met", "candidates", "differentiated", "expect_same", "met", "misfit", "tensors_of",
]  # fmt: skip

torch: Any = import_module("torch")
_pytree: Any = import_module("torch.utils._pytree")

TYPES: Final = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_nn: Any = torch.nn
WITHOUT_KERNELS: Final = (
    _nn.Conv1d, _nn.Conv3d, _nn.ConvTranspose1d, _nn.ConvTranspose3d, _nn.Bilinear, _nn.RNNBase,
    _nn.RNNCellBase, _nn.MultiheadAttention,
)  # fmt: skip
"""Layers of torch that multiply, and that kernels do not compute."""
BOUNDS: Final = {torch.float64: 1e-9, torch.float32: 1e-3, torch.float16: 3e-2, torch.bfloat16: 2e-1}
"""The largest difference between a model's results, by the root mean square of what they should be: a
model of a hundred layers passes with ten times its usual rounding, and a layer that is wrong does not."""


@dataclass(frozen=True)
class Met:
    """A tensor that a layer was called with.  output_size: of a transposed convolution; times: how often."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: Any
    device: Any
    needs_grad: bool = False
    output_size: tuple[int, ...] | None = None
    times: int = 1


@dataclass(frozen=True)
class Candidate:
    """A layer.  reason: why it stays as it is; None where it may be swapped.  met: its inputs."""

    name: str
    kind: str
    module: Any
    reason: str | None
    met: tuple[Met, ...] = ()


def candidates(model: Any) -> list[Candidate]:
    """All layers that look like one of ours, by their names in the model, "" of the model itself."""
    compiled = {id(one) for module in model.modules() if _is_compiled(module) for one in module.modules()}
    of_modules: dict[int, int] = {}
    owners: dict[int, set[int]] = {}
    for _, module in model.named_modules(remove_duplicate=False):
        of_modules[id(module)] = of_modules.get(id(module), 0) + 1
        for parameter in module._parameters.values():
            if parameter is not None:
                owners.setdefault(id(parameter), set()).add(id(module))
    found: list[Candidate] = []
    for name, module in model.named_modules():
        kind = _kind(module)
        if kind is not None:
            reason = _reason(module, of_modules[id(module)] > 1, owners)
            if id(module) in compiled:
                reason = "torch.compile holds it; 'replace' comes before, or backend=\"imbrex\""
            found.append(Candidate(name, kind, module, reason))
    return found


def _is_compiled(module: Any) -> bool:
    """Did torch.compile, or the module's own `compile`, take it?"""
    is_wrapper = type(module).__module__.startswith("torch._dynamo") and "_orig_mod" in module._modules
    return is_wrapper or module._compiled_call_impl is not None


def _kind(module: Any) -> str | None:
    """What a layer is called; None of what is none of ours."""
    name: str = type(module).__name__
    if isinstance(module, torch.jit.ScriptModule):
        name = getattr(module, "original_name", name)
        return name if name in {layer.__name__ for layer in LAYERS} else None
    is_layer = isinstance(module, (*LAYERS, *WITHOUT_KERNELS))
    return name if is_layer or (_is_quantised(module) and hasattr(module, "scale")) else None


def _is_quantised(module: Any) -> bool:
    words = type(module).__module__.split(".")
    return "quantized" in words or "qat" in words or "quantizable" in words


def _reason(module: Any, is_shared: bool, owners: Mapping[int, set[int]]) -> str | None:
    """Why a layer stays; None where it may be swapped."""
    if isinstance(module, Layer):
        return "swapped before"
    if isinstance(module, torch.jit.ScriptModule):
        return "it is a program of torch.jit"
    if _is_quantised(module):
        return "it is quantised"
    if isinstance(module, WITHOUT_KERNELS):
        return "no kernel computes such a layer"
    if isinstance(module, _nn.modules.lazy.LazyModuleMixin):
        return "it is lazy and has no weight yet; call the model once before 'replace'"
    if type(module) not in LAYERS:
        return f"it is a subclass, {type(module).__module__}.{type(module).__qualname__}"
    if "forward" in vars(module):
        return "its forward is one of its own"
    if has_hooks(module):
        return "it has hooks"
    if is_shared:
        return "it stands in the model several times"
    parameters = [p for p in module._parameters.values() if p is not None]
    if any(len(owners[id(p)]) > 1 for p in parameters):
        return "another layer shares its weight"
    if getattr(module, "padding_mode", "zeros") != "zeros":
        return f"its padding is {module.padding_mode}"
    if "weight" not in module._parameters:
        return "its weight is no parameter"
    return next((reason for p in parameters if (reason := misfit(p)) is not None), None)


def misfit(tensor: Any, *, is_traced: bool = False) -> str | None:
    """Why kernels do not take a tensor; None where they do.  is_traced: it stands for one without numbers."""
    if not is_traced and type(tensor) not in EXACT:
        return f"its weight is a subclass of tensors, {type(tensor).__qualname__}"
    if tensor.dtype not in TYPES:
        return f"no kernel takes {str(tensor.dtype).removeprefix('torch.')}"
    if tensor.layout != torch.strided:
        return f"its weight is {str(tensor.layout).removeprefix('torch.')}"
    if tensor.device.type == "cuda":
        major, minor = torch.cuda.get_device_capability(tensor.device)
        if torch.version.hip is not None or (major, minor) != (9, 0):
            return f"there is no target for {torch.cuda.get_device_name(tensor.device)}"
    elif tensor.device.type != "cpu":
        return f"there is no target for the device '{tensor.device.type}'"
    return None


def met(
    model: Any, example: Any, wanted: Sequence[Candidate], with_gradients: bool
) -> tuple[list[Any], dict[str, tuple[Met, ...]]]:
    """The tensors that the example gives, and with which tensors it calls each candidate that it calls, none
    where kernels take none of them; a ValueError where the model cannot be called with it.
    """
    names = {id(one.module): one.name for one in wanted}
    found: dict[str, dict[Met, int]] = {}

    def see(module: Any, given: Any, named: Any, result: Any) -> None:
        counts = found.setdefault(names[id(module)], {})
        tensor, size = _called_with(*given, **named)
        if type(tensor) in EXACT and is_dense(tensor):
            lies = tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.device
            one = Met(*lies, tensor.requires_grad, None if size is None else tuple(size))
            counts[one] = counts.get(one, 0) + 1

    handles = [one.module.register_forward_hook(see, with_kwargs=True) for one in wanted]
    try:
        with repeatable(example):
            result = tensors_of(model, example, with_gradients)
    except Exception as error:  # the model's own, of any kind
        why = f"{type(error).__name__}: {printable(str(error).partition(chr(10))[0])}"
        raise ValueError(f"the model cannot be called with 'example': {why}") from error
    finally:
        for handle in handles:
            handle.remove()
    every = {name: tuple(replace(m, times=n) for m, n in counts.items()) for name, counts in found.items()}
    return [tensor.detach() for tensor in result], every


def _called_with(input: Any, output_size: Any = None) -> tuple[Any, Any]:
    """The arguments of a layer, as their forwards call them."""
    return input, output_size


def expect_same(model: Any, example: Any, wanted: Sequence[Any]) -> None:
    """A Diagnostic where the example gives something else than it gave."""
    with repeatable(example):
        results = tensors_of(model, example)
    for got, want in zip(results, wanted, strict=True):
        if got.shape != want.shape or got.dtype != want.dtype:
            raise _wrong(f"{tuple(got.shape)} of {got.dtype} instead of {tuple(want.shape)} of {want.dtype}")
        if want.dtype in BOUNDS and want.numel():
            wide, found = want.double(), got.double()
            is_same = (found == wide) | (found.isnan() & wide.isnan())
            far = (found - wide).abs().masked_fill(is_same, 0).max().item()
            size = wide[wide.isfinite()].square().mean().sqrt().item()
            if not far <= BOUNDS[want.dtype] * size and far != 0:
                raise _wrong(f"a result is off by {far:.2g}, where their root mean square is {size:.2g}")


def _wrong(message: str) -> Diagnostic:
    hint = (
        "the model has its own layers back; does it change itself, or draw numbers of a generator of its own?"
    )
    return Diagnostic(f"the model computes something else with kernels: {message}", hint=hint)


def tensors_of(model: Any, example: Any, with_gradients: bool = False) -> list[Any]:
    """All tensors of the model's result."""
    with torch.set_grad_enabled(with_gradients):
        if isinstance(example, Mapping):
            result = model(**example)
        else:
            result = model(*example) if isinstance(example, tuple) else model(example)
    return list(_flat(result))


def differentiated(model: Any, example: Any) -> None:
    """The model's result, and the gradients of its floats by all parameters that have them, which are kept
    nowhere; a ValueError where the model cannot be differentiated.
    """
    results = [tensor for tensor in tensors_of(model, example, True) if tensor.requires_grad]
    needed = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not results or not needed:
        return
    try:
        ones = [torch.ones_like(tensor) for tensor in results]
        torch.autograd.grad(results, needed, ones, allow_unused=True)
    except Exception as error:  # the model's own, of any kind
        why = printable(str(error).partition(chr(10))[0])
        message = f"the model in training mode cannot be differentiated with 'example': {why}"
        raise ValueError(f"{message}; 'measure=False' does not try") from error


def _flat(value: Any) -> Iterator[Any]:
    yield from (leaf for leaf in _pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor))
