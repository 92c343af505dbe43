"""torch.compile with the backend "imbrex": its graphs; results and gradients beside torch's."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import imbrex.torch as ours  # noqa: E402
from imbrex.bench import networks as models  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_process")


def compiled(model: Any, graphs: list[Any]) -> Any:
    """As `backend="imbrex"` is; graphs: filled with those that it made."""

    def inner(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    registry: Any = import_module("torch._dynamo.backends.registry")
    torch._dynamo.reset()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry._BACKENDS, "seen", None)
        patch.setitem(registry._COMPILER_FNS, "seen", inner)
        made = torch.compile(model, backend=ours.backend, options={"inner": "seen"}, fullgraph=True)
        made(*EXAMPLES[type(model).__name__])
    return made


EXAMPLES = {
    "ResNet": (torch.randn(1, 3, 32, 32),),
    "Transformer": (torch.randn(1, 3, 16, 16),),
    "UNet": (torch.randn(1, 3, 8, 8),),
    "Adds": (torch.randn(1, 3, 4, 4),),
}


def calls(graph: Any) -> list[tuple[str, str, bool, bool]]:
    """Name, activation, and whether there are a norm and a residual, of each call of ours."""
    found = [n for n in graph.graph.nodes if getattr(n.target, "__module__", "") == "imbrex.torch.call"]
    return [
        (n.target.__name__, n.kwargs.get("activation", ""), "scale" in n.kwargs, "residual" in n.kwargs)
        for n in found
    ]


def test_a_unet_without_gradients() -> None:
    model, graphs = models.unet().eval(), list[Any]()
    (x,) = EXAMPLES["UNet"]
    with torch.no_grad():
        made = compiled(model, graphs)
        layer = ("conv2d", "silu", True, False)
        up, head = ("conv_transpose2d", "", False, False), ("conv2d", "", False, False)
        assert calls(graphs[0]) == [layer] * 4 + [up] + [layer] * 2 + [head]
        for _ in range(2):  # by torch's own ops, then by kernels
            torch.testing.assert_close(made(x), model(x), rtol=1e-3, atol=1e-4)
            ours.wait()


def test_a_transformer_with_gradients() -> None:
    model, graphs = models.transformer(), list[Any]()
    (x,) = EXAMPLES["Transformer"]
    made = compiled(model, graphs)
    fused = [("linear", "gelu", False, False), ("linear", "", False, True)]
    found = calls(graphs[0])
    assert found[:2] == [("conv2d", "", False, False), ("linear", "", False, False)]
    assert found[2:] == [fused[1], *fused]
    want = torch.autograd.grad(model(x).square().sum(), list(model.parameters()))
    for _ in range(2):
        got = torch.autograd.grad(made(x).square().sum(), list(model.parameters()))
        for one, other in zip(got, want, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)
        ours.wait()


class Adds(torch.nn.Module):
    """A sum that is broadcast, one by a factor, and a type that there are no kernels of."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 3, 3, padding=1)
        self.wide = torch.nn.Conv2d(3, 3, 1, dtype=torch.complex64)

    def forward(self, x: Any) -> Any:
        y = self.conv(x) + x[:1, :1, :1, :1]
        return torch.add(self.conv(y), x, alpha=2) + self.wide(x.to(torch.complex64)).real


def test_what_is_not_the_same_is_not_fused() -> None:
    model, graphs = Adds().eval(), list[Any]()
    (x,) = EXAMPLES["Adds"]
    with torch.no_grad():
        made = compiled(model, graphs)
        assert calls(graphs[0]) == [("conv2d", "", False, False)] * 2
        ours.wait()
        torch.testing.assert_close(made(x), model(x), rtol=1e-4, atol=1e-5)


def test_sizes_without_a_number_are_compared() -> None:
    """A sum of the layer's own sizes is fused, whatever they are, and one that is broadcast is not."""
    layer, graphs = torch.nn.Linear(4, 4), list[Any]()

    def sums(x: Any) -> Any:
        return layer(x) + x, layer(x) + x[:1]

    def seen(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return lambda *given: (given[0], given[0])  # nothing is computed

    registry: Any = import_module("torch._dynamo.backends.registry")
    torch._dynamo.reset()
    with torch.no_grad(), pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry._BACKENDS, "seen", None)
        patch.setitem(registry._COMPILER_FNS, "seen", seen)
        torch.compile(sums, backend=ours.backend, options={"inner": "seen"}, dynamic=True)(torch.ones(3, 4))
    assert calls(graphs[0]) == [("linear", "", False, True), ("linear", "", False, False)]


@pytest.mark.parametrize(
    "region", [lambda: torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad, torch.inference_mode]
)
def test_a_layer_stays_in_its_region(region: Any) -> None:
    """What follows outside of it is not fused, and what follows within it is."""
    layer, graphs = torch.nn.Linear(4, 4), list[Any]()

    def both(x: Any) -> Any:
        with region():
            y, z = layer(x), torch.sigmoid(layer(x))
        return torch.relu(y) + z

    def seen(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return lambda *given: (given[0],)  # nothing is computed

    registry: Any = import_module("torch._dynamo.backends.registry")
    torch._dynamo.reset()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry._BACKENDS, "seen", None)
        patch.setitem(registry._COMPILER_FNS, "seen", seen)
        torch.compile(both, backend=ours.backend, options={"inner": "seen"}, fullgraph=True)(torch.ones(3, 4))
    assert calls(graphs[0]) == [("linear", "", False, False), ("linear", "sigmoid", False, False)]


def test_torch_finds_it_by_name() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["torch_dynamo_backends"] == {"imbrex": "imbrex.torch:backend"}
    with pytest.raises(TypeError, match=r"backend 'imbrex' has no option 'iner'; known: inner"):
        ours.backend(None, (), options={"iner": "eager"})
    with pytest.raises(TypeError, match=r"'inner' should be a backend of torch.compile, got int"):
        ours.backend(None, (), options={"inner": 3})
    with pytest.raises(TypeError, match=r"backend 'imbrex' has no modes, got 'reduce-overhead'"):
        ours.backend(None, (), mode="reduce-overhead")
