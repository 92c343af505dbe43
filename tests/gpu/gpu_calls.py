"""Ways to call a kernel on a GPU, each a function that returns None, or what went wrong."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gpu_order
import gpu_sizes
import gpu_torch
import numpy as np
import torch
from gpu_case import TARGET
from gpu_check import launched

from imbrex import gemm
from imbrex.kernel import Kernel, compile
from imbrex.problem import Gemm
from imbrex.verify.device.check import compared, drawn, poison_tensor
from imbrex.verify.device.reference import true_result

PLAIN = Gemm(264, 392, 328, transpose_b=True, dtype="f16")
SHARED = Gemm(256, 256, 8192, transpose_b=True, dtype="f16")
SHARED_SCHEDULE = "stream_k"
"""Workgroups wait for each other's sums, in memory beside the arrays."""

Told = str | None


def perform(name: str) -> Told:
    """The function of that name."""
    others = vars(gpu_order) | vars(gpu_sizes) | vars(gpu_torch)
    function: Callable[[], Told] = globals().get(name) or others[name]
    return function()


def _drawn(problem: Gemm, seed: int) -> dict[str, Any]:
    return drawn(problem, seed, "integer", "cuda")


def _right(problem: Gemm, tensors: dict[str, Any], got: Any, what: str) -> Told:
    outcome = compared(problem, tensors, got)
    return None if outcome.is_right else f"{what}: {outcome}"


def _called(kernel: Kernel, t: dict[str, Any]) -> Any:
    return kernel(t["a"], t["b"], t["c"])


def new_results() -> Told:
    """Without a result given, a new tensor comes back."""
    t = _drawn(PLAIN, 1)
    got = compile(PLAIN, TARGET)(t["a"], t["b"])
    return _right(PLAIN, t, got, "a new tensor") if got.is_cuda else "the result is not on the GPU"


def graphs() -> Told:
    """Recorded once, replayed on new data; with and without a workspace."""
    for problem, schedule in ((PLAIN, None), (SHARED, SHARED_SCHEDULE)):
        kernel, t = compile(problem, TARGET, schedule=schedule), _drawn(problem, 1)
        _called(kernel, t)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            _called(kernel, t)
            _called(kernel, t)
        for seed in (2, 3):
            fresh = _drawn(problem, seed)
            for role in "abc":
                t[role].copy_(fresh[role])
            graph.replay()
            torch.cuda.synchronize()
            told = _right(problem, fresh, t["c"], f"a graph on {schedule}")
            if told:
                return told
    return None


def streams() -> Told:
    """Two streams at a time, each with its own workspace."""
    kernel = compile(SHARED, TARGET, schedule=SHARED_SCHEDULE)
    sides = [(torch.cuda.Stream(), _drawn(SHARED, seed)) for seed in (1, 2)]
    torch.cuda.synchronize()
    for _ in range(20):
        for stream, t in sides:
            with torch.cuda.stream(stream):
                _called(kernel, t)
    torch.cuda.synchronize()
    return next((told for _, t in sides if (told := _right(SHARED, t, t["c"], "a stream"))), None)


def given_stream() -> Told:
    """`stream=`: what was queued there before is seen."""
    kernel, t, stream = compile(PLAIN, TARGET), _drawn(PLAIN, 1), torch.cuda.Stream()
    late = torch.empty_like(t["a"])
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        late.copy_(t["a"])
    kernel(late, t["b"], t["c"], stream=stream)
    stream.synchronize()
    return _right(PLAIN, t, t["c"], "the given stream")


def alternating() -> Told:
    """Two kernels in turn, different data each time."""
    pairs = [(PLAIN, compile(PLAIN, TARGET)), (SHARED, compile(SHARED, TARGET, schedule=SHARED_SCHEDULE))]
    for seed in range(6):
        for problem, kernel in pairs:
            t = _drawn(problem, seed)
            _called(kernel, t)
            told = _right(problem, t, t["c"], f"call {seed}")
            if told:
                return told
    return None


SQUARE = Gemm(256, 256, 256, transpose_b=True, dtype="f16")
"""Short, so that it begins before what is ahead of it has ended."""
LINKS = 24


def _chain(kernel: Kernel, x: Any, b: Any, y: Any, side: Any) -> Any:
    """x b^T b^T .., each product of what the one ahead of it has written, into what it has read; copies,
    clears and another stream between them.
    """
    for link in range(LINKS):
        main = torch.cuda.current_stream()
        if link % 6 == 5:
            side.wait_stream(main)
            kernel(x, b, y, stream=side)
            main.wait_stream(side)
        else:
            kernel(x, b, y)
        if link % 4 == 1:
            x.zero_()
        if link % 4 == 2:
            x.copy_(y)
        else:
            x, y = y, x
    return x


def chains() -> Told:
    """Products that begin early still see all that was ahead of them, in a stream and in a graph."""
    kernel, side = compile(SQUARE, TARGET), torch.cuda.Stream()
    if not all(step.is_early for step in kernel.loaded.steps):
        return "the product does not begin early"
    one = torch.eye(SQUARE.n, dtype=torch.float16, device="cuda")
    b, first = one[torch.randperm(SQUARE.n, device="cuda")], one[torch.randperm(SQUARE.n, device="cuda")]
    wanted = first.double() @ torch.linalg.matrix_power(b.double().mT, LINKS)
    x, y = first.clone(), torch.empty_like(first)
    for turn in range(20):
        x.copy_(first)
        torch.cuda._sleep(2_000_000)  # all is queued before it begins
        if not torch.equal(_chain(kernel, x, b, y, side).double(), wanted):
            return f"a chain in a stream, the {turn}th time"
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.copy_(first)
        result = _chain(kernel, x, b, y, side)
    for turn in range(20):
        for array in (x, y):
            array.fill_(float("nan"))
        graph.replay()
        if not torch.equal(result.double(), wanted):
            return f"a chain in a graph, the {turn}th time"
    return None


