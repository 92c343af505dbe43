"""Which kernel serves a call whose number of images, or of rows, changes: built ones first, then that of the
first number, then one for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import imbrex
from imbrex.diagnostic import Diagnostic
from imbrex.function import batches
from imbrex.function.call_target import call_target
from imbrex.kernel.make import OFFERED, NotBuilt
from imbrex.problem import Conv2d, Gemm, Problem

HERE = call_target(None, False, 2)


@dataclass(frozen=True)
class Named:
    """In place of a kernel."""

    problem: Problem
    number: int | None = None

    def at(self, number: int) -> Named:
        return Named(self.problem, number)


class Compiler:
    """In place of `compile`.  broken: open problems have no kernel."""

    def __init__(self, broken: bool = False) -> None:
        self.built: list[Problem] = []
        self.broken = broken

    def __call__(self, problem: Problem, **words: Any) -> Named:
        if problem not in self.built or OFFERED.get() == "none":
            if OFFERED.get() != "all":
                raise NotBuilt.__new__(NotBuilt)
            if self.broken and problem.run_time is not None:
                raise Diagnostic("it counts tiles")
            self.built.append(problem)
        return Named(problem)


def images(number: int, **more: Any) -> Conv2d:
    return Conv2d("forward", number, 8, 6, 6, 4, 3, 3, pad_h=(1, 1), pad_w=(1, 1), **more)


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    made = Compiler()
    monkeypatch.setattr(batches, "compile", made)
    monkeypatch.setattr(batches, "_families", {})
    monkeypatch.setattr(batches, "_warned", set())
    return made


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    texts: list[str] = []
    monkeypatch.setattr(batches.warnings, "warn", lambda text, **words: texts.append(text))
    return texts


@pytest.mark.parametrize(
    "make",
    [
        images,
        lambda number: Gemm(number, 24, 32, transpose_b=True),
        lambda number: Gemm(24, 32, number, transpose_a=True),
    ],
)
def test_the_second_number_has_a_kernel_for_all(make: Any, compiler: Compiler, told: list[str]) -> None:
    found = [batches.kernel_of(make(number), HERE, "any") for number in (4, 7, 4, 2, 7)]
    opened = batches.open_problem(make(1))
    assert found == [Named(make(4)), Named(opened, 7), Named(make(4)), Named(opened, 2), Named(opened, 7)]
    assert compiler.built == [make(4), opened] and len(told) == 1
    assert told[0].startswith(f"7 {'images' if make is images else 'rows'} after 4: one kernel of 1 to ")
    assert batches.kernel_of(make(9), HERE) == Named(make(9))  # "each", and from now on it is there
    assert batches.kernel_of(make(9), HERE, "any") == Named(make(9))


def test_examples_have_their_own(compiler: Compiler, told: list[str]) -> None:
    token = OFFERED.set("none")
    for number in (2, 5):
        with pytest.raises(NotBuilt):
            batches.kernel_of(images(number), HERE, "any")
    OFFERED.reset(token)
    assert [batches.kernel_of(images(number), HERE, "any").problem.run_time for number in (2, 5)] == [
        None
    ] * 2
    assert batches.kernel_of(images(3), HERE, "any").problem.run_time is not None
    assert told[0].startswith("3 images after 2, 5: ")


def test_what_cannot_be_open_is_told_once(compiler: Compiler, told: list[str]) -> None:
    compiler.broken = True
    for number in (1, 2, 3):
        assert batches.kernel_of(images(number), HERE, "any") == Named(images(number))
    assert len(told) == 2 and "it counts tiles; each number has a kernel of its own, here and" in told[1]
    assert len(compiler.built) == 3


@pytest.mark.parametrize(
    "problem",
    [
        images(2000),
        images(3, input_layout=("c", "n", "hi", "wi")),
        Gemm(4, 5, 6, transpose_a=True, transpose_b=True),
        Gemm(4, 5, 1 << 17, transpose_a=True),
        Gemm(4, 5, 6, batch=2),
        Gemm(1 << 17, 5, 6),
    ],
)
def test_each_number_where_no_address_may_depend_on_it(problem: Problem, compiler: Compiler) -> None:
    assert batches.open_problem(problem) is None
    assert batches.kernel_of(problem, HERE, "any") == Named(problem)


def test_words() -> None:
    import numpy as np

    ones = np.ones((2, 2), np.float32)
    with pytest.raises(ValueError, match="'batches' should be 'each' or 'any', got 'all'"):
        imbrex.gemm(ones, ones, batches="all")  # type: ignore[arg-type]


def test_gradients_by_images_have_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Problem] = []
    real = batches.compile

    def compiled(of: Problem, **words: Any) -> Any:
        made = real(of, **words)
        seen.append(of)
        return made

    monkeypatch.setattr(batches, "compile", compiled)
    monkeypatch.setattr(batches, "_families", {})
    monkeypatch.setattr(batches, "_warned", set())
    w = np.random.default_rng(1).integers(-3, 4, (5, 4, 3, 3)).astype(np.float32)
    with pytest.warns(UserWarning, match="one kernel of 1 to 1024 images"):
        for n in (3, 1, 2):
            dy = np.random.default_rng(n).integers(-3, 4, (n, 5, 4, 6)).astype(np.float32)
            found = imbrex.conv2d_backward_data(dy, w, (n, 4, 6, 8), batches="any")
            wide = np.pad(dy, ((0, 0), (0, 0), (2, 2), (2, 2)))
            views = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (2, 3))
            assert np.array_equal(found, np.einsum("nkhwyx,kcyx->nchw", views, w[..., ::-1, ::-1]))
    assert [of.run_time is not None for of in dict.fromkeys(seen)] == [False, True]
    weights = Conv2d("backward_weight", 2, 8, 6, 6, 4, 3, 3)
    assert (opened := batches.open_problem(weights)) is not None and opened.run_time is not None
    assert opened.run_time.is_summed and opened.at(2) == weights
    assert batches.open_problem(Conv2d("backward_data", 2, 4, 7, 7, 4, 3, 3, stride=2)) is not None
