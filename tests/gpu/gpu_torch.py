"""Ops of PyTorch and models on a GPU, each a function that returns None, or what went wrong."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import imbrex.torch as ops
from imbrex.bench import networks
from imbrex.torch.fold import folded
from imbrex.torch.fold_launch import folded_on_gpu

torch: Any = import_module("torch")
Told = str | None
F: Any = torch.nn.functional
BOUNDS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
"""The largest difference from float64, by the root mean square of what it should be."""


def _some(*shape: int, kind: Any = torch.float32, last: bool = False) -> Any:
    made = torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)
    return made.to("cuda", kind, memory_format=torch.channels_last if last else torch.contiguous_format)


def _off(got: Any, want: Any, what: str, bound: float | None = None) -> Told:
    """What is wrong with a result, by that in float64."""
    if got.shape != want.shape:
        return f"{what}: {tuple(got.shape)} instead of {tuple(want.shape)}"
    far = float((got.double() - want).abs().max() / want.square().mean().sqrt())
    limit = BOUNDS[got.dtype] if bound is None else bound
    return None if far <= limit else f"{what}: off by {far:.2g}, where {limit:.2g} is allowed"


def _first(told: Iterator[Told]) -> Told:
    return next((one for one in told if one), None)


def _cases(
    kind: Any, last: bool
) -> dict[str, tuple[tuple[Any, ...], Callable[..., Any], Callable[..., Any]]]:
    """Tensors, ours and torch's of them."""
    image, weight = _some(2, 16, 13, 11, kind=kind, last=last), _some(24, 8, 3, 3, kind=kind, last=last)
    bias, a, b = _some(24, kind=kind), _some(70, 48, kind=kind), _some(48, 40, kind=kind)
    filters = _some(16, 4, 2, 2, kind=kind)
    of_conv: tuple[Any, ...] = ((2, 1), 1, 1, 2)
    return {
        "conv2d": (
            (image, weight, bias),
            lambda x, w, v: ops.conv2d(x, w, v, *of_conv, activation="relu"),
            lambda x, w, v: F.relu(F.conv2d(x, w, v, *of_conv)),
        ),
        "conv_transpose2d": (
            (image, filters),
            lambda x, w: ops.conv_transpose2d(x, w, stride=2),
            lambda x, w: F.conv_transpose2d(x, w, stride=2),
        ),
        "linear": (
            (a, b.mT.contiguous(), _some(40, kind=kind)),
            lambda x, w, v: ops.linear(x, w, v, activation="gelu"),
            lambda x, w, v: F.gelu(F.linear(x, w, v)),
        ),
        "mm": (
            (a, b, _some(70, 40, kind=kind)),
            lambda x, y, r: ops.mm(x, y, residual=r),
            lambda x, y, r: x @ y + r,
        ),
        "bmm": ((_some(3, 9, 16, kind=kind), _some(3, 16, 24, kind=kind)), ops.bmm, torch.bmm),
    }


def _ops(kind: Any) -> Told:
    """Results and gradients of all functions, contiguous and channels_last."""
    return _first(
        told
        for last in (False, True)
        for name, case in _cases(kind, last).items()
        for told in _results(f"{name} of {kind}, channels_last {last}", *case)
    )


torch_ops_f16 = partial(_ops, torch.float16)
torch_ops_bf16 = partial(_ops, torch.bfloat16)
torch_ops_f32 = partial(_ops, torch.float32)
torch_ops_f64 = partial(_ops, torch.float64)


def _results(
    what: str, given: tuple[Any, ...], ours: Callable[..., Any], theirs: Callable[..., Any]
) -> Iterator[Told]:
    with torch.no_grad():
        yield _off(ours(*given), theirs(*(one.double() for one in given)), what)
        is_torchs_own = given[0].dtype == torch.float64  # whose convolutions forget channels_last
        if ours(*given).stride() != theirs(*given).stride() and not is_torchs_own:
            yield f"{what}: lies {ours(*given).stride()}, torch's {theirs(*given).stride()}"
    near = [one.detach().clone().requires_grad_() for one in given]
    wide = [one.detach().double().requires_grad_() for one in given]
    result = theirs(*wide)
    dy = torch.randn_like(result).to(given[0].dtype)
    got = torch.autograd.grad(ours(*near), near, dy)
    want = torch.autograd.grad(result, wide, dy.double())
    for place, (one, other) in enumerate(zip(got, want, strict=True)):
        yield _off(one, other, f"gradient {place} of {what}", 8 * BOUNDS[given[0].dtype])


