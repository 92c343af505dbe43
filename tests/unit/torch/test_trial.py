"""Trials of layers: a kernel and torch give the same, and only the gradients that training needs."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

from imbrex.problem import Conv2d  # noqa: E402
from imbrex.torch.candidate import Candidate, Met  # noqa: E402
from imbrex.torch.fallback import collected  # noqa: E402
from imbrex.torch.fusion import Chain  # noqa: E402
from imbrex.torch.layer import LAYERS, Swapped  # noqa: E402
from imbrex.torch.trial import Trial, ask_for_kernels  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_process")
nn: Any = torch.nn


def trial(
    chain: Chain, with_gradients: bool, needs_grad: bool, frozen: tuple[str, ...] = (), fallback: bool = False
) -> Trial:
    torch.manual_seed(4)  # the batch is one image, expanded
    module = nn.Conv2d(3, 4, 3, padding=1)
    for name in frozen:
        getattr(module, name).requires_grad_(False)
    module.imbrex_swapped = Swapped(fallback)
    module.__class__ = LAYERS[nn.Conv2d]
    like = Met((2, 3, 6, 5), (0, 30, 5, 1), torch.float32, torch.device("cpu"), needs_grad)
    return Trial(Candidate("layer", "Conv2d", module, None, (like,)), chain, with_gradients)


def results(one: Trial) -> list[Any]:
    """Torch's, which ours are compared with."""
    ours, theirs = (call() for call in one.calls(one.candidate.met[0]))
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    return [theirs] if torch.is_tensor(theirs) else [*theirs]


@pytest.mark.parametrize("needs_grad", [False, True])
@pytest.mark.parametrize("frozen", [(), ("weight",), ("weight", "bias")], ids="+".join)
def test_gradients_are_those_that_training_needs(needs_grad: bool, frozen: tuple[str, ...]) -> None:
    """Of a first layer's input none, nor of frozen parameters; where none is needed, the result."""
    one = trial(Chain("layer"), True, needs_grad, frozen)
    shapes = {"input": (2, 3, 6, 5), "weight": (4, 3, 3, 3), "bias": (4,)}
    needed = [name for name in shapes if name not in frozen and (needs_grad or name != "input")]
    wanted = [shapes[name] for name in needed] or [(2, 4, 6, 5)]
    assert [tuple(tensor.shape) for tensor in results(one)] == wanted
    with collected() as compile_jobs:
        ask_for_kernels(trial(one.chain, True, needs_grad, frozen, fallback=True))
    directions = {job.problem.direction for job in compile_jobs if isinstance(job.problem, Conv2d)}
    of = {"input": "backward_data", "weight": "backward_weight"}
    assert directions == {"forward"} | {of[name] for name in needed if name in of}


@pytest.mark.parametrize(
    "chain", [Chain("layer"), Chain("layer", "norm", True, "relu")], ids=["alone", "fused"]
)
def test_without_gradients_none_is_made(chain: Chain) -> None:
    (result,) = results(trial(chain, False, True))
    assert not result.requires_grad and tuple(result.shape) == (2, 4, 6, 5)
    assert bool((result >= 0).all()) == bool(chain.activation)