def host_arrays() -> Told:
    outcome = compile(PLAIN, TARGET).check()
    return None if outcome.is_right else str(outcome)


def cupy_arrays() -> Told:
    if importlib.util.find_spec("cupy") is None:
        return None
    import cupy

    t = _drawn(PLAIN, 1)
    compile(PLAIN, TARGET)(*(cupy.from_dlpack(t[role]) for role in "abc"))
    cupy.cuda.Device().synchronize()
    return _right(PLAIN, t, t["c"], "CuPy")


def _refused(call: Callable[[], object], kinds: tuple[type[Exception], ...], *words: str) -> Told:
    try:
        call()
    except kinds as error:
        missing = [word for word in words if word not in str(error)]
        return f"the message lacks {missing}: {error}" if missing else None
    return "it was accepted"


def unaligned() -> Told:
    kernel, t = compile(PLAIN, TARGET), _drawn(PLAIN, 1)
    longer = torch.empty(t["a"].numel() + 8, dtype=t["a"].dtype, device="cuda")
    shifted = longer[1 : 1 + t["a"].numel()].view(t["a"].shape)
    return _refused(lambda: kernel(shifted, t["b"], t["c"]), (ValueError,), "'a'", "16")


def with_gaps() -> Told:
    kernel, t = compile(PLAIN, TARGET), _drawn(PLAIN, 1)
    wide = torch.empty((PLAIN.m, 2 * PLAIN.k), dtype=t["a"].dtype, device="cuda")[:, : PLAIN.k]
    return _refused(lambda: kernel(wide, t["b"], t["c"]), (ValueError,), "'a'", "contiguous")


STRIDED = Gemm(264, 392, 328, transpose_b=True, dtype="f16", lda=656, ldb=336, ldc=784)


def views() -> Told:
    """By a kernel of their strides, and by `imbrex.gemm`, in place: nothing beside them changes."""
    wide = {role: torch.full((512, 784), float("nan"), dtype=torch.float16, device="cuda") for role in "abc"}
    t = _drawn(PLAIN, 1)
    a = torch.as_strided(wide["a"], (264, 328), (656, 1), 328)
    b = torch.as_strided(wide["b"], (392, 328), (336, 1), 0)
    c = wide["c"][:264, 392:]
    for view, role in ((a, "a"), (b, "b")):
        view.copy_(t[role])
    for call in (lambda: compile(STRIDED, TARGET)(a, b, c), lambda: gemm(a, b.mT, out=c)):
        for _ in range(2):
            c.fill_(float("nan"))
            call()
            told = _right(PLAIN, t, c.clone(), "a view")
            if told or not bool(wide["c"][:264, :392].isnan().all() and wide["c"][264:].isnan().all()):
                return told or "something beside the view was written"
    return None


def other_strides() -> Told:
    kernel, t = compile(STRIDED, TARGET), _drawn(PLAIN, 1)
    return _refused(lambda: kernel(t["a"], t["b"], t["c"]), (ValueError,), "'a'", "(656, 1)", "(328, 1)")


def another_type() -> Told:
    kernel, t = compile(PLAIN, TARGET), _drawn(PLAIN, 1)
    return _refused(lambda: kernel(t["a"].bfloat16(), t["b"], t["c"]), (TypeError,), "'a'", "float16")


def host_and_gpu() -> Told:
    """An array of the host among those of the GPU is copied there; the result is right, or it is refused."""
    kernel, t = compile(PLAIN, TARGET), _drawn(PLAIN, 1)
    try:
        kernel(np.asarray(t["a"].cpu()), t["b"], t["c"])
    except (TypeError, ValueError):
        return None
    torch.cuda.synchronize()
    return _right(PLAIN, t, t["c"], "one array of the host")


@dataclass(frozen=True)
class Slip:
    """In a kernel's place: right, but for what `slips` does to its arrays afterwards."""

    problem: Gemm
    slips: Callable[[Any, Any], object]

    def __call__(self, a: Any, b: Any, c: Any) -> None:
        c.copy_(true_result(self.problem, {"a": a, "b": b}).want)
        self.slips(a, c)


def _byte(tensor: Any, offset: int) -> Any:
    """The byte so many after the first of the tensor; the tensor lies inside of a larger memory."""
    whole = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
    return whole[tensor.storage_offset() * tensor.element_size() + offset]


SLIPS: dict[str, Callable[[Any, Any], object]] = {
    "a wrong element": lambda a, c: c.view(-1)[5].add_(1),
    "an element that is not written": lambda a, c: poison_tensor(c[-1, -1:]),
    "a byte after the result": lambda a, c: _byte(c, c.numel() * 2).fill_(0),
    "a byte before the result": lambda a, c: _byte(c, -1).fill_(0),
    "a byte after an operand": lambda a, c: _byte(a, a.numel() * 2 + 100).fill_(0),
    "an operand": lambda a, c: a[0, 0].add_(1),
    "a last bit now and then": lambda a, c: c.view(torch.int16)[3, 3].add_(int(time.time_ns() // 1000 % 2)),
}


def controls() -> Told:
    """Every slip is seen by `gpu_check`, and without one nothing is."""
    fine = Slip(PLAIN, lambda a, c: None)
    if told := launched(fine, PLAIN, 0, "integer"):
        return f"a right kernel was refused: {told}"
    for name, slips in SLIPS.items():
        slip = Slip(PLAIN, slips)
        if not any(launched(slip, PLAIN, seed, "float") for seed in range(8)):
            return f"{name} was not seen"
    return None
