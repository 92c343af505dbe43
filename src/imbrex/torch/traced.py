"""Traced: the graph of a module's own forward, whose children are called and not looked into.

Law: a graph is all that the forward does with tensors.  One that keeps something in its module, makes tensors
of none that it was given, draws random numbers, which may decide what it does, computes in a region of its
own of autocast, gradients or inference, or asks for the type of what it computes, has none; and tracing
leaves the module and all generators as they were.  What it is given are tensors of torch's own.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import partial
from importlib import import_module
from inspect import unwrap
from types import FunctionType
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
        self.region = _region()

    def create_node(self, *given: Any, **named: Any) -> Any:
        if _region() != self.region:
            raise TypeError("the forward computes in a region of its own of autocast, gradients or inference")
        return self.above.create_node(*given, **named)

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


def _region() -> tuple[Any, ...]:
    """What a forward may set for some of its calls; of autocast how many regions are within each other."""
    torch.autocast_increment_nesting()
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.autocast_decrement_nesting()


@contextmanager
def _answering(module: Any) -> Generator[None]:
    """Has `isinstance` in a module's code answer what it will of tensors, and not of torch.fx's."""
    found = (unwrap(value) for of in type(module).__mro__ for value in vars(of).values() if callable(value))
    own = (one for one in found if isinstance(one, FunctionType) and not one.__module__.startswith("torch."))
    scopes = {id(one.__globals__): one.__globals__ for one in (*own, torch.is_tensor)}
    changed = [scope for scope in scopes.values() if "isinstance" not in scope]
    held = {**dict(module.named_buffers()), **dict(module.named_parameters(remove_duplicate=False))}
    for scope in changed:
        scope["isinstance"] = partial(_is_instance, held)
    try:
        yield
    finally:
        for scope in changed:
            del scope["isinstance"]


def _is_instance(held: Mapping[str, Any], value: Any, kinds: Any) -> bool:
    """The answer of `isinstance` once what stands for tensors are some.  held: parameters and buffers."""
    if not isinstance(value, fx.Proxy) or isinstance(value, kinds):
        return isinstance(value, kinds)
    node = value.node
    if node.op == "placeholder" and not node.target.startswith("*"):
        return issubclass(torch.Tensor, kinds)
    if node.op == "get_attr" and node.target in held:
        return isinstance(held[node.target], kinds)
    raise TypeError("the forward asks for the type of what it computes")


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
        with drawn() as draws, torch.inference_mode(False), torch.no_grad(), _answering(module):
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
