"""Fusion: a layer with what follows it in the forward of the module that holds both, as torch.fx sees it.

    activation(norm(layer(x)) + residual)      each but the layer may be missing

Law: a container's children stay what they are, so that their hooks, parameters and keys do; its forward is
another one in eval mode without gradients and of tensors alone, which is what was traced, and while its
children and what it may read of its module (`attributes`) are as they were traced, and nothing runs beside
those that are fused.  A forward that does more than compute, such as to keep something in its module, stays
its own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from typing import Any, Final

from imbrex.torch.activation import FUNCTIONS, MODULES
from imbrex.torch.attributes import Attributes
from imbrex.torch.traced import is_fake, traced, tracing

__all__ = [
    "Chain",
    "Fused",
    "activation_of",
    "added",
    "chains",
    "fused_class",
    "has_hooks",
    "is_changed",
    "only_user",
]

torch: Any = import_module("torch")
fx: Any = import_module("torch.fx")
_nn: Any = torch.nn
_F: Any = torch.nn.functional
_iadd: Any = operator.iadd  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

ADDITIONS: Final = (operator.add, _iadd, torch.add, "add", "add_")
INTO_FIRST: Final = (_iadd, "add_")


@dataclass(frozen=True)
class Chain:
    """A layer and what follows it, by the names that they have in their container; activation: "" of none."""

    layer: str
    norm: str | None = None
    has_residual: bool = False
    activation: str = ""


class Fused:
    """A container whose chains are computed in one kernel each; beside its own class."""

    imbrex_chains: tuple[Chain, ...] = ()  # of a slice of a Sequential, which has its class
    imbrex_of: Any

    def forward(self: Any, *given: Any, **named: Any) -> Any:
        forward = self.imbrex_of.forward
        if self.training or torch.is_grad_enabled() or named or not self.imbrex_chains:
            return forward(self, *given, **named)
        if torch.jit.is_tracing():  # torch.jit's graphs serve later calls with gradients, too
            return forward(self, *given)
        if self.__dict__.get("_imbrex_program") is None and torch.compiler.is_compiling():
            return forward(self, *given)  # of a copy that was not called yet: torch.compile sees no tracers
        program = self.imbrex_program()
        if not program.serves(given):
            return forward(self, *given)
        return program.forward(self, *given)

    def imbrex_program(self: Any) -> _Program:
        """The forward of the traced graph; made when it is first asked for."""
        found = self.__dict__.get("_imbrex_program")
        return _first_program(self) if found is None else found

    def __reduce_ex__(self: Any, protocol: Any) -> tuple[Any, ...]:
        """State for `pickle` and `deepcopy`: of the class that torch's module had, then of this one."""
        of = self.imbrex_of
        if of.__reduce__ is not object.__reduce__ or of.__reduce_ex__ is not object.__reduce_ex__:
            return of.__reduce_ex__(self, protocol)
        return _made, (of,), self.__getstate__()


@dataclass(frozen=True)
class _Program:
    """forward: of a container and of `count` tensors.  children: those of the modules on the way to what it
    calls, now and as they were traced, and read: what else these hold.  hooks, own: of what is fused, each
    module's hooks and attributes; activations: of these modules each with its name.
    """

    forward: Callable[..., Any]
    count: int
    children: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...]
    read: tuple[Attributes, ...]
    norms: tuple[Any, ...]
    activations: tuple[tuple[Any, str], ...]
    hooks: tuple[Mapping[int, Any], ...]
    own: tuple[Mapping[str, Any], ...]

    def __reduce__(self) -> tuple[Any, ...]:
        """None: a copy of the container makes its own."""
        return type(None), ()

    def serves(self, given: tuple[Any, ...]) -> bool:
        """Would the container's own forward compute the same, and nothing else happen?"""
        if len(given) != self.count or any(self.hooks) or not all(map(_is_folded, self.norms)):
            return False
        if any(MODULES[type(module)](module) != name for module, name in self.activations):
            return False
        if any(now != then for now, then in self.children) or any("forward" in own for own in self.own):
            return False
        if not all(type(value) is torch.Tensor or is_fake(value) for value in given):
            return False
        return all(attributes.is_same() for attributes in self.read)


