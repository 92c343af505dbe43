"""Kernels are called past the dispatcher where it has nothing else to do, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from imbrex.torch.direct import direct  # noqa: E402


class Watched(TorchDispatchMode):  # type: ignore[misc]
    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))


class Own(torch.Tensor):
    pass


def way(*tensors: Any) -> str:
    """Which of the two is called."""
    ways = [lambda *given, name=name: name for name in ("op", "kernel", "recorded")]
    return direct(*ways, tensors=3)(*tensors, 1, "relu")


@pytest.mark.parametrize("quiet", [torch.no_grad, torch.inference_mode])
def test_calls_without_gradients_are_direct(quiet: Callable[[], AbstractContextManager[Any]]) -> None:
    x = torch.ones(2, requires_grad=True)
    with quiet():
        assert way(x, None, torch.nn.Parameter(torch.ones(2))) == "kernel"
        assert way(x, None, torch.ones(2).as_subclass(Own)) == "op"
        assert way(torch.ones(2, device="meta"), None, None) == "op"
        assert way(x, None, torch._neg_view(x)) == way(torch._efficientzerotensor(2), None, x) == "op"


def test_calls_whose_gradient_is_asked_for_are_a_node() -> None:
    x = torch.ones(2, requires_grad=True)
    assert way(torch.ones(2), None, x) == "recorded"
    assert way(torch.ones(2), None, None) == way(x.detach(), None, None) == "kernel"
    assert way(x, None, torch.ones(2).as_subclass(Own)) == "op"
    with torch._C._AutoDispatchBelowAutograd():
        assert way(x, None, None) == "op"


MODES: dict[str, Callable[[], Any]] = {
    "a mode of dispatch": Watched,
    "tensors without numbers": FakeTensorMode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
}


@pytest.mark.parametrize("name", MODES)
def test_what_stands_between_sees_the_op(name: str) -> None:
    x = torch.ones(2, requires_grad=True)
    with MODES[name]():
        assert way(x, None, None) == "op"
        with torch.no_grad():
            assert way(x, None, None) == "op"


def test_transforms_and_tracers_see_the_op() -> None:
    seen: list[str] = []

    def function(x: Any) -> Any:
        seen.append(way(x, None, None))
        return x + 1

    for is_recorded in (False, True):
        with torch.set_grad_enabled(is_recorded):
            torch.vmap(function)(torch.ones(2))
            torch.func.grad(lambda x: function(x).sum())(torch.ones(2))
            torch.jit.trace(function, torch.ones(2, requires_grad=is_recorded), check_trace=False)
    assert seen == ["op"] * 6
