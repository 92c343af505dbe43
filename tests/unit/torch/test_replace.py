"""Models whose layers are swapped: results and gradients are torch's, keys stay, the rest has a reason."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import imbrex.torch as ours  # noqa: E402
from imbrex.bench import networks as models  # noqa: E402
from imbrex.diagnostic import Diagnostic  # noqa: E402
from imbrex.numeral import counted  # noqa: E402
from imbrex.torch import fold  # noqa: E402
from imbrex.torch import layer as layers  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_process")
nn: Any = torch.nn


def replaced(model: Any, example: Any, **words: Any) -> Any:
    return ours.replace(model, example, jobs=1, measure=False, **words)


def images(size: int = 16, many: int = 1) -> Any:
    return torch.randn(many, 3, size, size, generator=torch.Generator().manual_seed(size))


MODELS: dict[str, tuple[Callable[[], Any], int, int, int]] = {
    "ResNet-18": (lambda: models.resnet18(4, 5), 32, 21, 20),
    "transformer": (models.transformer, 16, 5, 2),
    "U-Net": (models.unet, 8, 8, 6),
}
"""Model, size of its images, layers, and those with which something is fused."""


@pytest.mark.parametrize("name", MODELS)
def test_results_in_eval_mode(name: str) -> None:
    make, size, count, fused = MODELS[name]
    model, x = make().eval(), images(size)
    keys = list(model.state_dict())
    with torch.no_grad():
        want = model(x)
        report = replaced(model, x)
        assert len(report.swapped) == len(report.rows) == count, report
        assert sum(bool(row.fused) for row in report.rows) == fused, report
        torch.testing.assert_close(model(x), want, rtol=1e-3, atol=1e-4)
        assert list(model.state_dict()) == keys
        last = x.to(memory_format=torch.channels_last)
        torch.testing.assert_close(model(last), want, rtol=1e-3, atol=1e-4)
    ours.wait()
    ours.restore(model)
    assert torch.equal(model(x), want) or torch.allclose(model(x), want, rtol=1e-5, atol=1e-6)
    assert not any(isinstance(m, layers.Layer) for m in model.modules())


def test_training_is_torchs() -> None:
    """Gradients of every parameter, statistics of norms, and a loss that falls."""
    model = models.unet().train()
    with torch.no_grad():
        model.two[0].weight.requires_grad_(False)
    twin = copy.deepcopy(model)
    x, target = images(8, 2), torch.randn(2, 2, 8, 8)
    before = copy.deepcopy(model.state_dict())
    report = replaced(model, x)
    assert len(report.left) == 0 and model.training
    assert all(torch.equal(v, before[key]) for key, v in model.state_dict().items())
    for one in (model, twin):
        torch.nn.functional.mse_loss(one(x), target).backward()
    for (key, got), want in zip(model.named_parameters(), twin.parameters(), strict=True):
        assert (got.grad is None) == (want.grad is None), key
        if want.grad is not None:
            torch.testing.assert_close(got.grad, want.grad, rtol=1e-3, atol=1e-4, msg=key)
    torch.testing.assert_close(model.one[1].running_mean, twin.one[1].running_mean)
    steps = torch.optim.SGD(model.parameters(), 0.1)
    losses: list[float] = []
    for _ in range(5):
        steps.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), target)
        loss.backward()
        steps.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def small() -> Any:
    torch.manual_seed(1)
    return models._lively(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())).eval()


def test_states_copies_and_pickles() -> None:
    model, x = small(), images(8)
    plain = copy.deepcopy(model)
    replaced(model, x)
    other = small()
    with torch.no_grad():
        for p in other.parameters():
            p.add_(0.25)
        other[1].running_mean.add_(0.5)
        model.load_state_dict(other.state_dict())
        torch.testing.assert_close(model(x), other(x), rtol=1e-4, atol=1e-5)
        plain.load_state_dict(model.state_dict())
        torch.testing.assert_close(model(x), plain(x), rtol=1e-4, atol=1e-5)
        for p in (*model.parameters(), *model.buffers()):
            if p.is_floating_point():
                p.data.mul_(0.5)  # which no counter of versions tells
        plain.load_state_dict(model.state_dict())
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        for one in (model, copy.deepcopy(model), torch.load(file, weights_only=False)):
            assert isinstance(one[0], layers.Conv2d)
            torch.testing.assert_close(one(x), plain(x), rtol=1e-4, atol=1e-5)
    assert replaced(model, x).rows[0].reason == "swapped before"


def test_a_layer_that_is_parametrised_later_gets_its_own_back() -> None:
    model, x = small(), images(8)
    replaced(model, x)
    torch.nn.utils.parametrizations.weight_norm(model[0])
    twin, want = copy.deepcopy(model), model(x)
    ours.restore(model)
    assert not isinstance(model[0], layers.Layer) and isinstance(twin[0], layers.Layer)
    assert torch.nn.utils.parametrize.is_parametrized(model[0])
    for one in (model, twin):
        torch.testing.assert_close(one(x), want, rtol=1e-4, atol=1e-5)
    torch.nn.utils.parametrize.remove_parametrizations(model[0], "weight")
    assert type(model[0]) is nn.Conv2d


@pytest.mark.filterwarnings("ignore:.*nested tensors.*:UserWarning", "ignore:Sparse.*:UserWarning")
@pytest.mark.parametrize("kind", ["nested", "sparse"])
def test_tensors_that_are_not_dense_are_torchs(kind: str) -> None:
    model = nn.Linear(6, 5)
    x = torch.ones(2, 3, 6)
    replaced(model, x[0], batches="each")
    given = torch.nested.nested_tensor([x[0], x[1, :2]]) if kind == "nested" else x[0].to_sparse()
    with torch.no_grad():
        result = model(given)
        rows = result.unbind()[0] if kind == "nested" else result
        torch.testing.assert_close(rows, nn.Linear.forward(model, x[0]))
    with pytest.raises(TypeError, match=f"'input' should be a dense tensor, got .*{kind[:6]}"):
        ours.linear(given, model.weight)


class Broken(nn.Module):
    """A convolution that is followed by what looks as if it could be fused."""

    def __init__(self, way: str) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.conv, self.way = nn.Conv2d(3, 3, 3, padding=1), way

    def forward(self, x: Any, more: Any = None) -> Any:
        x = x + 0
        y = self.conv(x)
        match self.way:
            case "writes":
                x.relu_()
                return torch.relu(y + x)
            case "twice":
                return torch.relu(y) + y
            case "itself":
                return y + y
            case "broadcast":
                return y + x[:1, :1, :1, :1]
            case "none":
                return torch.relu(y) if more is None else y + more
            case _:
                return torch.relu(y if y.sum() > 0 else -y)


@pytest.mark.parametrize("way", ["writes", "twice", "itself", "broadcast", "none", "branch"])
def test_what_a_graph_does_not_allow_is_not_fused(way: str) -> None:
    model, x = Broken(way).eval(), images(4)
    with torch.no_grad():
        want = [model(x), model(x * 2)]
        replaced(model, x)
        for got, right in zip((model(x), model(x * 2)), want, strict=True):
            torch.testing.assert_close(got, right, rtol=1e-4, atol=1e-5)
        if way == "none":
            torch.testing.assert_close(model(x, x), Broken(way).eval()(x, x), rtol=1e-4, atol=1e-5)


class Own(nn.Conv2d):
    pass


class Weight(torch.Tensor):
    pass


def hooked() -> Any:
    made = nn.Conv2d(3, 4, 3)
    made.register_forward_hook(lambda *given: None)
    return made


def of_a_subclass() -> Any:
    made = nn.Conv2d(3, 4, 3)
    made.weight = nn.Parameter(made.weight.detach().as_subclass(Weight))
    return made


def parametrised() -> Any:
    return torch.nn.utils.parametrizations.weight_norm(nn.Conv2d(3, 4, 3))


def sharing() -> Any:
    one, other = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1)
    other.weight = one.weight
    return nn.Sequential(one, other)


LEFT: dict[str, tuple[Callable[[], Any], str]] = {
    "a hook": (hooked, "it has hooks"),
    "a subclass": (lambda: Own(3, 4, 3), "it is a subclass, "),
    "a parametrised one": (parametrised, "it is a subclass, "),
    "a subclass of tensors": (of_a_subclass, "its weight is a subclass of tensors, Weight"),
    "a shared weight": (sharing, "another layer shares its weight"),
    "another padding": (
        lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"),
        "its padding is reflect",
    ),
    "a type": (lambda: nn.Conv2d(3, 4, 3).to(torch.complex64), "no kernel takes complex64"),
    "a device": (lambda: nn.Conv2d(3, 4, 3, device="meta"), "there is no target for the device 'meta'"),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_has_a_reason(name: str) -> None:
    make, reason = LEFT[name]
    model = nn.Sequential(make()).eval()
    weight = next(model.parameters())
    x = images(6).to(weight.dtype).to(weight.device)
    report = replaced(model, x)
    assert report.rows and all((row.reason or "").startswith(reason) for row in report.rows), report
    assert not any(isinstance(m, layers.Layer) for m in model.modules())
    none = f"0 of {counted(len(report.rows), 'layer')} swapped"
    assert f"left: {reason}" in str(report) and none in str(report)


def test_a_model_without_layers_is_said_to_have_none() -> None:
    """As that of an exported program, which calls ops."""
    x = torch.ones(2, 3)
    program = torch.export.export(nn.Linear(3, 4), (x,)).module()
    for model in (nn.ReLU(), program):
        report = replaced(model, x)
        assert report.rows == () and str(report).startswith("the model holds no layer that multiplies")


def test_one_layer_several_times_and_one_that_is_not_reached() -> None:
    conv = nn.Conv2d(3, 3, 3, padding=1)
    model = nn.ModuleDict({"one": nn.Sequential(conv, conv), "idle": nn.Linear(3, 3)}).eval()
    model.forward = lambda x: model["one"](x)
    reasons = {row.name: row.reason for row in replaced(model, images(4)).rows}
    assert reasons == {
        "one.0": "it stands in the model several times",
        "idle": "the example does not reach it",
    }


def test_a_quantised_layer_is_left() -> None:
    quantised: Any = pytest.importorskip("torch.ao.nn.quantized")
    report = replaced(
        nn.ModuleDict({"q": quantised.Linear(4, 4), "conv": nn.Conv2d(3, 4, 3)})["conv"], images(4)
    )
    assert len(report.swapped) == 1
    from imbrex.torch.candidate import candidates

    (row,) = candidates(nn.Sequential(quantised.Linear(4, 4)))
    assert row.reason == "it is quantised"


def test_a_model_is_a_module_and_the_same_afterwards() -> None:
    with pytest.raises(TypeError, match=r"'model' should be a torch.nn.Module, got int"):
        ours.replace(3, images())  # type: ignore[arg-type]

    class Random(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.own = nn.Linear(16, 4), torch.Generator()

        def forward(self, x: Any) -> Any:
            return self.layer(x + torch.rand((), generator=self.own))

    model = Random().eval()
    with pytest.raises(Diagnostic, match="computes something else"):
        replaced(model, images())
    assert type(model.layer) is nn.Linear


def test_the_slower_one_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from imbrex.torch import trial

    monkeypatch.setattr(trial, "_contest", lambda calls, device, as_graph: (2.0, 1.0))
    module = import_module("imbrex.torch.replace")
    monkeypatch.setattr(module, "fastest", lambda forms, *given: [1.0, *[2.0] * (len(forms) - 1)])
    model = small()
    report = ours.replace(model, images(8), jobs=1)
    assert "torch's own is faster, 1e+03 ms against 2e+03" in str(report)
    assert type(model[0]) is nn.Conv2d and type(model) is nn.Sequential


def test_kernels_that_are_there_are_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all layers, whether their kernels were compiled, loaded and called before, and with which result."""
    module = import_module("imbrex.torch.replace")
    model, x = models.unet().eval(), images(8)
    tuned: list[Any] = []
    monkeypatch.setattr(module, "tuned", lambda problem, *more, **words: tuned.append((problem, words)))
    with torch.no_grad():
        first = replaced(model, x, tune="quick")
        model(x)
        ours.restore(model)
        once = list(tuned)
        assert len(first.swapped) == 8 and len({problem for problem, _ in once}) == len(once) > 4
        replaced(model, x, tune="full")
    assert [problem for problem, _ in tuned[len(once) :]] == [problem for problem, _ in once]
    assert {words["effort"] for _, words in tuned[len(once) :]} == {"full"}


