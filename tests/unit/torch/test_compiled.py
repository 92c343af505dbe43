"""Graphs: torch.compile without a break, torch.export with a batch of any size, autocast and vmap."""

from __future__ import annotations

import io
import shutil
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import imbrex.torch as ours  # noqa: E402


class Net(torch.nn.Module):
    """A convolution with a residual, a transposed one, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = torch.nn.Conv2d(4, 4, 3, padding=1)
        self.up = torch.nn.ConvTranspose2d(4, 2, 2, stride=2)
        self.head = torch.nn.Linear(12, 5)

    def forward(self, x: Any) -> Any:
        y = ours.conv2d(x, self.conv.weight, self.conv.bias, padding=1, activation="gelu", residual=x)
        y = ours.conv_transpose2d(y, self.up.weight, self.up.bias, stride=2, activation="relu")
        return ours.linear(y, self.head.weight, self.head.bias)

    def plain(self, x: Any) -> Any:
        return self.head(torch.relu(self.up(torch.nn.functional.gelu(self.conv(x) + x))))


def images(n: int = 2) -> Any:
    return torch.randn(n, 4, 6, 6, generator=torch.Generator().manual_seed(n))


BACKENDS = ["aot_eager", "inductor"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("last", [False, True])
def test_compile_has_no_break_and_the_gradients_of_eager(backend: str, last: bool) -> None:
    if backend == "inductor" and not shutil.which("g++"):
        pytest.skip("inductor needs g++")
    net, x = Net(), images()
    if last:
        x, net = (v.to(memory_format=torch.channels_last) for v in (x, net))
    compiled = torch.compile(net, fullgraph=True, backend=backend)
    want = net.plain(x)
    torch.testing.assert_close(compiled(x), want)
    wanted = torch.autograd.grad(want.square().mean(), list(net.parameters()))
    got = torch.autograd.grad(compiled(x).square().mean(), list(net.parameters()))
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_batches_of_any_size_are_one_graph() -> None:
    net = Net()
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(net, fullgraph=True, backend="aot_eager", dynamic=True)
    with torch.no_grad():
        for n in (2, 3, 5):
            torch.testing.assert_close(compiled(images(n)), net.plain(images(n)))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_export_keeps_the_ops_and_a_free_batch() -> None:
    net = Net().eval()
    with torch.no_grad():
        program = torch.export.export(net, (images(),), dynamic_shapes=({0: torch.export.Dim("n")},))
    called = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert [c for c in called if c.startswith("imbrex.")] == [
        "imbrex.conv2d.default", "imbrex.conv2d_backward_data.default", "imbrex.product.default"
    ]  # fmt: skip
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    again = torch.export.load(file).module()
    with torch.no_grad():
        torch.testing.assert_close(again(images(5)), net.plain(images(5)))


def test_autocast_lowers_all_operands() -> None:
    net, x = Net(), images()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got, want = net(x), net.plain(x)
    assert got.dtype == want.dtype == torch.bfloat16
    torch.testing.assert_close(got, want, rtol=3e-2, atol=3e-2)
    got.float().sum().backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in net.parameters())


def test_autocast_leaves_float64() -> None:
    a = torch.randn(3, 4, dtype=torch.float64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ours.mm(a, a.mT).dtype == torch.float64


def test_vmap_folds_batches_into_images_and_rows() -> None:
    x, w, bias = torch.randn(3, 2, 4, 6, 6), torch.randn(5, 4, 3, 3), torch.randn(5)
    vmap: Any = torch.vmap
    got = vmap(lambda one: ours.conv2d(one, w, bias))(x)
    torch.testing.assert_close(got, torch.nn.functional.conv2d(x.flatten(0, 1), w, bias).unflatten(0, (3, 2)))
    a, b = torch.randn(3, 5, 8), torch.randn(3, 8, 6)
    torch.testing.assert_close(vmap(ours.mm)(a, b), a @ b)
    torch.testing.assert_close(vmap(ours.mm, (0, None))(a, b[0]), a @ b[0])
    torch.testing.assert_close(vmap(ours.mm, (None, 0))(a[0], b), a[0] @ b)
    filters = torch.randn(3, 5, 4, 3, 3)
    each = torch.stack([torch.nn.functional.conv2d(x[0], one) for one in filters])
    torch.testing.assert_close(vmap(ours.conv2d, (None, 0))(x[0], filters), each)
    op: Any = torch.ops.imbrex.product_with_sums
    for other, dims in ((b, (0, 0)), (b[0], (0, None))):
        result, kept = vmap(lambda a, b: op(a, b, None, None, 1.0, "relu6", False), dims)(a, other)
        torch.testing.assert_close(result, torch.nn.functional.relu6(kept))
        torch.testing.assert_close(kept, a @ other)


def test_inference_mode_and_no_grad_take_parameters() -> None:
    """`imbrex.gemm` itself, too."""
    import imbrex

    a = torch.nn.Parameter(torch.randn(4, 8))
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            torch.testing.assert_close(imbrex.gemm(a, a, transpose_b=True), a @ a.mT)
            torch.testing.assert_close(ours.mm(a, a.mT), a @ a.mT)
    with pytest.raises(TypeError, match=r"use imbrex\.torch, or torch\.no_grad\(\)"):
        imbrex.gemm(a, a, transpose_b=True)