def torch_opcheck() -> Told:
    """Schema, fake, autograd and tracing of each op, on tensors of the GPU."""
    moves = ([2, 1], [1, 1, 1, 1], [1, 1], 2)
    x, w, y = _some(2, 4, 7, 6), _some(6, 2, 3, 3), _some(2, 6, 4, 6)
    forms = {
        "conv2d": (x, w, None, _some(6), y, *moves, "relu", False),
        "conv2d_backward_data": (y, w, tuple(x.shape), *moves, False),
        "conv2d_backward_weight": (y, x, tuple(w.shape), *moves, False),
        "product": (_some(5, 8), _some(8, 6), _some(6), _some(5, 6), 0.5, "silu", False),
    }
    for name, given in forms.items():
        needed = tuple(v.requires_grad_() if isinstance(v, torch.Tensor) else v for v in given)
        found = torch.library.opcheck(getattr(torch.ops.imbrex, name).default, needed)
        if set(found.values()) != {"SUCCESS"}:
            return f"{name}: {found}"
    return None


def torch_graphs_and_streams() -> Told:
    """A layer in a CUDA graph, replayed on new data, and in a stream beside the default one."""
    x, w = (
        _some(8, 16, 14, 14, kind=torch.float16, last=True),
        _some(32, 16, 3, 3, kind=torch.float16, last=True),
    )
    bias, graph, side = _some(32, kind=torch.float16), torch.cuda.CUDAGraph(), torch.cuda.Stream()

    def run() -> Any:
        with torch.no_grad():
            return ops.conv2d(x, w, bias, padding=1, activation="silu")

    def wanted() -> Any:
        return F.silu(F.conv2d(x.double(), w.double(), bias.double(), padding=1))

    run()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        result = run()
    for seed in (1, 2):
        x.copy_(torch.randn(x.shape, generator=torch.Generator().manual_seed(seed)))
        graph.replay()
        told = _off(result, wanted(), f"a graph, replay {seed}")
        if told:
            return told
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)
        x.mul_(2)
        got = run()
    side.synchronize()
    return _off(got, wanted(), "a stream beside the default one")


def torch_fallback() -> Told:
    """Torch answers until the kernel is there; both are right."""
    a, b = _some(77, 64, kind=torch.float16), _some(64, 56, kind=torch.float16)
    want = a.double() @ b.double()
    told = _off(ops.mm(a, b, fallback=True), want, "torch's answer")
    ops.wait()
    return told or _off(ops.mm(a, b, fallback=True), want, "the kernel's answer")


MODELS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "ResNet-18": (lambda: networks.resnet18(8, 5), (2, 3, 64, 64)),
    "transformer": (networks.transformer, (2, 3, 16, 16)),
    "decoder": (networks.decoder, (2, 24, 64)),
    "U-Net": (networks.unet, (2, 3, 16, 16)),
}


def _models(kind: Any, bound: float) -> Told:
    """Models in eval mode, all layers swapped; norms that change are folded again."""
    return _first(
        told
        for name, (make, shape) in MODELS.items()
        for told in _replaced(f"{name} of {kind}", make().eval().to("cuda"), _some(*shape), kind, bound)
    )


torch_replaced_f32 = partial(_models, torch.float32, 1e-3)
torch_replaced_f16 = partial(_models, torch.float16, 3e-2)


def _replaced(what: str, model: Any, x: Any, kind: Any, bound: float) -> Iterator[Told]:
    with torch.no_grad():
        near = copy.deepcopy(model).to(kind)
        report = ops.replace(near, x.to(kind), measure=False)
        if report.left:
            yield f"{what}: {report}"
        yield _off(near(x.to(kind)), copy.deepcopy(model).double()(x.double()), what, bound)
        for one in (model, near):
            for module in one.modules():
                if isinstance(module, torch.nn.BatchNorm2d):
                    module.running_mean.add_(0.25)
                    module.weight.mul_(1.5)
        want = copy.deepcopy(model).double()(x.double())
        yield _off(near(x.to(kind)), want, f"{what}, other norms", bound)


