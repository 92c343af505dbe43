"""Direct: the kernel of an op called past torch's dispatcher, whose way there takes as long as a small layer;
where the same was called before, by the plan of that call.

Law: it is gone only where the dispatcher would do nothing but call this kernel and note its gradient, which a
node of torch's graph does as well: no mode, transform, tracer, compiler or region of autocast stands between,
and tensors are torch's own, as their memory has them, and lie on the CPU or the current GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from imbrex.torch.forward_mode import is_forward

__all__ = ["EXACT", "direct", "is_watched"]

torch: Any = import_module("torch")

EXACT: Final = (torch.Tensor, torch.nn.Parameter)
"""Types of tensors that are no subclass's."""
_included: Final[Callable[[], Any]] = torch._C._dispatch_tls_local_include_set
_excluded: Final[Callable[[], Any]] = torch._C._dispatch_tls_local_exclude_set
_USUAL: Final[int] = (
    torch._C.DispatchKeySet(torch._C.DispatchKey.BackendSelect)
    | torch._C.DispatchKeySet(torch._C.DispatchKey.ADInplaceOrView)
).raw_repr()
"""What every thread's dispatcher includes outside of all modes."""
_AUTOCAST: Final[int] = (
    torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
    | torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA)
).raw_repr()
"""What a region of autocast includes; it changes calls and repeats none."""
_GRADIENTS: Final[int] = (
    torch._C.DispatchKeySet(torch._C.DispatchKey.AutogradCPU)
    | torch._C.DispatchKeySet(torch._C.DispatchKey.AutogradCUDA)
).raw_repr()
"""What a caller below torch's gradients has excluded."""


def direct(
    op: Callable[..., Any], kernel: Callable[..., Any], recorded: Callable[..., Any], tensors: int
) -> Callable[..., Any]:
    """The op, by its kernel where that is the same.

    recorded: the kernel as a node of torch's graph, of which gradients are asked.  tensors: so many arguments
    come first.
    """

    def called(*given: Any) -> Any:
        first = given[:tensors]
        if not _is_alone(first):
            return op(*given)
        return recorded(*given) if _is_followed(first) else kernel(*given)

    return called


def is_watched() -> bool:
    """May a mode, a transform or a tracer see, and repeat later, which ops of torch are called?"""
    return torch.compiler.is_compiling() or bool(_included().raw_repr() & ~(_USUAL | _AUTOCAST))


def _is_followed(tensors: tuple[Any, ...]) -> bool:
    """Is a gradient asked for?"""
    return torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)


def _is_alone(tensors: tuple[Any, ...]) -> bool:
    if torch.compiler.is_compiling() or is_forward():
        return False
    if _excluded().raw_repr() & _GRADIENTS and torch.is_grad_enabled():
        return False
    if _included().raw_repr() & ~_USUAL or not all(map(_is_plain, tensors)):
        return False
    first = tensors[0]
    if first.is_cuda:
        return not torch.is_autocast_enabled("cuda") and first.get_device() == torch.cuda.current_device()
    return first.is_cpu and not torch.is_autocast_enabled("cpu")


def _is_plain(tensor: Any) -> bool:
    """Is it none, or a tensor of torch's own whose memory holds its numbers?  The dispatcher makes such a one
    of a view that negates, and of zeros that have no memory.
    """
    if tensor is None:
        return True
    return type(tensor) in EXACT and not (tensor.is_neg() or tensor._is_zerotensor())