def _is_folded(norm: Any) -> bool:
    """Has it statistics of its own, which it uses?"""
    return not norm.training and norm._buffers.get("running_mean") is not None


def _first_program(container: Any) -> _Program:
    """Made once, whichever threads ask first."""
    with tracing:
        found = container.__dict__.get("_imbrex_program")
        if found is None:
            found = container.__dict__["_imbrex_program"] = _program(container, container.imbrex_chains)
        return found


def _made(of: Any) -> Any:
    made = fused_class(of)
    return made.__new__(made)


@cache
def fused_class(of: Any) -> Any:
    """A class of modules, with chains; its forward takes what that of the class does, also for who asks."""

    @wraps(of.forward)
    def forward(self: Any, *given: Any, **named: Any) -> Any:
        return Fused.forward(self, *given, **named)

    return type(of.__name__, (Fused, of), {"imbrex_of": of, "forward": forward, "__module__": of.__module__})


def chains(container: Any, is_layer: Callable[[Any], bool]) -> list[Chain]:
    """Chains of a container's forward that hold more than a layer; none where it cannot be traced.

    is_layer: may this child be one?
    """
    try:
        graph = traced(container)
    except Exception:  # whatever a forward does with what is no tensor
        return []
    found = (_chain(node, graph, container) for node in graph.nodes if _is_call(node, container, is_layer))
    calls = [node.target for node in graph.nodes if node.op == "call_module"]
    return [chain for chain, _ in found if chain != Chain(chain.layer) and calls.count(chain.layer) == 1]


def _is_call(node: Any, container: Any, is_layer: Callable[[Any], bool]) -> bool:
    """Is it a call of a layer, of a tensor alone?"""
    if node.op != "call_module" or len(node.args) != 1 or node.kwargs:
        return False
    return is_layer(container.get_submodule(node.target))


def _chain(first: Any, graph: Any, container: Any) -> tuple[Chain, list[Any]]:
    """The chain that begins with this call, and its nodes."""
    nodes, norm, residual, activation = [first], None, None, ""
    may_be_normed = isinstance(container.get_submodule(first.target), _nn.Conv2d)
    while (after := only_user(nodes[-1])) is not None:
        if is_changed(first, after, nodes, graph, container):
            break
        is_sum = residual is None and not activation
        if is_sum and norm is None and may_be_normed and _is_norm(after, container):
            norm = after.target
        elif is_sum and (residual := added(after, nodes[-1])) is not None:
            pass
        elif not activation and (name := activation_of(after, container)) is not None:
            activation = name
        else:
            break
        nodes.append(after)
    return Chain(first.target, norm, residual is not None, activation), nodes


def only_user(node: Any) -> Any:
    """What takes it, if nothing else does."""
    users = list(node.users)
    return users[0] if len(users) == 1 and users[0].op != "output" else None


def _is_norm(node: Any, container: Any) -> bool:
    if node.op != "call_module" or len(node.args) != 1 or node.kwargs:
        return False
    module = container.get_submodule(node.target)
    return type(module) is _nn.BatchNorm2d and module.running_mean is not None and not has_hooks(module)


def added(node: Any, sums: Any) -> Any:
    """What is added to the sums; None where they are not added to, once, as they are."""
    if node.target not in ADDITIONS or node.kwargs or len(node.args) != 2:
        return None
    one, other = node.args
    if not isinstance(one, fx.Node) or not isinstance(other, fx.Node) or one is other:
        return None
    if one is sums:
        return other
    return one if node.target not in INTO_FIRST else None


def activation_of(node: Any, container: Any) -> str | None:
    """Which activation a call is; None of another one."""
    named = {key: value for key, value in node.kwargs.items() if key != "inplace"}
    if len(node.args) != 1:
        return None
    if node.op == "call_module":
        module = container.get_submodule(node.target)
        read = MODULES.get(type(module))
        return None if read is None or named or has_hooks(module) else read(module)
    if node.target is _F.gelu and named:
        return {"approximate='none'": "gelu", "approximate='tanh'": "gelu_tanh"}.get(_arguments_text(named))
    return None if named or node.op not in ("call_function", "call_method") else FUNCTIONS.get(node.target)


