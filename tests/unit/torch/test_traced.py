"""What a forward asks and sets while it is traced: its fused form computes what it does, or there is none."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import imbrex.torch as ours  # noqa: E402
from imbrex.diagnostic import Diagnostic  # noqa: E402
from imbrex.torch.candidate import expect_same  # noqa: E402
from imbrex.torch.fusion import Fused  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_process")
nn: Any = torch.nn


def replaced(model: Any, x: Any) -> tuple[Any, Any]:
    """The model in eval mode with kernels, and as it was."""
    own = copy.deepcopy(model.eval())
    ours.replace(model, x, jobs=1, measure=False, fallback=False)
    return model, own


class Within(nn.Module):
    """Computes by a function of its layer and of its input."""

    def __init__(self, forward: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.layer, self.gain, self.way = nn.Linear(4, 4), nn.Parameter(torch.tensor(2.0)), [forward]

    def forward(self, x: Any) -> Any:
        return self.way[0](self, x)


def without_autocast(model: Any, x: Any) -> Any:
    with torch.autocast("cpu", enabled=False):
        return torch.relu(model.layer(x))


def with_autocast(model: Any, x: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.relu(model.layer(x))


def with_gradients(model: Any, x: Any) -> Any:
    with torch.enable_grad():
        return torch.relu(model.layer(x))


def in_inference_mode(model: Any, x: Any) -> Any:
    with torch.inference_mode():
        return torch.relu(model.layer(x))


def without_gradients(model: Any, x: Any) -> Any:
    with torch.no_grad():
        return torch.relu(model.layer(x))


def asks_of_what_it_computes(model: Any, x: Any) -> Any:
    y = torch.relu(model.layer(x))
    return y * 2 if torch.is_tensor(y) else y


def asks_of_its_input(model: Any, x: Any) -> Any:
    return torch.relu(model.layer(x if isinstance(x, torch.Tensor) else torch.cat(x, 1)))


def asks_of_its_parameter(model: Any, x: Any) -> Any:
    y = torch.relu(model.layer(x))
    return y * model.gain if isinstance(model.gain, nn.Parameter) else y


FUSED = (without_gradients, asks_of_its_input, asks_of_its_parameter)
OWN = (without_autocast, with_autocast, with_gradients, in_inference_mode, asks_of_what_it_computes)


@pytest.mark.parametrize("forward", [*FUSED, *OWN], ids=lambda f: f.__name__)
def test_what_a_forward_sets_and_asks_counts(forward: Callable[[Any, Any], Any]) -> None:
    """In regions of autocast and outside, of what it sets for some of its calls and asks of tensors."""
    x = torch.randn(3, 4)
    model, own = replaced(Within(forward), x)
    assert isinstance(model, Fused) == (forward in FUSED)
    assert "isinstance" not in globals() and "isinstance" not in vars(torch)
    for is_enabled in (False, True):
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_enabled):
            got, want = model(x), own(x)
        assert got.requires_grad == want.requires_grad and got.is_inference() == want.is_inference()
        torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-2)


def test_a_layer_of_a_list_of_tensors_is_fused_for_a_tensor() -> None:
    """As in a DenseNet, whose layers take either."""
    x = torch.randn(3, 4)
    model, own = replaced(Within(asks_of_its_input), x)
    with torch.no_grad():
        torch.testing.assert_close(model([x[:, :2], x[:, 2:]]), own(x), rtol=1e-4, atol=1e-5)


def test_an_activation_whose_parameter_changes() -> None:
    x = torch.randn(3, 4)
    model, own = replaced(nn.Sequential(nn.Linear(4, 4), nn.LeakyReLU(0.01)), x)
    with torch.no_grad():
        model(x)
        for one in (model, own):
            one[1].negative_slope = 0.5
        torch.testing.assert_close(model(x), own(x), rtol=1e-4, atol=1e-5)


def test_a_norm_that_loses_its_statistics() -> None:
    x = torch.randn(3, 4, 2, 2)
    model, own = replaced(nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4)), x)
    with torch.no_grad():
        model(x)
        for one in (model, own):
            one[1].running_mean = one[1].running_var = None
        torch.testing.assert_close(model(x), own(x), rtol=1e-4, atol=1e-5)


class Locked(nn.Module):
    """Copied by what it says of its state."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.lock = nn.Linear(4, 4), threading.Lock()

    def forward(self, x: Any) -> Any:
        return torch.relu(self.layer(x))

    def __getstate__(self) -> Any:
        return {"kept": {name: value for name, value in vars(self).items() if name != "lock"}}

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state["kept"])
        self.lock = threading.Lock()


def test_a_container_is_copied_as_its_class_says() -> None:
    x = torch.randn(3, 4)
    model, own = replaced(Locked(), x)
    with torch.no_grad():
        model(x)
        copied = copy.deepcopy(model)
        assert isinstance(copied, Fused) and copied.lock is not model.lock
        torch.testing.assert_close(copied(x), own(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("odd", [float("inf"), float("nan")])
def test_results_that_are_no_numbers_are_compared(odd: float) -> None:
    """A mask's infinities are the same with kernels, and a number in the place of one is not."""

    def masked(model: Any, x: Any) -> Any:
        return model.layer(x).masked_fill(torch.eye(4, dtype=torch.bool), odd)

    x = torch.randn(4, 4)
    model, own = replaced(Within(masked), x)
    with torch.no_grad():
        torch.testing.assert_close(model(x), own(x), rtol=1e-4, atol=1e-5, equal_nan=True)
        for other in (torch.zeros(4, 4), torch.full((4, 4), odd)):
            with pytest.raises(Diagnostic, match="computes something else with kernels"):
                expect_same(model, x, [other])
