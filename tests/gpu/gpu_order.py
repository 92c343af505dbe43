"""Calls that overlap, in a stream and in a graph: a launch reads what the ones ahead of it have written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from gpu_case import TARGET

from imbrex.kernel import Kernel, compile
from imbrex.problem import Conv2d, Gemm
from imbrex.verify.device.check import drawn
from imbrex.verify.device.reference import true_result

Told = str | None
TURNS = 12
LINKS = 24
CYCLES = 2_000_000
"""Of a GPU that sleeps, while all that follows is queued."""


def _repeated(record: Callable[[], Any], wanted: Any, arrays: tuple[Any, ...], what: str) -> Told:
    """`record` queues calls and returns their result: time after time in a stream, then in a graph."""
    for turn in range(TURNS):
        torch.cuda._sleep(CYCLES)
        if not torch.equal(record().double(), wanted):
            return f"{what} in a stream, the {turn}th time"
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = record()
    for turn in range(TURNS):
        for array in (*arrays, result):
            array.fill_(float("nan"))
        graph.replay()
        if not torch.equal(result.double(), wanted):
            return f"{what} in a graph, the {turn}th time"
    return None


def _permutation(size: int) -> Any:
    return torch.eye(size, dtype=torch.float16, device="cuda")[torch.randperm(size, device="cuda")]


def _grown(epilogue: str, beside: Callable[[Any], Any]) -> Told:
    """y = a b^T + what `beside` finds in x, then the two change places: the launch ahead has written what is
    read, and the one behind writes it again.
    """
    size = 256
    kernel = compile(Gemm(size, size, size, transpose_b=True, dtype="f16", epilogue=epilogue), TARGET)
    if not all(step.is_early for step in kernel.loaded.steps):
        return f"{epilogue} does not begin early"
    a, b = _permutation(size), _permutation(size)
    first = torch.randint(0, 16, (size, size), device="cuda").half()
    wanted, product = first.double(), a.double() @ b.double().mT
    for _ in range(LINKS):
        wanted = product + beside(wanted)
    x, y = torch.empty_like(a), torch.empty_like(a)

    def record() -> Any:
        x.copy_(first)
        now, after = x, y
        for _ in range(LINKS):
            kernel(a, b, after, beside(now))
            now, after = after, now
        return now.clone()

    return _repeated(record, wanted, (x, y), epilogue)


def chains_with_bias() -> Told:
    """A bias that is a row of the result ahead, the same for all rows and, turned, for all columns."""
    return _grown("x + bias", lambda x: x[0])


def chains_with_residual() -> Told:
    return _grown("x + residual", lambda x: x)


NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
STRIDED = Conv2d(
    "backward_data", 16, 64, 28, 28, 64, 3, 3, pad_h=1, pad_w=1, stride=2, dtype="f16", **NHWC
)  # fmt: skip
"""Four launches, each with its part of the result."""


def _siblings(problem: Conv2d, algorithm: str, reads: Kernel | None) -> Told:
    """Gradients of several outputs, each in the place of the one before as soon as it has been read.

    reads: a product that reads each result by itself.
    """
    kernel = compile(problem, TARGET, algorithm=algorithm)
    text = "".join(kernel.bundle.files.values())
    if not all(f"imbrex::launch_order::{one}>" in text for one in ("eldest", "sibling")):
        return "its launches are no siblings"
    drawings = [drawn(problem, seed, "integer", "cuda") for seed in range(4)]
    t, turned = drawings[0], _permutation(problem.c)
    outputs = [one["output"] for one in drawings]
    exact = [true_result(problem, t | {"output": one}).want for one in outputs]
    wanted = torch.stack([x @ turned.double().mT if reads else x for x in exact])
    output, result = torch.empty_like(t["output"]), torch.empty_like(t["input"])
    second = torch.empty_like(result)

    def record() -> Any:
        found: list[Any] = []
        for one in outputs:
            output.copy_(one)
            kernel(t["filter"], result, output)
            output.fill_(float("nan"))
            if reads is not None:
                reads(result.view(-1, problem.c), turned, second.view(-1, problem.c))
            found.append((result if reads is None else second).clone())
            result.fill_(float("nan"))
        return torch.stack(found)

    return _repeated(record, wanted, (output, result, second), "siblings")


def siblings() -> Told:
    """What follows the youngest sees what all have written, and may write what all have read."""
    pixels, c = STRIDED.n * STRIDED.h * STRIDED.w, STRIDED.c
    product = compile(Gemm(pixels, c, c, transpose_b=True, dtype="f16"), TARGET)
    told = _siblings(STRIDED, "v4r1", None)
    return told or _siblings(STRIDED, "v4r1", product)
