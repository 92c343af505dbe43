"""Models of PyTorch, and the problems that they compute."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from imbrex.capture.aten import captured, function_of  # noqa: E402
from imbrex.diagnostic import Diagnostic  # noqa: E402
from imbrex.problem import parse_problem, problem_text  # noqa: E402

MODEL = """
import torch
from torch import nn
from torch._higher_order_ops import while_loop
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 8, 3, padding=1, stride=2, groups=2, bias=False)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.last = nn.Linear(4, 6)

    def forward(self, x):
        y = self.up(self.second(self.first(x).relu()))
        return self.last(y.mean((2, 3)))


def net():
    return Net(), torch.zeros(2, 3, 8, 8)


def meta():
    with torch.device("meta"):
        return Net(), (torch.zeros(2, 3, 8, 8),)


def named():
    class Named(Net):
        def forward(self, *, images):
            return super().forward(images)

    return Named(), {"images": torch.zeros(2, 3, 8, 8)}


def itself():
    with torch.inference_mode():
        for _ in range(2):
            Net()(torch.zeros(2, 3, 8, 8))


def last():
    return nn.Conv2d(4, 8, 3).to(memory_format=torch.channels_last), torch.zeros(2, 4, 8, 8)


def other():
    F.conv1d(torch.zeros(1, 2, 9), torch.zeros(4, 2, 3))
    F.conv3d(torch.zeros(1, 1, 4, 4, 4), torch.zeros(1, 1, 3, 3, 3))
    torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 5, 4).mT)
    torch.addmm(torch.zeros(3, 5), torch.zeros(3, 4), torch.zeros(4, 5), alpha=0.5)
    torch.mv(torch.zeros(3, 4), torch.zeros(4))
    F.scaled_dot_product_attention(*(torch.zeros(1, 1, 8, 8) for _ in "qkv"))


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.last, self.other = nn.Linear(4, 6), nn.Linear(4, 6)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.last(x), lambda x: self.other(x).relu(), (x,))


def branch():
    return Branch(), torch.ones(2, 4)


def loop():
    w = torch.ones(4, 4)
    while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x @ w), (torch.tensor(0), torch.ones(2, 4)))


def broken():
    raise ValueError("no such thing")


def inplace():
    c, a, b = torch.zeros(2, 3, 5), torch.ones(2, 3, 4), torch.ones(2, 4, 5)
    c.baddbmm_(a, b, beta=0.5)
    c[0].addmm_(a[0], b[0])
    torch._addmm_activation(torch.zeros(5), a[0], b[0])
    torch.mm(a[0], b[0], out=c[0])


@torch.library.custom_op("of_a_library::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x + x


def unknown():
    import imbrex.torch

    nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(5, 3))
    torch.addbmm(torch.zeros(3, 5), torch.ones(2, 3, 4), torch.ones(2, 4, 5))
    torch.ops.of_a_library.twice(torch.ones(2))
    imbrex.torch.mm(torch.ones(2, 3), torch.ones(3, 4))
    F.interpolate(torch.ones(1, 1, 2, 2), scale_factor=2, mode="bilinear")


def alone():
    return layer


def turned():
    return torch.ones(2, 4), layer


def three():
    return layer, torch.ones(2, 4), 1


layer = nn.Linear(4, 4)
several = 3
"""
FIRST = "conv -n 2 -c 3 -H 8 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1"
SECOND = "conv -n 2 -c 8 -H 8 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -g 2"
UP = "conv -n 2 -c 4 -H 8 -W 8 -k 8 -y 2 -x 2 -u 2 -v 2"
LAST = "gemm -m 2 -n 6 -k 4 -transB 1"
BIAS = ' --epilogue "x + bias"'
NET = [f"{FIRST} -F 1{BIAS}", f"{SECOND} -F 1", f"{UP} -F 2", LAST + BIAS]
BACK = [f"{FIRST} -F 4", f"{SECOND} -F 2", f"{SECOND} -F 4", f"{UP} -F 1", f"{UP} -F 4"]
BACK += ["gemm -m 2 -n 4 -k 6", "gemm -m 6 -n 4 -k 2 -transA 1"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def lines(texts: list[str]) -> set[str]:
    return {problem_text(problem) for text in texts for problem in parse_problem(text)}


@pytest.mark.parametrize(
    ("name", "is_training", "want", "count"),
    [
        ("net", False, NET, 1),
        ("meta", False, NET, 1),
        ("named", False, NET, 1),
        ("itself", False, NET, 2),
        ("net", True, NET + BACK, 1),
        ("branch", False, [LAST + BIAS], 1),
        ("loop", False, ["gemm -m 2 -n 4 -k 4"], 3),
    ],
)
def test_a_model_forward_and_backward(
    model: Path, name: str, is_training: bool, want: list[str], count: int
) -> None:
    tally = captured(function_of(model, name), name, is_training)
    assert {problem_text(problem) for problem in tally.problems} == lines(want)
    assert (set(tally.problems.values()), tally.left) == ({count}, {})


def test_channels_last(model: Path) -> None:
    tally = captured(function_of(model, "last"), "last", False)
    (problem,) = tally.problems
    assert problem_text(problem).partition("-f ")[2].startswith("NHWC -I NCHW -O NHWC")


def test_what_no_problem_states_is_listed(model: Path) -> None:
    tally = captured(function_of(model, "other"), "other", False)
    assert {problem_text(problem) for problem in tally.problems} == lines(
        [
            "conv -n 1 -c 2 -H 1 -W 9 -k 4 -y 1 -x 3 -F 1", "gemm -m 3 -n 5 -k 4 -transB 1 -g 2",
            "gemm -m 3 -n 5 -k 4 -alpha 0.5 --epilogue 'x + residual'", "gemm -m 3 -n 1 -k 4",
        ]
    )  # fmt: skip
    three, attention = tally.left_lines
    assert "this has 3" in three and "scaled_dot_product" in attention


def test_products_in_place_and_with_a_factor_of_what_is_added(model: Path) -> None:
    tally = captured(function_of(model, "inplace"), "inplace", False)
    plain = "gemm -m 3 -n 5 -k 4"
    added = [f"{plain} --epilogue 'x + {word}'" for word in ("residual", "bias")]
    batch = f"{plain} -g 2 --epilogue 'x + residual * 0.5'"
    assert {problem_text(problem) for problem in tally.problems} == lines([plain, *added, batch])
    assert not tally.left


def test_no_op_that_may_multiply_is_passed_by(model: Path) -> None:
    tally = captured(function_of(model, "unknown"), "unknown", False)
    assert not tally.problems
    reasons = [line.partition(": ") for line in tally.left_lines]
    assert {name: reason for name, _, reason in reasons} == {
        "1 aten._trilinear": "no problem states it",
        "1 aten.addbmm": "no problem states it",
        "1 of_a_library.twice": "ops of 'of_a_library' are not known",
        "1 imbrex.product": "a kernel of Imbrex; capture a model before 'replace', or after 'restore'",
    }
    assert any("upsample_bilinear2d" in name for name in tally.others)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("layer", "'layer' is a model, and what it is called with is not known"),
        ("alone", "'alone' gives a model, and not what it is called with"),
        ("turned", "'turned' gives a model, and not what it is called with"),
        ("three", "'three' gives a model, and not what it is called with"),
        ("missing", "has no function 'missing'"),
        ("several", "has no function 'several'"),
        ("broken", "'broken' ended in ValueError: no such thing"),
    ],
)
def test_what_is_no_function(model: Path, name: str, told: str) -> None:
    with pytest.raises(Diagnostic, match=told):
        captured(function_of(model, name), name, False)
