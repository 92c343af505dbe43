"""Layers, functions and graphs that meet any number of images or of rows: two kernels of each, whose bits are
those of a fixed kernel of the same tuning.
"""

from __future__ import annotations

import copy
import warnings
from importlib import import_module
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import imbrex  # noqa: E402
import imbrex.torch as ours  # noqa: E402
from imbrex.function import batches  # noqa: E402
from imbrex.problem import Conv2d  # noqa: E402
from imbrex.torch import fallback  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_process")
nn: Any = torch.nn


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_families", {})
    monkeypatch.setattr(batches, "_warned", set())


def test_a_layer_has_two_kernels_for_all_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[Any] = []
    compiled = fallback.compiled
    monkeypatch.setattr(fallback, "compiled", lambda job: (jobs.append(job.problem), compiled(job))[1])
    torch.manual_seed(4)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 6)).eval()
    with torch.no_grad():
        ours.replace(model, torch.randn(4, 3, 8, 8), jobs=1, measure=False)
        with pytest.warns(UserWarning, match="2 images after 4: one kernel of 1 to 1024 images is compiled"):
            model(torch.randn(2, 3, 8, 8))
        ours.wait()
        assert sorted(str(problem.run_time) for problem in jobs) == ["?1..1024", "?1..65536"]
        for number in (1, 2, 3, 7):
            x = torch.randn(number, 3, 8, 8)
            middle = torch.relu(nn.Conv2d.forward(model[0], x))
            want = nn.Linear.forward(model[3], middle.flatten(1))
            torch.testing.assert_close(model(x), want, rtol=1e-4, atol=1e-5)
    assert len(jobs) == 2
    ours.restore(model)


def test_bits_of_results_and_gradients_are_those_of_fixed_kernels() -> None:
    """With a kernel of the open problem that is there before; ours of a bias, of sums, and of a gradient."""
    threads = torch.get_num_threads()
    seen: list[Any] = []
    kernel_of, module = batches.kernel_of, import_module("imbrex.function.gemm")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "kernel_of", lambda *given: (seen.append(kernel_of(*given)), seen[-1])[1])
        weight = torch.randn(17, 24, requires_grad=True)
        for rows in (5, 3):
            x = torch.randn(rows, 24, requires_grad=True)
            y = ours.linear(x, weight, batches="any")
            dy = torch.randn_like(y)
            dx, dw = torch.autograd.grad(y, (x, weight), dy)
    forward, by_x = (one for one in seen[3:] if one.problem.transpose_a is False)
    assert {one.problem.transpose_a for one in seen} == {
        False,
        True,
    } and forward.problem.m == by_x.problem.m == 3
    for kernel, given, got in ((forward, (x, weight), y), (by_x, (dy, weight), dx)):
        assert kernel.loaded.run_time is not None, "it is told the number of rows"
        fixed = imbrex.compile(kernel.problem, config=kernel.configuration, threads=threads)
        arrays = [one.detach().numpy() for one in given]
        assert torch.equal(torch.from_numpy(fixed(*arrays)), got.detach())
    torch.testing.assert_close(dw, dy.T @ x)


def test_an_epoch_of_many_numbers_compiles_two_kernels_of_each_result_and_gradient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Strides, a transposed convolution, filters of four channels and a linear layer."""
    made: list[Any] = []
    compile = batches.compile
    monkeypatch.setattr(batches, "compile", lambda of, **words: (compile(of, **words), made.append(of))[0])
    torch.manual_seed(5)
    down, up = torch.randn(6, 3, 3, 3, requires_grad=True), torch.randn(6, 4, 2, 2, requires_grad=True)
    even, last = torch.randn(4, 4, 3, 3, requires_grad=True), torch.randn(5, 144, requires_grad=True)
    weights = (down, up, even, last)
    F = nn.functional
    for number in (4, 3, 1, 5):
        x = torch.randn(number, 3, 12, 12, requires_grad=True)
        y = ours.conv2d(x, down, stride=2, padding=1, activation="gelu", batches="any")
        y = ours.conv_transpose2d(y, up, stride=2, batches="any")
        y = ours.conv2d(y, even, stride=2, padding=1, activation="relu", batches="any")
        y = ours.linear(y.flatten(1), last, batches="any")
        want = F.conv_transpose2d(F.gelu(F.conv2d(x, down, stride=2, padding=1)), up, stride=2)
        want = F.linear(torch.relu(F.conv2d(want, even, stride=2, padding=1)).flatten(1), last)
        torch.testing.assert_close(y, want, rtol=1e-4, atol=1e-4)
        dy = torch.randn_like(y)
        got = torch.autograd.grad(y, (x, *weights), dy)
        for one, other in zip(got, torch.autograd.grad(want, (x, *weights), dy), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=2e-3)
    fixed = {of for of in made if of.run_time is None}
    assert {of.n if isinstance(of, Conv2d) else of.k if of.transpose_a else of.m for of in fixed} == {4}
    assert len(fixed) == len(opened := {of for of in made if of.run_time}) == 12, opened


def test_all_layers_are_opened_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the first one that meets another number, where calls wait; nothing is compiled after that."""
    module, made = import_module("imbrex.torch.opened"), list[list[Any]]()
    warmed = module.warmed
    monkeypatch.setattr(module, "warmed", lambda jobs, count: (made.append(jobs), warmed(jobs, count))[1])
    model = nn.Sequential(nn.Linear(9, 8), nn.ReLU(), nn.Linear(8, 7)).eval()
    with torch.no_grad():
        ours.replace(model, torch.randn(4, 9), measure=False, fallback=False, jobs=2)
        assert not made
        for rows in (4, 3, 5):
            x = torch.randn(rows, 9)
            with warnings.catch_warnings(record=True, action="always") as told:
                y = model(x)
            assert ["2 kernels are compiled" in str(one.message) for one in told] == [True] * (rows == 3)
            middle = torch.relu(nn.Linear.forward(model[0], x))
            torch.testing.assert_close(y, nn.Linear.forward(model[2], middle), rtol=1e-4, atol=1e-5)
    (jobs,) = made
    assert [(job.problem.n, job.problem.run_time is not None) for job in jobs] == [(8, True), (7, True)]
    assert copy.deepcopy(model)[0].imbrex_swapped.opened is None


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x: Any) -> Any:
        return ours.conv2d(x, self.conv.weight, self.conv.bias, activation="relu")


@pytest.mark.parametrize("strict", [False, True])
def test_graphs_are_of_any_number(strict: bool) -> None:
    dims = ({0: torch.export.Dim("n")},)
    with torch.no_grad():
        program = torch.export.export(Layer(), (torch.randn(3, 3, 6, 6),), dynamic_shapes=dims, strict=strict)
    (call,) = (node for node in program.graph.nodes if node.op == "call_function")
    assert call.target is torch.ops.imbrex.conv2d.default and call.args[-2:] == (False, "any")