def _arguments_text(named: Mapping[str, object]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in named.items())


def is_changed(first: Any, last: Any, chain: Sequence[Any], graph: Any, container: Any) -> bool:
    """May what the chain reads be written between its first and its last node?"""
    between = False
    for node in graph.nodes:
        if node is last:
            return False
        between = between or node is first
        if between and node not in chain and _writes(node, container):
            return True
    return False


def _writes(node: Any, container: Any) -> bool:
    if node.op == "call_method":
        return node.target.endswith("_") and not node.target.endswith("__")
    if node.op == "call_function":
        name = getattr(node.target, "__name__", "")
        into = name.startswith("i") and getattr(operator, name, None) is node.target
        return (
            into
            or name in ("setitem", "setattr")
            or name.endswith("_")
            or bool(node.kwargs.get("inplace") or node.kwargs.get("out") is not None)
        )
    if node.op == "call_module":
        return any(getattr(m, "inplace", False) for m in container.get_submodule(node.target).modules())
    return False


def has_hooks(module: Any) -> bool:
    """Does anything run beside the module's forward?"""
    names = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return any(getattr(module, name, None) for name in names)


def _program(container: Any, wanted: Sequence[Chain]) -> _Program:
    """The container's forward with these chains fused, but for those that are no longer there."""
    graph = traced(container)
    layers = {chain.layer: chain for chain in wanted}
    called = [node for node in graph.nodes if node.op == "call_module"]
    above = _above(container, [node.target for node in called])
    children = tuple((module._modules, dict(module._modules)) for module in above)
    fused: list[Any] = []
    norms: list[Any] = []
    for first in called:
        chain = layers.get(first.target)
        if chain is None or not hasattr(container.get_submodule(first.target), "fused"):
            continue
        found, nodes = _chain(first, graph, container)
        if found != chain:
            continue
        fused += [container.get_submodule(node.target) for node in nodes if node.op == "call_module"]
        norms += [] if chain.norm is None else [container.get_submodule(chain.norm)]
        _fuse(first, nodes, chain, graph)
    code = graph.python_code("self")
    scope = dict(code.globals)
    exec(code.src, scope)
    count = sum(node.op == "placeholder" for node in graph.nodes)
    each = [(m._forward_hooks, m._forward_pre_hooks) for m in fused]
    hooks = (*(of for pair in each for of in pair), *_OF_ALL)
    own = tuple([module.__dict__ for module in fused])
    activations = tuple([(m, MODULES[type(m)](m) or "") for m in fused if type(m) in MODULES])
    read = tuple(map(Attributes, above))
    return _Program(scope["forward"], count, children, read, tuple(norms), activations, hooks, own)


_modules: Any = import_module("torch.nn.modules.module")
_OF_ALL: Final = (_modules._global_forward_hooks, _modules._global_forward_pre_hooks)
"""Hooks of all modules."""


def _above(container: Any, names: Sequence[str]) -> list[Any]:
    """The modules on the way to those of these names."""
    above = {".".join(parts[:depth]) for parts in map(_parts, names) for depth in range(len(parts))}
    return [container.get_submodule(name) for name in sorted({"", *above})]


def _parts(name: str) -> list[str]:
    return name.split(".")


def _fuse(first: Any, nodes: Sequence[Any], wanted: Chain, graph: Any) -> None:
    """Puts one call in the place of a chain's nodes."""
    residual = next((other for node in nodes[1:] for other in _others(node, nodes)), None)
    with graph.inserting_before(nodes[-1]):
        layer = graph.get_attr(wanted.layer)
        norm = None if wanted.norm is None else graph.get_attr(wanted.norm)
        arguments = (layer, first.args[0], norm, residual, wanted.activation)
        made = graph.call_method("fused", arguments)
    nodes[-1].replace_all_uses_with(made)
    for node in reversed(nodes):
        graph.erase_node(node)


def _others(node: Any, chain: Sequence[Any]) -> Iterator[Any]:
    yield from (one for one in node.args if isinstance(one, fx.Node) and one not in chain)
