"""Ops of torch's dispatcher: `torch.library.opcheck` of each in every form, and the answers of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import imbrex.torch as ours  # noqa: E402
from imbrex.function.host import Host  # noqa: E402
from imbrex.torch import plain  # noqa: E402
from imbrex.torch.activation import ACTIVATIONS  # noqa: E402

F: Any = torch.nn.functional
OPS: Any = torch.ops.imbrex
MOVES = ([2, 1], [1, 1, 1, 1], [1, 1], 2)
X, W, Y = (2, 4, 7, 6), (6, 2, 3, 3), (2, 6, 4, 6)


def some(*shape: int, last: bool = False, grad: bool = True, kind: Any = None) -> Any:
    made = torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))
    made = made.to(kind or torch.float32, memory_format=torch.channels_last if last else None)
    return made.requires_grad_(grad)


FORMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "conv2d": (OPS.conv2d, (some(*X), some(*W), some(6).abs(), some(6), some(*Y), *MOVES, "relu", False)),
    "conv2d, bias": (OPS.conv2d, (some(*X), some(*W), None, some(6), None, *MOVES, "gelu", False)),
    "conv2d, channels_last": (
        OPS.conv2d,
        (some(*X, last=True), some(*W), None, None, None, *MOVES, "", False),
    ),
    "conv2d, an offset": (OPS.conv2d, (some(3, 4, 7, 6)[1:], some(*W), None, None, None, *MOVES, "", False)),
    "conv2d, no images": (OPS.conv2d, (some(0, 4, 7, 6), some(*W), None, None, None, *MOVES, "", False)),
    "backward data": (OPS.conv2d_backward_data, (some(*Y), some(*W), X, *MOVES, False)),
    "backward data, last": (OPS.conv2d_backward_data, (some(*Y, last=True), some(*W), X, *MOVES, False)),
    "backward weight": (OPS.conv2d_backward_weight, (some(*Y), some(*X), W, *MOVES, False)),
    "product": (OPS.product, (some(5, 8), some(8, 6), some(6), some(5, 6), 0.5, "silu", False)),
    "product, transposed": (OPS.product, (some(8, 5).mT, some(6, 8).mT, None, None, 1.0, "", False)),
    "product, batches": (OPS.product, (some(3, 5, 8), some(3, 8, 6), None, None, 1.0, "tanh", False)),
    "conv2d, its sums": (
        OPS.conv2d_with_sums,
        (some(*X, last=True), some(*W), some(6).abs(), some(6), some(*Y, last=True), *MOVES, "silu", False),
    ),
    "conv2d, sums of no images": (
        OPS.conv2d_with_sums,
        (some(0, 4, 7, 6), some(*W), None, None, None, *MOVES, "gelu", False),
    ),
    "product, its sums": (OPS.product_with_sums, (some(5, 8), some(8, 6), some(6), None, 0.5, "gelu", False)),
    "product, no rows": (OPS.product, (some(0, 8), some(8, 6), None, None, 1.0, "", False)),
}


@pytest.mark.parametrize("form", FORMS)
def test_opcheck(form: str) -> None:
    """Schema, fake (strides too), autograd, and AOT tracing with symbolic sizes."""
    op, given = FORMS[form]
    detached = tuple(v.detach().requires_grad_() if isinstance(v, torch.Tensor) else v for v in given)
    assert set(torch.library.opcheck(op.default, detached).values()) == {"SUCCESS"}


def close(got: Any, want: Any) -> None:
    assert got.dtype == want.dtype and got.shape == want.shape and got.stride() == want.stride()
    torch.testing.assert_close(got, want)


WAYS = ["NCHW", "channels_last images", "channels_last filters"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
def test_conv2d_is_torchs_and_lies_as_torchs(way: str, kind: str) -> None:
    of = getattr(torch, kind)
    x = some(*X, last=way == WAYS[1], grad=False, kind=of)
    w = some(6, 4, 3, 3, last=way == WAYS[2], grad=False, kind=of)
    bias = some(6, grad=False, kind=of)
    got, want = ours.conv2d(x, w, bias, (2, 1), 1), F.conv2d(x, w, bias, (2, 1), 1)
    assert got.stride() == want.stride()
    torch.testing.assert_close(got, want)


def test_channels_last_is_read_and_written_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        raise AssertionError("nothing has to be copied")

    monkeypatch.setattr(Host, "contiguous", refuse)
    monkeypatch.setattr(Host, "copied", refuse)
    x, w, residual = (some(*s, last=True) for s in (X, W, Y))
    y = ours.conv2d(x, w, some(6), (2, 1), 1, 1, 2, activation="relu", residual=residual)
    assert y.is_contiguous(memory_format=torch.channels_last)
    one = torch.ones_like(y)
    assert one.is_contiguous(memory_format=torch.channels_last)
    torch.autograd.grad(y, (x, w), one)
    ours.linear(some(2, 5, 8), some(6, 8), some(6))


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("grad", [False, True])
def test_an_activation_is_torchs(name: str, grad: bool) -> None:
    """Fused; and beside a gradient, where what needs its sums is not."""
    a, b, bias, residual = some(5, 8), some(8, 6), some(6), some(5, 6)
    with torch.set_grad_enabled(grad):
        got = ours.mm(a, b, bias=bias, activation=name, residual=residual)
        close(got, ACTIVATIONS[name].forward(a @ b + bias + residual))
    assert got.requires_grad == grad


def test_products_are_torchs() -> None:
    a, b, c = some(5, 8), some(8, 6), some(5, 6)
    close(ours.mm(a, b), torch.mm(a, b))
    close(ours.bmm(some(3, 5, 8), some(3, 8, 6)), torch.bmm(some(3, 5, 8), some(3, 8, 6)))
    for added, beta, alpha in (
        (c, 1, 1),
        (c, 0.5, 2),
        (some(6), 1, 1),
        (some(5, 1), 1, 3),
        (c * torch.nan, 0, 1),
    ):
        close(
            ours.addmm(added, a, b, beta=beta, alpha=alpha), torch.addmm(added, a, b, beta=beta, alpha=alpha)
        )
    close(ours.addmm(c, a, b, beta=10**30), torch.addmm(c, a, b, beta=1e30))
    ones = [torch.ones(4, 4, dtype=t) for t in (torch.int32, torch.int8, torch.int8)]
    assert ours.addmm(*ones, beta=3).unique().tolist() == [7]
    w, bias = some(6, 8), some(6)
    for rank in range(1, 5):
        x = some(*(2, 3, 4, 8)[-rank:])
        close(ours.linear(x, w, bias), F.linear(x, w, bias))
    assert (
        ours.mm(torch.ones(4, 8, dtype=torch.int8), torch.ones(8, 4, dtype=torch.int8)).dtype == torch.int32
    )


@pytest.mark.parametrize(
    "words",
    [
        {"padding": "same"},
        {"padding": "valid", "dilation": 2},
        {"stride": (2, 3), "padding": (1, 0)},
        {"stride": [2]},
    ],
)
def test_windows_are_torchs(words: dict[str, Any]) -> None:
    x, w = some(*X), some(6, 4, 2, 3)
    close(ours.conv2d(x, w, **words), F.conv2d(x, w, **words))
    close(ours.conv2d(x[0], w, **words), F.conv2d(x[0], w, **words))


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"stride": 2, "padding": 1, "output_padding": (1, 0)},
        {"groups": 2, "dilation": (1, 2)},
        {"stride": (1, 2), "padding": (1, 0), "dilation": (3, 5), "output_padding": (2, 4)},
    ],
)
def test_conv_transpose2d_is_torchs(words: dict[str, Any]) -> None:
    x, w, bias = some(*X), some(4, 3, 3, 2), some(3 * words.get("groups", 1))
    close(ours.conv_transpose2d(x, w, bias, **words), F.conv_transpose2d(x, w, bias, **words))
    got = ours.conv_transpose2d(x[0], w, bias, activation="gelu", **words)
    close(got, F.gelu(F.conv_transpose2d(x[0], w, bias, **words)))


MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: ours.mm(some(5, 8), some(7, 6)), "'input' and 'mat2' do not fit, of shapes (5, 8) and (7, 6)"),
    (lambda: ours.mm(some(5, 8), some(2, 8, 6)), "'mat2' should have 2 dimensions, got 3"),
    (
        lambda: ours.mm(some(5, 8), some(8, 6), activation="rleu"),
        "no activation 'rleu'; did you mean 'relu'?",
    ),
    (lambda: ours.conv2d(some(*X), some(6, 3, 3, 3)), "'weight' of shape (6, 3, 3, 3) has 3 channels"),
    (lambda: ours.conv2d(some(*X), some(*W, kind=torch.float64)), "'input' and 'weight' should have the"),
    (lambda: ours.conv2d(some(*X), some(6, 4, 2, 2), padding="full"), "'same' or 'valid', got 'full'"),
    (lambda: ours.conv2d(some(*X), some(*W), padding="same", stride=2), "needs a stride of 1, got (2, 2)"),
    (lambda: ours.conv2d(some(8), some(*W)), "'input' should have 4 dimensions, got 1"),
    (lambda: ours.conv_transpose2d(some(*X), some(4, 3, 3, 2), output_padding=1), "should be below stride"),
    (lambda: ours.mm(some(5, 8), some(8, 6), residual=some(5, 7)), "'residual' should have shape (5, 6)"),
    (lambda: ours.mm(some(5, 8), some(8, 6, kind=torch.float64)), "'mat2' should have the same dtype"),
    (lambda: ours.mm(some(5, 8), some(8, 6), batches=1), "'batches' should be 'each' or 'any', got 1"),
    (lambda: ours.mm(some(5, 8), [1.0]), "'mat2' should be a torch.Tensor, got list"),
    (lambda: ours.mm(some(5, 8), some(8, 6).to_sparse()), "'mat2' should be a dense tensor, got layout"),
    (lambda: ours.mm(some(5, 8), some(8, 6).to("meta")), "'mat2' is on meta, and 'input' on cpu"),
    (lambda: ours.mm(some(5, 8), some(8, 6), bias=1.0), "'bias' should be a torch.Tensor, got float"),
    (lambda: ours.mm(some(5, 8), some(8, 6), fallback="no"), "'fallback' should be True or False, got 'no'"),
    (lambda: ours.mm(some(5, 8), some(8, 6), activation=F.relu), "'activation' should be the name of one"),
    (lambda: ours.mm(*(torch.ones(4, 4, dtype=torch.uint8),) * 2), "'a' has dtype uint8; convert it to"),
    (lambda: ours.linear(some(5, 8), some(6, 7)), "does not end in the 7 columns of 'weight' (6, 7)"),
    (
        lambda: ours.addmm(some(5), some(5, 8), some(8, 6)),
        "'input' should broadcast to shape (5, 6), got (5,)",
    ),
    (
        lambda: ours.addmm(some(6), some(5, 8), some(8, 6), beta=10**400),
        "'beta' should be a finite number, got a number of about 401 digits",
    ),
    (
        lambda: ours.addmm(
            *(torch.ones(3, 3, dtype=t) for t in (torch.int32, torch.int8, torch.int8)), beta=0.5
        ),
        "'beta' should be integers, got (0.5,)",
    ),
    (lambda: ours.addmm(some(6), some(5, 8), some(8, 6), alpha="2"), "'alpha' should be a number, got '2'"),
    (lambda: ours.conv2d(some(*X), some(*W), stride=0), "'stride' should be at least 1, got 0"),
    (lambda: ours.conv2d(some(*X), some(*W), stride=(1, 2, 3)), "'stride' should be one integer or two"),
    (lambda: ours.conv2d(some(*X), some(*W), padding=1.5), "'padding' should be one integer or two, got 1.5"),
    (lambda: ours.conv2d(some(*X), some(*W), stride=int), "'stride' should be one integer or two"),
    (lambda: ours.conv2d(some(*X), some(*W), stride=b"x"), "'stride' should be one integer or two, got b'x'"),
    (lambda: ours.conv2d(some(*X), some(*W), stride=True), "'stride' should be one integer or two"),
    (lambda: ours.conv2d(some(*X), some(*W), dilation=1 << 70), "'dilation' is at most"),
    (lambda: ours.conv2d(some(*X), some(*W), groups=1 << 70), "'groups' is at most"),
    (lambda: ours.conv2d(some(*X), some(*W), groups=1.0), "'groups' should be integers, got (1.0,)"),
    (lambda: ours.conv_transpose2d(some(*X), some(5, 3, 3, 2)), "takes 5 channels, and 'input' has 4"),
    (lambda: ours.conv_transpose2d(some(*X), some(4, 3, 3, 2), some(4)), "'bias' should have shape (3,)"),
    (lambda: ours.conv_transpose2d(some(*X), some(4, 3, 3, 2), padding=9), "leaves nothing of a result"),
    *(
        (
            lambda name=name, value=value: ours.replace(torch.nn.Linear(3, 4), some(2, 3), **{name: value}),
            f"'{name}' should be {what}, got {value!r}",
        )
        for name, value, what in (
            ("tune", "fast", "'quick', 'normal' or 'full'"),
            ("jobs", 0, "a positive integer"),
            ("measure", "no", "True or False"),
            ("channels_last", "NHWC", "True or False"),
        )
    ),
    (lambda: ours.restore(4), "'model' should be a torch.nn.Module, got int"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_a_mistake_is_named(call: Callable[[], Any], message: str) -> None:
    """With gradients, where torch's dispatcher is next, and without, where the kernel is."""
    for is_followed in (True, False):
        with torch.set_grad_enabled(is_followed), pytest.raises((ValueError, TypeError)) as error:
            call()
        assert message in str(error.value)


