"""Containers with fused chains: what a user does to a model afterwards counts, and a forward that does more
than compute stays its own.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import imbrex.torch as ours  # noqa: E402
from imbrex.torch.fusion import Fused, chains  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_process")
nn: Any = torch.nn
functional_call: Any = torch.func.functional_call
modules: Any = import_module("torch.nn.modules.module")


def images() -> Any:
    return torch.randn(1, 3, 6, 6, generator=torch.Generator().manual_seed(6))


def replaced(model: Any) -> Any:
    """The model in eval mode, fused, and called once."""
    model = model.eval()
    with torch.no_grad():
        ours.replace(model, images(), jobs=1, measure=False, fallback=False)
        assert isinstance(model, Fused)
        model(images())
    return model


def sequential() -> Any:
    torch.manual_seed(0)
    return replaced(nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()))


def by_layers(model: Any) -> Any:
    """What a Sequential's children compute one after the other."""
    x = images()
    for child in model:
        x = nn.Sequential(child).eval()(x)
    return x


def appended(model: Any) -> None:
    model.append(nn.Conv2d(4, 2, 1).eval())


def other_layer(model: Any) -> None:
    model[0] = nn.Conv2d(3, 4, 3, padding=1).eval()


def other_activation(model: Any) -> None:
    model[2] = nn.Identity()


def other_norm(model: Any) -> None:
    model[1] = nn.BatchNorm2d(4).eval()
    model[1].running_mean.fill_(-2)


def own_forward(model: Any) -> None:
    model[0].forward = lambda x: torch.ones(1, 4, 6, 6)


