"""Forward mode: tensors with tangents, which an op of a library loses without a word.

Law: in a level of forward mode an op runs where something makes its tangent (`transform`), or not at all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

__all__ = ["followed", "is_forward", "refusing"]

_forward: Any = import_module("torch.autograd.forward_ad")
_here: Final = threading.local()


def is_forward() -> bool:
    """May a tensor have a tangent?"""
    return _forward._current_level >= 0


def followed(op: Callable[..., Any]) -> Callable[..., Any]:
    """The op, for a caller that makes the tangent of its result."""

    def called(*given: Any) -> Any:
        before, _here.is_followed = getattr(_here, "is_followed", False), True
        try:
            return op(*given)
        finally:
            _here.is_followed = before

    return called


def refusing(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an op; NotImplementedError where its result would have lost its tangent."""

    def called(*given: Any) -> Any:
        if is_forward() and not getattr(_here, "is_followed", False):
            message = f"'torch.ops.imbrex.{name}' has no tangents, which forward mode asks for"
            raise NotImplementedError(f"{message}; the functions of imbrex.torch have them")
        return kernel(*given)

    return called