def test_other_tensors_are_torchs() -> None:
    """Subclasses, other types, and autocast, which has a type of its own."""
    model, x = small(), images(8)
    replaced(model, x)
    with torch.no_grad():
        assert model(x.as_subclass(Weight)).shape == (1, 4, 6, 6)
        with pytest.raises(RuntimeError, match=r"expected|same"):
            model(x.double())
        with torch.autocast("cpu", torch.bfloat16):
            got = model(x)
        torch.testing.assert_close(got.float(), model(x), rtol=0.05, atol=0.05)
    ours.wait()


def test_the_fallback_answers_until_the_kernel_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    from imbrex.torch import fallback

    may_go, compiled = threading.Event(), fallback.compiled

    def slow(order: Any) -> float:
        assert may_go.wait(60)
        return compiled(order)

    monkeypatch.setattr(fallback, "compiled", slow)
    for shape in ((2, 3, 5, 7), (2, 3, 4, 7)):
        x, w = torch.randn(shape, requires_grad=True), torch.randn(4, 3, 3, 2, requires_grad=True)
        scale, bias = torch.rand(4), torch.randn(4)

        def call(x: Any = x, w: Any = w, scale: Any = scale, bias: Any = bias) -> Any:
            y = ours.conv2d(
                x, w, bias, 2, "same" if False else 1, scale=scale, activation="relu", fallback=True
            )
            return y, *torch.autograd.grad(y.square().sum(), (x, w))

        first = call()
        may_go.set()
        ours.wait()
        for got, want in zip(call(), first, strict=True):
            assert got.stride() == want.stride()
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
        may_go.clear()