@pytest.mark.parametrize(
    "change", [appended, other_layer, other_activation, other_norm, own_forward], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("is_first", [True, False], ids=["before the first call", "after it"])
def test_children_that_are_changed_count(change: Callable[[Any], None], is_first: bool) -> None:
    model = sequential()
    if is_first:
        del model.__dict__["_imbrex_program"]
    with torch.no_grad():
        before = model(images()) if not is_first else None
        change(model)
        got, want = model(images()), by_layers(model)
        assert before is None or before.shape != want.shape or not torch.allclose(before, want)
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def test_a_slice_of_a_container_runs() -> None:
    model = sequential()
    part = model[:2].eval()
    with torch.no_grad():
        torch.testing.assert_close(part(images()), by_layers(model[:2]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("kind", ["register_forward_hook", "register_forward_pre_hook"])
def test_hooks_that_are_registered_later_run(place: int, kind: str) -> None:
    model, seen = sequential(), list[str]()
    handle = getattr(model[place], kind)(lambda module, *_: seen.append(type(module).__name__))
    with torch.no_grad():
        model(images())
        assert len(seen) == 1
        handle.remove()
        model(images())
    assert len(seen) == 1 and model.imbrex_program().serves((images(),)), "fused again"


def test_hooks_of_all_modules_run() -> None:
    model, seen = sequential(), list[str]()
    handle = modules.register_module_forward_hook(lambda module, *_: seen.append(type(module).__name__))
    try:
        with torch.no_grad():
            model(images())
    finally:
        handle.remove()
    assert seen == ["Conv2d", "BatchNorm2d", "ReLU", "Sequential"]


class Doing(nn.Module):
    """Does something besides, and is traced for all that."""

    def __init__(self, act: Callable[[Any, Any], object]) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.act, self.count, self.kept = act, 0, [0]
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Any) -> Any:
        y = torch.relu(self.conv(x))
        made = self.act(self, y)
        return y if made is None else y * made


def counts(model: Any, y: Any) -> None:
    model.count += 1


def keeps(model: Any, y: Any) -> None:
    model.last = y


def lists(model: Any, y: Any) -> None:
    model.kept.append(y)


def buffered(model: Any, y: Any) -> None:
    model.calls.add_(1)


def draws(model: Any, y: Any) -> Any:
    return torch.rand(())


@pytest.mark.parametrize("act", [counts, keeps, lists, buffered], ids=lambda f: f.__name__)
def test_what_a_forward_does_besides_is_done_once_a_call(act: Callable[[Any, Any], object]) -> None:
    """And never by tracing it."""

    def state(model: Any) -> tuple[Any, ...]:
        return model.count, len(model.kept), model.calls.item(), getattr(model, "last", None)

    model, plain, x = Doing(act).eval(), Doing(act).eval(), images()
    plain.load_state_dict(model.state_dict())
    runs = 0

    def counted(*_: object) -> None:
        nonlocal runs
        runs += 1

    model.register_forward_hook(counted)
    with torch.no_grad():
        report = ours.replace(model, x, jobs=1, measure=False, fallback=False)
        assert len(report.swapped) == 1
        y = model(x)
        for _ in range(runs):
            want = plain(x)
    got, wanted = state(model), state(plain)
    assert got[:3] == wanted[:3], (got, wanted)
    assert all(isinstance(one, torch.Tensor) for one in model.kept[1:])
    if act is keeps:
        assert model.last is y
    torch.testing.assert_close(y, want, rtol=1e-4, atol=1e-5)


def test_numbers_that_a_forward_draws_are_drawn_in_each_call() -> None:
    """A draw without a tensor of the call's is no part of what is traced."""
    model = Doing(draws).eval()
    attributes = set(vars(model))
    assert chains(model, lambda module: isinstance(module, nn.Conv2d)) == []
    assert set(vars(model)) == attributes
    model.act = counts
    assert chains(model, lambda module: isinstance(module, nn.Conv2d)) == []
    model.act = lambda model, y: None
    assert len(chains(model, lambda module: isinstance(module, nn.Conv2d))) == 1


def test_a_number_may_be_added() -> None:
    class Adds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.linear = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(6, 5)

        def forward(self, x: Any) -> Any:
            return torch.relu(self.linear(torch.relu(self.conv(x) + x.shape[1])) + x.shape[0])

    model, x = Adds().eval(), images()
    with torch.no_grad():
        want = model(x)
        ours.replace(model, x, jobs=1, measure=False, fallback=False)
        assert isinstance(model, Fused)
        torch.testing.assert_close(model(x), want, rtol=1e-4, atol=1e-5)


def test_a_model_in_training_mode_is_swapped_where_gradients_are_switched_off() -> None:
    model, x = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).train(), images()
    with torch.no_grad():
        report = ours.replace(model, x, jobs=1, measure=False, fallback=False)
    assert len(report.swapped) == 1
    want = torch.relu(torch.nn.functional.conv2d(x, model[0].weight, model[0].bias))
    torch.testing.assert_close(model(x), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("strict", [False, True])
def test_export_keeps_the_kernels(strict: bool) -> None:
    """Also where tensors that stand for others are no plain ones, as outside of strict mode."""
    model = sequential()
    with torch.no_grad():
        program = torch.export.export(model, (images(),), strict=strict)
        torch.testing.assert_close(program.module()(images()), by_layers(model), rtol=1e-4, atol=1e-4)
    called = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
    assert "imbrex.conv2d.default" in called and not called & {"aten.conv2d.default", "aten.relu.default"}


def test_what_is_added_of_another_type_decides_the_result() -> None:
    """As under autocast: sums of its type, and a residual of the input's."""

    class Adds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(6, 6)

        def forward(self, x: Any) -> Any:
            return torch.relu(self.linear(x) + x)

    model, x = Adds().eval(), images()
    with torch.no_grad():
        ours.replace(model, x, jobs=1, measure=False, fallback=False)
        with torch.autocast("cpu", torch.bfloat16):
            got = model(x)
            want = torch.relu(nn.Linear.forward(model.linear, x) + x)
    assert got.dtype == want.dtype == torch.float32
    torch.testing.assert_close(got, want, rtol=0.02, atol=0.02)


def test_a_tracer_sees_a_fused_container_as_it_was() -> None:
    plain = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
    model, x = sequential(), images()
    assert inspect.signature(model.forward) == inspect.signature(plain.forward)
    with torch.no_grad():
        got = torch.fx.symbolic_trace(model)(x)
        torch.testing.assert_close(got, by_layers(model), rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("way", ["jit", "make_fx"])
def test_a_graph_folds_the_norms_that_it_is_called_with(way: str) -> None:
    """Though a call before has kept a fold; and no size of a tracer's is noted."""
    model, x = sequential(), images()
    with torch.no_grad():
        numbers = dict(model.state_dict())
        if way == "jit":
            graph = torch.jit.trace(model, x)
        else:
            make_fx = import_module("torch.fx.experimental.proxy_tensor").make_fx
            graph = partial(make_fx(lambda n, x: functional_call(model, n, (x,)))(numbers, x), numbers)
        assert model[0].imbrex_swapped.shapes == {tuple(x.shape)}
        for name in ("weight", "bias", "running_mean"):
            getattr(model[1], name).add_(0.5)
        torch.testing.assert_close(graph(x), by_layers(model), rtol=1e-4, atol=1e-4)


class Reading(nn.Module):
    """A forward that goes by what its module holds."""

    factor = 2.0

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.bend, self.steps = nn.Linear(6, 6), False, [1.0]
        self.settings = SimpleNamespace(shift=0.5)

    def forward(self, x: Any) -> Any:
        y = self.layer(x)
        y = torch.relu(y) if self.bend else y + x
        return y * self.factor * self.steps[0] + self.settings.shift


CHANGES: dict[str, Callable[[Any], None]] = {
    "a flag": lambda model: setattr(model, "bend", True),
    "a number of the class": lambda model: setattr(model, "factor", 3.0),
    "an element of a list": lambda model: model.steps.__setitem__(0, 4.0),
    "a setting": lambda model: setattr(model.settings, "shift", 1.5),
    "nothing that it reads": lambda model: setattr(model, "note", "none"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_forward_reads_may_change(change: str) -> None:
    model, x = Reading().eval(), torch.randn(3, 6)
    own = copy.deepcopy(model)
    ours.replace(model, x, jobs=1, measure=False, fallback=False)
    with torch.no_grad():
        torch.testing.assert_close(model(x), own(x), rtol=1e-4, atol=1e-5)
        assert model.imbrex_program().serves((x,))
        for one in (model, own):
            CHANGES[change](one)
        torch.testing.assert_close(model(x), own(x), rtol=1e-4, atol=1e-5)
    assert model.imbrex_program().serves((x,)) == (change == "nothing that it reads")


def test_copies_meet_their_first_call_in_several_threads() -> None:
    """torch.fx traces then, and has the calls of modules in all threads come to it meanwhile."""
    model = nn.Sequential(*[nn.Sequential(nn.Linear(6, 6), nn.GELU()) for _ in range(12)]).eval()
    x = torch.randn(3, 6)
    ours.replace(model, x, jobs=1, measure=False, fallback=False)
    copied, ready = copy.deepcopy(model), Barrier(4)

    def called(_: int) -> Any:
        ready.wait()
        with torch.no_grad():
            return copied(x)

    with torch.no_grad(), ThreadPoolExecutor(4) as pool:
        want = model(x)
        for got in pool.map(called, range(4)):
            torch.testing.assert_close(got, want)


def test_a_copy_that_was_not_called_is_one_graph() -> None:
    model, x = nn.Sequential(nn.Linear(6, 6), nn.GELU()).eval(), torch.randn(3, 6)
    ours.replace(model, x, jobs=1, measure=False, fallback=False)
    with torch.no_grad():
        got = torch.compile(copy.deepcopy(model), fullgraph=True, backend="eager")(x)
        torch.testing.assert_close(got, model(x), rtol=1e-4, atol=1e-5)
