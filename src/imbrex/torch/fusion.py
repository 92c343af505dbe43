"""Fusion: a layer with what follows it in the forward of the module that holds both, as torch.fx sees it.

    activation(norm(layer(x)) + residual)      each but the layer may be missing

Law: a container's children stay what they are, so that their hooks, parameters and keys do; its forward is
another one in eval mode without gradients and of tensors alone, which is what was traced.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final

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

Read = Callable[[Any], str | None]
MODULES: Final[Mapping[Any, Read]] = {
    _nn.ReLU: lambda m: "relu",
    _nn.ReLU6: lambda m: "relu6",
    _nn.LeakyReLU: lambda m: "leaky_relu" if m.negative_slope == 0.01 else None,
    _nn.Hardswish: lambda m: "hardswish",
    _nn.Sigmoid: lambda m: "sigmoid",
    _nn.Tanh: lambda m: "tanh",
    _nn.SiLU: lambda m: "silu",
    _nn.Softplus: lambda m: "softplus" if (m.beta, m.threshold) == (1, 20) else None,
    _nn.GELU: lambda m: {"none": "gelu", "tanh": "gelu_tanh"}.get(m.approximate),
}
"""Activations that are modules: which one it is, None where it has other parameters than ours."""
FUNCTIONS: Final[Mapping[Any, str]] = {
    **dict.fromkeys((_F.relu, torch.relu, torch.relu_, "relu", "relu_"), "relu"),
    **dict.fromkeys((_F.sigmoid, torch.sigmoid, "sigmoid", "sigmoid_"), "sigmoid"),
    **dict.fromkeys((_F.tanh, torch.tanh, "tanh", "tanh_"), "tanh"),
    _F.relu6: "relu6",
    _F.leaky_relu: "leaky_relu",
    _F.hardswish: "hardswish",
    _F.silu: "silu",
    _F.softplus: "softplus",
    _F.gelu: "gelu",
}
"""Activations that are functions, or methods by name, with torch's own parameters."""
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

    imbrex_chains: tuple[Chain, ...]
    imbrex_of: Any

    def forward(self: Any, *given: Any, **named: Any) -> Any:
        forward = self.imbrex_of.forward
        if self.training or torch.is_grad_enabled() or named or self.imbrex_norms_train():
            return forward(self, *given, **named)
        if not all(type(value) is torch.Tensor for value in given):
            return forward(self, *given)
        program, count = self.imbrex_program()
        return program(self, *given) if len(given) == count else forward(self, *given)

    def imbrex_norms_train(self: Any) -> bool:
        """Is one of the norms in training mode?"""
        return any(
            chain.norm is not None and _child(self, chain.norm).training for chain in self.imbrex_chains
        )

    def imbrex_program(self: Any) -> tuple[Callable[..., Any], int]:
        """The forward of the traced graph, and how many tensors it takes; made when it is first asked for."""
        found = self.__dict__.get("_imbrex_program")
        if found is None:
            found = self.__dict__["_imbrex_program"] = _program(self, self.imbrex_chains)
        return found

    def __reduce_ex__(self: Any, protocol: Any) -> tuple[Any, ...]:
        """State for `pickle` and `deepcopy`: of the class that torch's module had, then of this one."""
        state = {key: value for key, value in self.__dict__.items() if key != "_imbrex_program"}
        return _made, (self.imbrex_of,), state


def _child(module: Any, name: str) -> Any:
    """`get_submodule` of a name that there is, in a fifth of its time."""
    for part in name.split("."):
        module = module._modules[part]
    return module


def _made(of: Any) -> Any:
    made = fused_class(of)
    return made.__new__(made)


@cache
def fused_class(of: Any) -> Any:
    """A class of modules, with chains."""
    return type(of.__name__, (Fused, of), {"imbrex_of": of, "__module__": of.__module__})


class _Tracer(fx.Tracer):
    """Sees the children of a module as they are called, not what they do."""

    traced_func_name = "forward"

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        return True


def _graph(container: Any) -> Any:
    """What its own forward does; an exception of any kind where that cannot be traced."""
    before: Any = container.__class__
    container.__class__ = getattr(container, "imbrex_of", before)
    try:
        return _Tracer().trace(container)
    finally:
        container.__class__ = before


def chains(container: Any, is_layer: Callable[[Any], bool]) -> list[Chain]:
    """Chains of a container's forward that hold more than a layer; none where it cannot be traced.

    is_layer: may this child be one?
    """
    try:
        graph = _graph(container)
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


def _program(container: Any, wanted: Collection[Chain]) -> tuple[Callable[..., Any], int]:
    """The container's forward with these chains fused: a function of the container and of tensors."""
    graph = _graph(container)
    layers = {chain.layer: chain for chain in wanted}
    for node in list(graph.nodes):
        if node.op == "call_module" and node.target in layers:
            _fuse(node, layers[node.target], graph, container)
    code = graph.python_code("self")
    scope = dict(code.globals)
    exec(code.src, scope)
    count = sum(node.op == "placeholder" for node in graph.nodes)
    return scope["forward"], count


def _fuse(first: Any, wanted: Chain, graph: Any, container: Any) -> None:
    """Puts one call in the place of a chain's nodes."""
    found, nodes = _chain(first, graph, container)
    assert found == wanted, (found, wanted)
    residual = next((other for node in nodes[1:] for other in _others(node, nodes)), None)
    with graph.inserting_before(nodes[-1]):
        layer = graph.get_attr(wanted.layer)
        norm = None if wanted.norm is None else graph.get_attr(wanted.norm)
        words = (layer, first.args[0], norm, residual, wanted.activation)
        made = graph.call_method("fused", words)
    nodes[-1].replace_all_uses_with(made)
    for node in reversed(nodes):
        graph.erase_node(node)


def _others(node: Any, chain: Sequence[Any]) -> Iterator[Any]:
    yield from (one for one in node.args if isinstance(one, fx.Node) and one not in chain)