def test_what_cannot_be_compiled_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from imbrex.torch import fallback

    def broken(order: Any) -> float:
        raise Diagnostic("the compiler is ill")

    monkeypatch.setattr(fallback, "compiled", broken)
    told: list[str] = []
    monkeypatch.setattr(fallback.warnings, "warn", lambda text, **words: told.append(text))
    a, b = torch.randn(3, 11), torch.randn(11, 2)
    for _ in range(3):
        torch.testing.assert_close(ours.mm(a, b, fallback=True), a @ b)
        ours.wait()
    assert len(told) == 1 and "the compiler is ill; torch's own op answers instead" in told[0]


def test_a_graph_that_is_captured_without_the_kernel_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from imbrex.function import batches
    from imbrex.torch import fallback

    monkeypatch.setattr(fallback, "compiled", lambda order: 0.0)
    monkeypatch.setattr(batches, "_warned", set[str]())
    for name in ("is_initialized", "is_current_stream_capturing"):
        monkeypatch.setattr(torch.cuda, name, lambda: True)
    a, b = torch.randn(3, 12), torch.randn(12, 2)
    with pytest.warns(UserWarning, match=r"every replay computes torch's own op") as told:
        for _ in range(2):
            torch.testing.assert_close(ours.mm(a, b, fallback=True), a @ b)
    assert len(told) == 1
    ours.wait()


