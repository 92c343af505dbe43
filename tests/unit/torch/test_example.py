"""Examples that a model writes into, and models that draw random numbers: `replace` changes nothing of it."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import imbrex.torch as ours  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_process")


class Noisy(torch.nn.Module):
    """Scales its input in place, and adds noise to what it makes of it."""

    def __init__(self) -> None:
        super().__init__()
        self.one = torch.nn.Linear(6, 6)

    def forward(self, x: Any) -> Any:
        x.mul_(2)
        return self.one(x) + torch.randn(6)


@pytest.mark.parametrize("measure", [False, True])
@pytest.mark.parametrize("inference", [False, True])
def test_an_example_is_as_it_was(inference: bool, measure: bool) -> None:
    model = Noisy().eval()
    with torch.inference_mode(inference):
        x = torch.randn(3, 6)
        given, state = x.clone(), torch.get_rng_state()
        ours.replace(model, {"x": x}, jobs=1, measure=measure, fallback=False)
    assert torch.equal(x, given) and torch.equal(torch.get_rng_state(), state)


def test_a_model_that_draws_numbers_is_what_it_was() -> None:
    model = Noisy().eval()
    own = copy.deepcopy(model)
    assert len(ours.replace(model, torch.randn(3, 6), jobs=1, measure=False, fallback=False).swapped) == 1
    torch.manual_seed(5)
    want = own(torch.ones(3, 6))
    torch.manual_seed(5)
    torch.testing.assert_close(model(torch.ones(3, 6)), want, rtol=1e-4, atol=1e-5)


def test_lazy_layers_are_told_of() -> None:
    lazy = torch.nn.Sequential(torch.nn.LazyLinear(3))
    row = ours.replace(lazy, torch.ones(2, 6), jobs=1, measure=False).rows[0]
    assert row.reason == "it is lazy and has no weight yet; call the model once before 'replace'"
    assert len(ours.replace(lazy, torch.ones(2, 6), jobs=1, measure=False).swapped) == 1


class Branching(torch.nn.Module):
    """What is fused with its layer is drawn anew by every call."""

    def __init__(self, draw: Callable[[], float]) -> None:
        super().__init__()
        self.one, self.draw = torch.nn.Linear(6, 6), draw

    def forward(self, x: Any) -> Any:
        y = self.one(x)
        return torch.relu(y) if self.draw() < 0.5 else y + x


@pytest.mark.parametrize(
    ("draw", "seed"),
    [
        (lambda: torch.rand(()).item(), torch.manual_seed),
        (lambda: np.random.random(), np.random.seed),
        (lambda: random.random(), random.seed),
    ],
    ids=["torch", "numpy", "python"],
)
def test_a_branch_by_lot_is_taken_anew(draw: Callable[[], float], seed: Callable[[int], object]) -> None:
    model = Branching(draw).eval()
    own, x = copy.deepcopy(model), torch.randn(3, 6)
    seed(1)
    ours.replace(model, x, jobs=1, measure=False, fallback=False)
    drawn = draw()
    seed(1)
    assert drawn == draw()
    with torch.no_grad():
        for number in range(8):
            seed(number)
            want = own(x)
            seed(number)
            torch.testing.assert_close(model(x), want, rtol=1e-4, atol=1e-5)