def torch_measured() -> Told:
    """The fastest form, by calls and by CUDA graphs: results stay, and a graph can be made."""
    with torch.no_grad():
        for as_graph in (False, True):
            model, x = (
                networks.resnet18(16, 5).eval().to("cuda", torch.float16),
                _some(4, 3, 64, 64, kind=torch.float16),
            )
            want = copy.deepcopy(model).double()(x.double())
            report = ops.replace(model, x, cuda_graph=as_graph)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                result = model(x)
            graph.replay()
            told = _off(result, want, f"measured, cuda_graph={as_graph}: {report}", 3e-2)
            if told:
                return told
    return None


def torch_folded() -> Told:
    """A norm folded by one launch is the one folded by torch's ops, with and without each of its arrays."""
    for kind, norm_kind in (
        (torch.float32, torch.float32),
        (torch.float16, torch.float16),
        (torch.bfloat16, torch.float32),
    ):
        for without in ((), (2,), (3,), (4,), (2, 3, 4)):
            kinds = (*[norm_kind] * 4, kind)
            given = [None if at in without else _some(300 + at, kind=of)[:300] for at, of in enumerate(kinds)]
            given[1] = given[1].abs()
            got = folded_on_gpu(tuple(given), 1e-3, kind)
            wide = tuple(None if one is None else one.double() for one in given)
            want = folded(wide, 1e-3, torch.float64)
            if got is None:
                return f"no kernel folds {kind} with {norm_kind} without {without}"
            for one, other in zip(got, want, strict=True):
                torch.testing.assert_close(one, other.to(one.dtype))  # a rounding of its type
    return None


def torch_trained() -> Told:
    """Gradients of a model in training mode are torch's, and the loss falls."""
    model = networks.unet().to("cuda").train()
    twin = copy.deepcopy(model).double()
    x, target = _some(2, 3, 16, 16), _some(2, 2, 16, 16)
    ops.replace(model, x, measure=False)
    F.mse_loss(model(x), target).backward()
    F.mse_loss(twin(x.double()), target.double()).backward()
    for (name, one), other in zip(model.named_parameters(), twin.parameters(), strict=True):
        size = other.grad.square().mean().sqrt()
        if (one.grad.double() - other.grad).abs().max() > 1e-2 * size + 1e-5:
            return f"the gradient of {name} is another one"
    steps, losses = torch.optim.SGD(model.parameters(), 0.05), list[float]()
    for _ in range(5):
        steps.zero_grad()
        loss = F.mse_loss(model(x), target)
        loss.backward()
        steps.step()
        losses.append(loss.item())
    return None if losses[-1] < losses[0] else f"the loss does not fall: {losses}"


def torch_any_batches() -> Told:
    """Layers whose kernels are told numbers of images and of rows: right at each, and in a CUDA graph."""
    layers = torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten()
    model = torch.nn.Sequential(*layers, torch.nn.Linear(32 * 14 * 14, 24)).eval().to("cuda", torch.float16)
    model = model.to(memory_format=torch.channels_last)
    wide = copy.deepcopy(model).double()
    with torch.no_grad(), warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        example = _some(4, 16, 14, 14, kind=torch.float16, last=True)
        ops.replace(model, example, fallback=False, measure=False)
        for number in (2, 1, 3, 4, 40, 129):
            x = _some(number, 16, 14, 14, kind=torch.float16, last=True)
            told = _off(model(x), wide(x.double()), f"{number} images")
            if told:
                return told
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = model(x)
        x.copy_(x.flip(0))
        graph.replay()
        refused = [str(one.message) for one in found if "has a kernel of its own" in str(one.message)]
        if refused:
            return refused[0]
        return _off(result, wide(x.double()), "a graph of a kernel that is told its images")


def torch_compiled() -> Told:
    """A model by torch.compile in one graph, with ops inside, and by our backend."""
    model, x = networks.decoder().eval().to("cuda", torch.float16), _some(1, 24, 64, kind=torch.float16)

    class Layers(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y = ops.linear(x, model.qkv.weight, activation="gelu")
            return ops.linear(y, model.qkv.weight.mT, residual=x) * 2

    with torch.no_grad():
        layers = Layers()
        torch.testing.assert_close(torch.compile(layers, fullgraph=True)(x), layers(x), rtol=1e-2, atol=1e-2)
        want = copy.deepcopy(model).double()(x.double())
        compiled = torch.compile(model, backend=ops.backend)
        told = _off(compiled(x), want, "our backend, before its kernels", 3e-2)
        ops.wait()
        return told or _off(compiled(x), want, "our backend", 3e-2)