def test_a_call_uses_the_threads_that_torch_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    from imbrex.function import gemm as module

    seen: list[Any] = []
    plain = module.gemm

    def watched(*given: Any, threads: int, **words: Any) -> Any:
        seen.append(threads)
        return plain(*given, threads=threads, **words)

    monkeypatch.setattr(module, "gemm", watched)
    ours.mm(some(5, 9), some(9, 7))  # of sizes that no call had before
    assert seen == [torch.get_num_threads()]


@pytest.mark.parametrize("kind", [torch.int8, torch.float8_e5m2])
def test_factors_of_a_byte_have_wider_results(kind: Any) -> None:
    """By a kernel, and by torch's own op while there is none: sums of both, which no byte holds."""
    draw = torch.Generator().manual_seed(3)
    x, w = (torch.randint(-99, 99, of, generator=draw).to(kind) for of in ((2, 8, 5, 4), (6, 8, 3, 3)))
    wide = torch.int32 if kind == torch.int8 else torch.float32
    scale, bias = torch.rand(6, generator=draw), torch.full((6,), 7, dtype=wide)
    want = F.conv2d(x.double(), w.double()) * scale.reshape(-1, 1, 1) + 7
    want = F.gelu(want).round() if kind == torch.int8 else F.gelu(want)
    moves = plain.Moves((1, 1), (0, 0, 0, 0), (1, 1), 1)
    of_both = plain.conv2d(x, w, scale, bias, None, moves, "gelu")
    for got in (of_both, ours.conv2d(x, w, bias, scale=scale, activation="gelu")):
        close(got, want.to(wide))
    a, b, more = x.reshape(16, 20), w.flatten()[:360].reshape(20, 18), 5
    sums = 3 * (a.double() @ b.double()) + more
    added = torch.full((16, 18), more, dtype=wide)
    for got in (plain.product(a, b, None, added, 3.0, ""), ours.addmm(added, a, b, alpha=3)):
        close(got, sums.to(wide))


