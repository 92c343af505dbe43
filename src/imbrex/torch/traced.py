"""Traced: the graph of a module's own forward, whose children are called and not looked into.

Law: a graph is all that the forward does with tensors.  One that keeps something in its module, makes tensors
of none that it was given, or draws random numbers, which may decide what it does, has none; and tracing
leaves the module and all generators as they were.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from copy import copy
from importlib import import_module
from typing import Any, Final

from imbrex.torch.example import drawn

__all__ = ["is_fake", "is_within_graph", "traced", "tracing"]

torch: Any = import_module("torch")
fx: Any = import_module("torch.fx")
_FAKES: Final = ("FakeTensor", "FunctionalTensor")
_HELD: Final = (list, dict, set, deque)


def is_fake(tensor: Any) -> bool:
    """Does it stand for a tensor of torch's own, without numbers, as in torch.compile and torch.export?"""
    return type(tensor).__name__ in _FAKES and type(tensor).__module__.startswith("torch.")


def is_within_graph() -> bool:
    """Does torch.compile, torch.export or torch.jit.trace make a graph of this call?"""
    return torch.compiler.is_compiling() or torch._C._is_tracing()


class _Tracer(fx.Tracer):
    """Sees the children of a module as they are called, not what they do, and what becomes of buffers.

    While it traces, torch.fx has all calls of modules, and all that these look up, come here: those of other
    threads are passed on.
    """

    traced_func_name = "forward"
    proxy_buffer_attributes = True

    def __init__(self) -> None:
        self.above: Any = super()
        self.above.__init__()
        self.thread = threading.get_ident()

    def call_module(self, m: Any, forward: Any, args: Any, kwargs: Any) -> Any:
        if threading.get_ident() != self.thread:
            return forward(*args, **kwargs)
        return self.above.call_module(m, forward, args, kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: Any) -> Any:
        if threading.get_ident() != self.thread:
            return attr_val
        return self.above.getattr(attr, attr_val, parameter_proxy_cache)

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        return True


tracing: Final = threading.RLock()
"""Held while torch.fx traces, which changes the class of all modules, and back."""


def traced(module: Any) -> Any:
    """What its own forward does; an exception of any kind where that cannot be traced, or is not all."""
    with tracing:
        return _traced(module)


def _traced(module: Any) -> Any:
    before: Any = module.__class__
    state: dict[str, Any] = dict(module.__dict__)
    held = {name: copy(state[name]) for name in state if isinstance(state[name], _HELD)}
    module.__class__ = getattr(module, "imbrex_of", before)
    try:
        with drawn() as draws:
            graph = _Tracer().trace(module)
    finally:
        module.__class__ = before
        is_kept = _restored(module.__dict__, state, held)
    if not is_kept or draws:
        raise TypeError(
            "the forward keeps something in its module, makes tensors of its own, or draws numbers"
        )
    return graph


def _restored(now: dict[str, Any], state: Mapping[str, Any], held: Mapping[str, Any]) -> bool:
    """Gives a module the attributes that it had, and what lists and the like held; had it them before?"""
    is_kept = now.keys() == state.keys() and all(now[name] is state[name] for name in state)
    if not is_kept:  # else other threads would meet a module without anything
        now.clear()
        now.update(state)
    for name, then in held.items():
        value = state[name]
        if _identities(value) != _identities(then):
            is_kept = False
            value.clear()
            fill = value.extend if hasattr(value, "extend") else value.update
            fill(then)
    return is_kept


def _identities(of: Any) -> list[int]:
    """Which objects a collection holds."""
    return [*map(id, of), *(map(id, of.values()) if hasattr(of, "values") else ())]