@pytest.mark.parametrize("batches", ["each", "any"])
def test_the_tenth_shape_is_told_of_once(batches: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of shapes that have kernels of their own: with "any" those of other sizes of images alone."""
    from imbrex.torch import fallback

    monkeypatch.setattr(layers, "_warned", False)
    monkeypatch.setattr(fallback, "compiled", lambda order: 0.0)
    model = nn.Sequential(nn.Conv2d(3, 2, 1), nn.Linear(4, 3), nn.Linear(3, 3)).eval()
    replaced(model, torch.randn(1, 3, 4, 4), batches=batches)
    told: list[str] = []
    monkeypatch.setattr(layers.warnings, "warn", lambda text, **words: told.append(text))
    with torch.no_grad():
        for rows in range(1, 15):
            model(torch.randn(rows, 3, 4, 4))
        texts = [text for text in told if "has met 10 shapes" in text]
        assert len(texts) == (batches == "each") and all("the last one (10, 3, 4, 4)" in t for t in texts)
        for rows in range(5, 15):
            model(torch.randn(2, 3, rows, 4))
    ours.wait()
    texts = [text for text in told if "has met 10 shapes" in text]
    assert len(texts) == 1 and ("(2, 3, 13, 4)" in texts[0]) == (batches == "any")


def test_a_norm_is_folded_once_and_again_when_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    folds: list[int] = []
    folded = fold.folded
    monkeypatch.setattr(fold, "folded", lambda *given: (folds.append(1), folded(*given))[1])
    model, x = small(), images(8)
    replaced(model, x)
    with torch.no_grad():
        model(x)
        folds.clear()
        for _ in range(3):
            model(x)
        assert len(folds) <= 3 and (not folds or not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"))
        for change in (
            lambda: model[1].running_var.data.mul_(2),
            lambda: model[1].bias.data.add_(1),
            lambda: setattr(model[1], "eps", 0.1),
            lambda: setattr(model[1], "weight", None),
            lambda: setattr(model[0], "bias", nn.Parameter(torch.ones(4))),
        ):
            change()
            twin = copy.deepcopy(model)
            ours.restore(twin)
            torch.testing.assert_close(model(x), twin(x), rtol=1e-4, atol=1e-5)
            assert folds, change
            folds.clear()


@pytest.mark.parametrize(
    ("example", "why"),
    [
        ("text", "TypeError: "),
        ([torch.ones(2, 3)], "TypeError: "),
        ({1: torch.ones(2, 3)}, "TypeError: keywords must be strings"),
        (torch.ones(2, 4), "RuntimeError: mat1 and mat2 shapes cannot be multiplied"),
        ((), "TypeError: "),
    ],
)
def test_an_example_that_the_model_does_not_take(example: Any, why: str) -> None:
    model = nn.Sequential(nn.Linear(3, 4))
    with pytest.raises(ValueError, match=f"the model cannot be called with 'example': {why}"):
        replaced(model, example)
    assert type(model[0]) is nn.Linear


def test_a_graph_is_of_a_model_on_a_gpu() -> None:
    model = nn.Sequential(nn.Linear(3, 4))
    with pytest.raises(ValueError, match=r"'cuda_graph' is of a model in eval mode"):
        ours.replace(model, torch.ones(2, 3), cuda_graph=True)
    with pytest.raises(ValueError, match=r"'cuda_graph' is of a model on a GPU, and parameters are on 'cpu'"):
        ours.replace(model.eval(), torch.ones(2, 3), cuda_graph=True)
    assert type(model[0]) is nn.Linear
