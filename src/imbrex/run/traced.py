"""Traced: values of PyTorch and JAX that hold no numbers, and tensors of which gradients are recorded.

Law: neither library is imported here: who has such a value has imported it.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["expect_numbers", "expect_unrecorded", "is_recorded"]

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


def is_recorded(tensor: Any) -> bool:
    """Would torch follow what becomes of the tensor, so that gradients were wrong without a word?"""
    return bool(tensor.requires_grad) and bool(sys.modules["torch"].is_grad_enabled())


def expect_unrecorded(tensor: Any, name: str) -> None:
    """TypeError for a tensor that requires grad where grad mode is on."""
    if is_recorded(tensor):
        message = f"'{name}' requires grad, which a kernel cannot follow"
        raise TypeError(f"{message}; use imbrex.torch, or torch.no_grad()")