def test_factors_of_a_byte_have_no_gradients() -> None:
    a = some(4, 8).detach().to(torch.float8_e5m2).requires_grad_()
    result = ours.mm(a, some(8, 6, grad=False).to(torch.float8_e5m2))
    with pytest.raises(TypeError, match="factors of float8_e5m2 have no gradients; detach them"):
        result.sum().backward()


def test_rows_without_elements() -> None:
    """Of no features in or out, and of no rows, in any rank."""
    for rows, given, made in ((3, 0, 5), (3, 4, 0), (0, 4, 5), (0, 0, 5)):
        x, w = torch.randn(2, rows, given), torch.randn(made, given)
        bias, residual = torch.randn(made), torch.randn(2, rows, made)
        got = ours.linear(x, w, bias, residual=residual, activation="relu")
        close(got, torch.relu(F.linear(x, w, bias) + residual))
    close(ours.linear(torch.randn(0), torch.randn(5, 0), torch.ones(5)), torch.ones(5))


def test_operations_are_counted_as_torchs() -> None:
    """Forward and backward; without numbers, so that nothing is compiled."""
    from torch.utils.flop_counter import FlopCounterMode

    def counted(call: Callable[..., Any], *shapes: tuple[int, ...]) -> int:
        given = [torch.empty(shape, device="meta", requires_grad=True) for shape in shapes]
        with FlopCounterMode(display=False) as counter:
            torch.autograd.grad(call(*given).sum(), given)
        return counter.get_total_flops()

    f = torch.nn.functional
    image, rows = ((2, 4, 9, 7), (12, 4, 3, 3)), ((5, 6, 8), (10, 8))
    words = {"stride": 2, "padding": 1}  # of groups torch counts too many on the way back
    want = counted(lambda x, w: f.conv2d(x, w, **words), *image)
    assert want == counted(lambda x, w: ours.conv2d(x, w, activation="gelu", **words), *image) > 0
    shapes = (2, 8, 5, 4), (8, 6, 2, 2)
    want = counted(lambda x, w: f.conv_transpose2d(x, w, stride=2), *shapes)
    assert want == counted(lambda x, w: ours.conv_transpose2d(x, w, stride=2), *shapes) > 0
    assert counted(f.linear, *rows) == counted(ours.linear, *rows) > 0
    assert counted(torch.bmm, (3, 4, 8), (3, 8, 6)) == counted(ours.bmm, (3, 4, 8), (3, 8, 6)) > 0
