"""Functions of tensors on a GPU, what a kernel keeps between calls, and what a call costs the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import imbrex
from imbrex.diagnostic import Diagnostic
from imbrex.problem import Gemm
from imbrex.run.cuda.driver import require_gpu
from imbrex.run.device import DeviceArray

pytestmark = pytest.mark.gpu

SMALL = Gemm(256, 256, 256, dtype="f16")


@pytest.fixture(scope="module", autouse=True)
def gpu() -> Iterator[Any]:
    try:
        yield require_gpu("sm_90a")
    except Diagnostic as missing:
        pytest.skip(missing.message)


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture
def tensors(torch: Any) -> tuple[Any, Any, Any]:
    torch.manual_seed(1)
    a, b = (torch.randint(-4, 5, (256, 256), device="cuda").half() for _ in range(2))
    return a, b, (a.double() @ b.double()).half()


def test_tensors_are_multiplied_in_the_current_stream(torch: Any, tensors: tuple[Any, Any, Any]) -> None:
    a, b, want = tensors
    torch.cuda.synchronize()
    for stream in (torch.cuda.current_stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            result = imbrex.gemm(a, b)
        stream.synchronize()
        assert torch.equal(result, want)


def test_a_transposed_operand_and_a_new_address(torch: Any, tensors: tuple[Any, Any, Any]) -> None:
    a, b, want = tensors
    for _ in range(3):
        assert torch.equal(imbrex.gemm(a.t().contiguous().t(), b.clone()), want)


def test_a_graph_is_captured_and_replayed(torch: Any, tensors: tuple[Any, Any, Any]) -> None:
    """The first call of a kernel may be the captured one."""
    a, b, want = tensors
    kernel = imbrex.compile(SMALL, "sm_90a", name="captured")
    out, graph = torch.zeros_like(a), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        kernel(a, b, out)
    assert not out.any()
    for factor in (1, 2):
        a.mul_(factor)
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(out, factor * want)


def test_a_split_sum_leaves_its_workspace_clean(torch: Any) -> None:
    """Its flags are cleared once, before the first launch."""
    problem = Gemm(128, 128, 4096, dtype="f32")
    kernel = imbrex.compile(problem, "sm_90a", schedule="split_k:4")
    a = torch.randint(-4, 5, (128, 4096), device="cuda").float()
    b = torch.randint(-4, 5, (4096, 128), device="cuda").float()
    want = (a.double() @ b.double()).float()
    for _ in range(5):
        assert torch.equal(kernel(a, b), want)


def test_arrays_of_nobody_are_found_by_the_driver(torch: Any, tensors: tuple[Any, Any, Any]) -> None:
    a, b, want = tensors
    out = torch.zeros_like(want)
    kernel = imbrex.compile(SMALL, "sm_90a")
    shown = [DeviceArray(t.data_ptr(), tuple(t.shape), None, "float16", None, owner=t) for t in (a, b, out)]
    kernel.loaded(*shown)  # type: ignore[arg-type]
    torch.cuda.synchronize()
    assert torch.equal(out, want)
