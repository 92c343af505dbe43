"""Layers that stay torch's: what kernels do not compute, and what the model passes by."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import imbrex.torch as ours  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_process")
nn: Any = torch.nn


class Several(nn.Module):
    """A layer of ours behind two that have no kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Conv1d(3, 4, 3)
        self.gates = nn.LSTM(4, 4)
        self.last = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.last(self.gates(self.wide(x).transpose(1, 2))[0])


class Called(nn.Module):
    """Layers called by names, and with the size of their result."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1)
        self.sparse = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        self.sparse(torch.eye(4).to_sparse())
        return self.up(input=self.down(input=x), output_size=x.shape[2:])


def reasons(model: Any, example: Any) -> dict[str, str | None]:
    return {row.name: row.reason for row in ours.replace(model, example, jobs=1, measure=False).rows}


def test_layers_that_no_kernel_computes_are_said() -> None:
    found = reasons(Several().eval(), torch.randn(2, 3, 8))
    assert found == {
        "wide": "no kernel computes such a layer",
        "gates": "no kernel computes such a layer",
        "last": None,
    }


def test_what_torch_compiled_before_is_left() -> None:
    own = nn.Sequential(nn.Linear(4, 4))
    own.compile(backend="eager")
    model = nn.ModuleDict({"own": own, "held": torch.compile(nn.Linear(4, 4), backend="eager")}).eval()
    model.forward = lambda x: model["held"](model["own"](x))
    found = reasons(model, torch.randn(2, 4))
    assert set(found) == {"own.0", "held._orig_mod"}
    assert all((reason or "").startswith("torch.compile holds it") for reason in found.values())


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_a_scripted_layer_is_left() -> None:
    scripted = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval())
    assert reasons(scripted, torch.randn(2, 4)) == {"0": "it is a program of torch.jit"}


@pytest.mark.parametrize("is_fused", [True, False])
def test_padding_that_becomes_another_than_zeros_is_torch_s(is_fused: bool) -> None:
    own = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), *([nn.ReLU()] if is_fused else [])).eval()
    wanted, image = copy.deepcopy(own), torch.randn(1, 3, 6, 6)
    ours.replace(own, image, jobs=1, measure=False, fallback=False)
    for padding in ("zeros", "reflect", "zeros"):
        own[0].padding_mode = wanted[0].padding_mode = padding
        with torch.no_grad():
            torch.testing.assert_close(own(image), wanted(image))
        torch.testing.assert_close(own(image), wanted(image))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_a_swapped_layer_is_not_scripted_and_says_so() -> None:
    own = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval()
    ours.replace(own, torch.randn(1, 3, 6, 6), jobs=1, measure=False)
    with pytest.raises(TypeError, match="script the model before 'replace'"):
        torch.jit.script(own)
    ours.restore(own)
    assert torch.jit.script(own)(torch.randn(1, 3, 6, 6)).shape == (1, 4, 4, 4)


@pytest.mark.parametrize("is_training", [False, True])
def test_layers_that_torch_passes_by_are_left(is_training: bool) -> None:
    """In eval mode, without gradients, torch computes an encoder at once, by the weights of its layers."""
    model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0).train(is_training)
    x = torch.randn(2, 3, 8)
    with torch.no_grad():
        want = model(x)
        found = reasons(model, x)
        torch.testing.assert_close(model(x), want, rtol=1e-4, atol=1e-4)
    passed_by = None if is_training else "torch computes it with what holds it, at once"
    assert [found[name] for name in ("linear1", "linear2")] == [passed_by] * 2
    assert found["self_attn"] == "no kernel computes such a layer"
    assert isinstance(model.linear1, nn.Linear) and hasattr(model.linear1, "imbrex_swapped") == is_training


@pytest.mark.parametrize("is_training", [False, True])
def test_layers_are_met_however_they_are_called(is_training: bool) -> None:
    model = Called().train(is_training)
    plain, x = copy.deepcopy(model), torch.randn(2, 3, 6, 5)
    assert reasons(model, x) == {
        "down": None,
        "up": None,
        "sparse": "the example calls it with no dense tensor of torch's own",
    }
    ours.wait()
    for height in (6, 5):  # of both by the same layer
        got, want = (one(x[:, :, :height]) for one in (model, plain))
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="valid sizes range from"):
        model.up(model.down(x), (9, 9))
