"""Traced: values of PyTorch and JAX that hold no numbers, and tensors of which gradients are recorded, or
whose numbers are not those of their memory.

Law: neither library is imported here: who has such a value has imported it.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["expect_numbers", "expect_readable", "is_in_forward_mode", "is_readable"]

_FAKE = ("FakeTensor", "FunctionalTensor")
"""Classes of torch._subclasses: what torch.compile and torch.export trace a program with."""


def expect_numbers(value: object, name: str) -> None:
    """TypeError for a value that a tracer made."""
    jax: Any = sys.modules.get("jax")
    if jax is not None and isinstance(value, jax.core.Tracer):
        raise TypeError(
            f"'{name}' is a traced JAX value, without numbers; use imbrex.jax, or wrap the call in"
            " jax.pure_callback"
        )
    if type(value).__name__ in _FAKE and type(value).__module__.startswith("torch."):
        fake = "a fake or functional tensor (torch.compile, torch.export), without numbers"
        raise TypeError(f"'{name}' is {fake}; use the ops of imbrex.torch")


def is_in_forward_mode() -> bool:
    """May a tensor of torch have a tangent, which a kernel would lose without a word?"""
    forward: Any = sys.modules.get("torch.autograd.forward_ad")
    return forward is not None and forward._current_level >= 0


def is_readable(tensor: Any) -> bool:
    """Are a tensor's numbers those of its memory, and does torch not record what becomes of them?"""
    return not tensor.is_neg() and not _is_recorded(tensor)


def expect_readable(tensor: Any, name: str) -> None:
    """TypeError for a tensor of torch whose gradients or tangents are followed, or whose memory does not hold
    its numbers.
    """
    torch: Any = sys.modules["torch"]
    for_it = "use imbrex.torch"
    if _is_recorded(tensor):
        raise TypeError(f"'{name}' requires grad, which a kernel cannot follow; {for_it}, or torch.no_grad()")
    if is_in_forward_mode() and torch._C._is_fwd_grad_enabled():
        if torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None:
            raise TypeError(f"'{name}' has a tangent, which a kernel cannot follow; {for_it}")
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        raise TypeError(f"'{name}' is a value of a transform, as torch.vmap; {for_it}")
    if tensor.is_neg() or tensor.is_conj():
        to_do, given = ("negated", "neg") if tensor.is_neg() else ("conjugated", "conj")
        message = f"'{name}' is a view that is to be {to_do} when it is read"
        raise TypeError(f"{message}; give '.resolve_{given}()' of it")
    if tensor._is_zerotensor():
        raise TypeError(f"'{name}' stands for zeros and has no memory; give '.clone()' of it")


def _is_recorded(tensor: Any) -> bool:
    """Would torch follow what becomes of the tensor, so that gradients were wrong without a word?"""
    return bool(tensor.requires_grad) and bool(sys.modules["torch"].is_grad_enabled())
