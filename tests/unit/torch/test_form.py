"""Forms of a model: the fastest is taken, filters lie otherwise where nobody sees it, and all comes back."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import imbrex.torch as ours  # noqa: E402
from imbrex.bench import networks as models  # noqa: E402
from imbrex.diagnostic import Diagnostic  # noqa: E402
from imbrex.torch import form, trial  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_process")
nn: Any = torch.nn


class Classifier(nn.Module):
    """way: how images become rows."""

    def __init__(self, way: str = "flatten") -> None:
        super().__init__()
        torch.manual_seed(3)
        self.one, self.two, self.way = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 5, 3, 2), way
        self.head = nn.Linear(20, 3)

    def forward(self, x: Any) -> Any:
        y = self.two(torch.relu(self.one(x)))
        if self.way == "images":
            return y
        return self.head(y.view(y.shape[0], -1) if self.way == "view" else y.flatten(1))


def image() -> Any:
    return torch.randn(2, 3, 7, 7, generator=torch.Generator().manual_seed(1))


def is_last(layer: Any) -> bool:
    return bool(layer.weight.is_contiguous(memory_format=torch.channels_last))


def take(monkeypatch: pytest.MonkeyPatch, wanted: int) -> list[Sequence[form.Form]]:
    """Measures nothing; that form is the fastest, and what there was to choose from is noted."""
    seen: list[Sequence[form.Form]] = []

    def fastest(forms: Sequence[form.Form], take: Any, run: Any, *given: Any) -> list[float]:
        seen.append(forms)
        for one in forms:
            take(one)
            run()
        return [0.5 if at == wanted % len(forms) else 1.0 for at in range(len(forms))]

    monkeypatch.setattr(import_module("imbrex.torch.replace"), "fastest", fastest)
    monkeypatch.setattr(trial, "_contest", lambda calls, device, as_graph: (1.0, 2.0))
    return seen


def test_filters_lie_channels_last_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = take(monkeypatch, -1)
    model, x = Classifier().eval(), image()
    twin, parameters = copy.deepcopy(model), list(model.parameters())
    with torch.no_grad():
        report = ours.replace(model, x, jobs=1)
        assert report.is_last and is_last(model.one) and is_last(model.two)
        assert "3 of 3 layers swapped, filters channels_last; the model: 500 ms, torch's 1e+03" in str(report)
        assert [(one.is_last, one.swaps) for one in seen[0]] == [(False, False), (False, True), (True, True)]
        torch.testing.assert_close(model(x), twin(x), rtol=1e-4, atol=1e-5)
        again = copy.deepcopy(model)
        torch.testing.assert_close(again(x), twin(x), rtol=1e-4, atol=1e-5)
    for one in (model, again):
        ours.restore(one)
        assert one.one.weight.is_contiguous() and one.two.weight.is_contiguous()
        assert vars(one.one).keys() == vars(twin.one).keys()
    assert all(a is b for a, b in zip(model.parameters(), parameters, strict=True))
    assert all(torch.equal(v, twin.state_dict()[key]) for key, v in model.state_dict().items())


def test_torchs_own_model_stays_where_it_is_the_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    take(monkeypatch, 0)
    model = Classifier().eval()
    report = ours.replace(model, image(), jobs=1)
    assert not report.swapped and type(model.one) is nn.Conv2d and model.one.weight.is_contiguous()
    assert {row.reason for row in report.rows} == {"torch's own model is faster"}


def test_a_model_in_training_mode_is_measured_with_its_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of results that have some; none is kept, and statistics of norms stay."""
    model, backward = Classifier().train(), list[Any]()
    seen = take(monkeypatch, 0)
    model.one.weight.register_hook(backward.append)
    report = ours.replace(model, image(), jobs=1)
    assert {row.reason for row in report.rows} == {"torch's own model is faster"} and model.training
    (forms,) = seen
    assert [one.swaps for one in forms] == [False, True] and len(backward) == 1 + len(forms)  # and the trial
    assert all(parameter.grad is None for parameter in model.parameters())
    assert ours.replace(model.requires_grad_(False), image(), jobs=1).theirs_s is not None
    assert len(backward) == 1 + len(forms)


def test_a_model_that_cannot_be_differentiated_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    take(monkeypatch, 1)
    model, forward = Classifier().train(), Classifier.forward

    def broken(self: Any, x: Any) -> Any:
        result = forward(self, x)
        result.register_hook(lambda gradient: gradient.no_such_thing)
        return result

    monkeypatch.setattr(Classifier, "forward", broken)
    with pytest.raises(ValueError, match=r"cannot be differentiated with 'example': .*no_such_thing"):
        ours.replace(model, image(), jobs=1)
    assert type(model.one) is nn.Conv2d


@pytest.mark.parametrize("way", ["images", "view"])
def test_what_would_be_seen_outside_is_not_tried(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """A result that lies otherwise, and a view of one that lies as it did."""
    seen = take(monkeypatch, -1)
    model, x = Classifier(way).eval(), image()
    with torch.no_grad():
        stride = model(x).stride()
        report = ours.replace(model, x, jobs=1)
        assert not report.is_last and not any(one.is_last for one in seen[0])
        assert model(x).stride() == stride
        ours.restore(model)
        if way == "view":
            with pytest.raises(Diagnostic, match="does not run with filters that lie channels_last"):
                ours.replace(model, x, jobs=1, channels_last=True)
            assert type(model.one) is nn.Conv2d and model.one.weight.is_contiguous()
        else:
            report = ours.replace(model, x, jobs=1, channels_last=True, measure=False)
            assert report.is_last and model(x).is_contiguous(memory_format=torch.channels_last)


def test_memory_of_others_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = take(monkeypatch, -1)
    model = Classifier().eval()
    whole = torch.randn(2 * model.one.weight.numel())
    model.one.weight.data = whole[: model.one.weight.numel()].view_as(model.one.weight)
    ours.replace(model, image(), jobs=1)
    assert not any(one.is_last for one in seen[0])
    with pytest.raises(ValueError, match="'channels_last' is of a model in eval mode"):
        ours.replace(Classifier().train(), image(), channels_last=True)


def test_a_form_that_changes_more_has_to_gain() -> None:
    assert form.chosen([1.0, 0.99, 0.9, 0.89, 0.95]) == 2
    assert form.chosen([1.0, 1.5]) == 0


def test_forms_take_turns() -> None:
    forms = [form.Form((), False), form.Form((), True)]
    log: list[str] = []
    times = form.fastest(
        forms,
        lambda one: log.append("last" if one.is_last else "kept"),
        lambda: log.append("run"),
        torch.device("cpu"),
    )
    turn = ["kept", *["run"] * form.RUNS, "last", *["run"] * form.RUNS]
    assert len(times) == 2 and log[: len(turn)] == turn and len(log) == form.ROUNDS * len(turn)


def test_a_residual_network_in_every_form(monkeypatch: pytest.MonkeyPatch) -> None:
    take(monkeypatch, -1)
    model, x = models.resnet18(4, 5).eval(), torch.randn(1, 3, 32, 32)
    with torch.no_grad():
        want = model(x)
        assert ours.replace(model, x, jobs=1).is_last
        torch.testing.assert_close(model(x), want, rtol=1e-3, atol=1e-4)
