"""Launches through cuda-bindings, whose driver is played here: what is called, in which order, with what, and
what the user hears when it fails.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.unit.run.fake_cuda import FakeCuda
from tests.unit.run.fake_torch import Tensor, aligned

from imbrex.diagnostic import Diagnostic
from imbrex.run.cpu import Parameter
from imbrex.run.cuda.kernel import CudaKernel, _Known
from imbrex.run.cuda.time import measure_on_gpu
from imbrex.run.device import DeviceArray
from imbrex.run.launch import Launch, Zero

F32 = np.dtype(np.float32)
SHAPE = (4, 8)
ONE = (Launch("k_1", 3, 64, (0, 1)),)


@pytest.fixture
def kernel(tmp_path: Path) -> CudaKernel:
    """c = a + a, in two launches on a cleared c."""
    (tmp_path / "k.cubin").write_bytes(b"code")
    parameters = (Parameter("a", SHAPE, F32), Parameter("c", SHAPE, F32, is_written=True))
    steps = (Zero(1), Launch("k_1", 3, 64, (0, 1)), Launch("k_2", 8, 384, (0, 1), 200_000, 2))
    return CudaKernel(tmp_path / "k.cubin", "k", "sm_90a", parameters, steps)


@pytest.fixture
def single(kernel: CudaKernel) -> CudaKernel:
    """c += a, in one launch."""
    return replace(kernel, steps=ONE)


def arrays() -> tuple[Any, Any]:
    return aligned(np.arange(32, dtype=F32).reshape(SHAPE)), aligned(np.full(SHAPE, np.nan, F32))


def there(array: np.ndarray[Any, Any], device: int | None = 0) -> DeviceArray:
    """As if it lay on a GPU."""
    return DeviceArray(array.ctypes.data, array.shape, None, array.dtype.name, device, owner=array)


def test_arrays_of_the_host_go_there_and_come_back(kernel: CudaKernel, cuda: FakeCuda) -> None:
    a, c = arrays()
    kernel(a, c)
    np.testing.assert_array_equal(c, 2 * a)
    copies = ["cuMemAlloc", "cuMemcpyHtoD"] * 2
    loaded = ["cuModuleLoadData", "cuModuleGetFunction", "cuModuleGetFunction", "cuFuncSetAttribute"]
    launches = ["cuMemsetD8Async", "cuLaunchKernelEx", "cuLaunchKernelEx"]
    ended = ["cuStreamSynchronize", "cuMemcpyDtoH", "cuMemFree", "cuMemFree"]
    assert cuda.names == [*copies, *loaded, *launches, *ended]
    assert not cuda.memory, "all memory is given back"


def test_launches_have_their_geometry_and_the_stream(kernel: CudaKernel, cuda: FakeCuda) -> None:
    kernel(*map(there, arrays()), stream=77)
    first, second = cuda.launched
    assert (first.kernel, first.grid, first.block) == ("k_1", (3, 1, 1), (64, 1, 1))
    assert (first.shared_bytes, first.cluster, first.stream) == (0, [], 77)
    assert (second.kernel, second.grid, second.block) == ("k_2", (8, 1, 1), (384, 1, 1))
    assert (second.shared_bytes, second.cluster, second.stream) == (200_000, [2], 77)
    (set_,) = (call for call in cuda.calls if call[0] == "cuFuncSetAttribute")
    assert set_[1] == "k_2" and "MAX_DYNAMIC_SHARED" in set_[2].name and set_[3] == 200_000


def test_a_launch_that_waits_by_itself_may_begin_early(kernel: CudaKernel, cuda: FakeCuda) -> None:
    steps = tuple(
        replace(s, is_early=s.kernel == "k_2") if isinstance(s, Launch) else s for s in kernel.steps
    )
    replace(kernel, steps=steps)(*map(there, arrays()))
    first, second = cuda.launched
    assert (first.is_early, second.is_early, second.cluster) == (False, True, [2])


def test_an_older_driver_launches_one_after_the_other(kernel: CudaKernel, cuda: FakeCuda) -> None:
    cuda.version = 12020
    steps = tuple(replace(s, is_early=True) if isinstance(s, Launch) else s for s in kernel.steps)
    replace(kernel, steps=steps)(*map(there, arrays()))
    assert [launch.is_early for launch in cuda.launched] == [False, False]


def test_large_clusters_are_asked_for(kernel: CudaKernel, cuda: FakeCuda) -> None:
    replace(kernel, steps=(Launch("k_1", 16, 64, (0, 1), 0, 16),))(*map(there, arrays()))
    (set_,) = (call for call in cuda.calls if call[0] == "cuFuncSetAttribute")
    assert "NON_PORTABLE_CLUSTER" in set_[2].name


def test_arrays_of_a_gpu_are_used_in_place_and_not_waited_for(kernel: CudaKernel, cuda: FakeCuda) -> None:
    a, c = arrays()
    kernel(there(a), there(c))
    np.testing.assert_array_equal(c, 2 * a)
    assert {"cuMemAlloc", "cuMemcpyHtoD", "cuStreamSynchronize"}.isdisjoint(cuda.names)


def test_a_call_on_arrays_seen_before_only_launches(kernel: CudaKernel, cuda: FakeCuda) -> None:
    a, c = arrays()
    for _ in range(2):
        cuda.calls.clear()
        kernel(there(a), there(c))
    assert cuda.names == ["cuMemsetD8Async", "cuLaunchKernelEx", "cuLaunchKernelEx"]


def test_arrays_at_other_addresses_are_not_mistaken(single: CudaKernel, cuda: FakeCuda) -> None:
    (a, c), (b, d) = arrays(), arrays()
    for source, dest in ((a, c), (b, d), (a, c), (b, d)):
        single(there(source), there(dest))
    wanted = [(a, c), (b, d)] * 2
    assert [x.addresses for x in cuda.launched] == [tuple(v.ctypes.data for v in pair) for pair in wanted]


def test_a_call_happens_on_the_gpu_of_its_arrays(single: CudaKernel, cuda: FakeCuda) -> None:
    cuda.devices = 3
    a, c = arrays()
    single(there(a, 2), there(c, 2))
    assert ("cuCtxPushCurrent", 102) in cuda.calls and cuda.contexts == [100]
    with pytest.raises(ValueError, match=r"several GPUs, and a call runs on one: 'a' on GPU 0, 'c' on GPU 1"):
        single(there(a, 0), there(c, 1))


def test_the_driver_says_where_an_array_of_nobody_lies(single: CudaKernel, cuda: FakeCuda) -> None:
    a, c = arrays()
    single(there(a, None), there(c, None))
    assert sum(name == "cuPointerGetAttribute" for name, *_ in cuda.calls) == 2
    cuda.failing["cuPointerGetAttribute"] = 1
    with pytest.raises(
        ValueError, match=r"'a' points to 0x\w+, which is no memory of a GPU: CUDA_ERROR_INVALID"
    ):
        single(there(a, None), there(c, None))


def test_a_resident_call_is_repeated_without_copies(kernel: CudaKernel, cuda: FakeCuda) -> None:
    a, c = arrays()
    with kernel.resident(a, c) as call:
        before = len(cuda.calls)
        call()
        call()
        again = [name for name, *_ in cuda.calls[before:]]
    one = ["cuMemsetD8Async", "cuLaunchKernelEx", "cuLaunchKernelEx", "cuStreamSynchronize"]
    assert again == one * 2
    np.testing.assert_array_equal(c, 2 * a)


def test_launches_are_in_the_callers_stream(kernel: CudaKernel, cuda: FakeCuda) -> None:
    kernel(*arrays(), stream=SimpleNamespace(cuda_stream=6))
    assert {launch.stream for launch in cuda.launched} == {6}


class TestWorkspace:
    @pytest.fixture
    def scratch(self, kernel: CudaKernel) -> CudaKernel:
        """c = c + flags + a by way of two arrays of the GPU's own."""
        steps = (Launch("k_1", 1, 64, (3, 1)), Launch("k_2", 1, 64, (0, 1)))
        mine = (Parameter("packed", SHAPE, F32, True), Parameter("flags", SHAPE, F32, True, is_zeroed=True))
        return replace(kernel, steps=steps, workspace=mine)

    def test_it_is_made_and_cleared_once(self, scratch: CudaKernel, cuda: FakeCuda) -> None:
        a, c = arrays()
        c[...] = 0
        assert scratch.workspace_bytes == 256
        for _ in range(3):
            scratch(there(a), there(c))
        np.testing.assert_array_equal(c, 3 * a)
        assert (cuda.names.count("cuMemAlloc"), cuda.names.count("cuMemsetD8Async")) == (2, 1)
        (cleared,) = (call for call in cuda.calls if call[0] == "cuMemsetD8Async")
        assert cleared[4] == 9000, "in a stream of its own"
        assert "cuMemFree" not in cuda.names

    def test_each_stream_has_its_own(self, scratch: CudaKernel, cuda: FakeCuda) -> None:
        a, c = arrays()
        for stream in (5, 6, 5, 6):
            scratch(there(a), there(c), stream=stream)
        assert len(cuda.memory) == 4
        used = [launch.addresses[0] for launch in cuda.launched if launch.kernel == "k_1"]
        assert used[0] == used[2] != used[1] == used[3]

    def test_each_captured_graph_has_its_own(self, scratch: CudaKernel, cuda: FakeCuda) -> None:
        a, c = arrays()
        for capture in (0, 1, 1, 2, 0):
            cuda.capture = capture
            scratch(there(a), there(c), stream=5)
        used = [launch.addresses[0] for launch in cuda.launched if launch.kernel == "k_1"]
        assert used[0] == used[4] and used[1] == used[2] and len(set(used)) == 3

    def test_that_of_a_graph_that_is_gone_is_anothers(self, scratch: CudaKernel, cuda: FakeCuda) -> None:
        a, c = arrays()
        for capture, gone in ((1, 0), (2, 1), (3, 0), (4, 2), (5, 3), (0, 4)):
            cuda.capture = capture
            if gone:
                cuda.end(gone)
            scratch(there(a), there(c), stream=5)
        used = [launch.addresses[0] for launch in cuda.launched if launch.kernel == "k_1"]
        first, of_1, third, of_2, of_3, of_4 = used
        assert (of_1, of_2, of_3, of_4) == (first, of_1, third, of_2) and first != third
        assert len(cuda.memory) == 4, "two workspaces of two arrays"

    def test_no_memory_for_it(self, scratch: CudaKernel, cuda: FakeCuda) -> None:
        cuda.failing["cuMemAlloc"] = 2
        with pytest.raises(MemoryError, match="memory for 'packed': the GPU has no memory left"):
            scratch(*map(there, arrays()))
        del cuda.failing["cuMemAlloc"]
        scratch(*map(there, arrays()))


class TestRoom:
    """Workgroups that wait for each other must all run."""

    @pytest.fixture
    def shared(self, kernel: CudaKernel) -> CudaKernel:
        mine = (Parameter("flags", SHAPE, F32, True, is_zeroed=True),)
        return replace(
            kernel, steps=(Launch("k_1", 132, 384, (0, 1), 200_000, has_flags=True),), workspace=mine
        )

    @pytest.mark.parametrize("cluster", [1, 2])
    def test_a_smaller_gpu_refuses(self, shared: CudaKernel, cuda: FakeCuda, cluster: int) -> None:
        step = Launch("k_1", 132, 384, (0, 1), 200_000, cluster, has_flags=True)
        clustered = replace(shared, steps=(step,))
        clustered(*map(there, arrays()))
        cuda.processors = 114
        told = "'k_1' has 132 workgroups that wait for each other, and GPU 0 runs 114 at once"
        with pytest.raises(Diagnostic, match=told):
            replace(clustered, symbol="again", _known=_Known())(*map(there, arrays()))
        assert len(cuda.launched) == 1

    def test_workgroups_that_share_nothing_run_one_after_the_other(
        self, shared: CudaKernel, cuda: FakeCuda
    ) -> None:
        """Such as of a copy behind a product whose workgroups share tiles."""
        cuda.processors = 8
        replace(shared, steps=(Launch("k_1", 132, 384, (0, 1), 200_000),))(*map(there, arrays()))
        small = Launch("k_1", 132, 384, (0, 1), 48 * 1024, has_flags=True)
        replace(shared, symbol="again", steps=(small,), _known=_Known())(*map(there, arrays()))
        assert len(cuda.launched) == 2


class TestTorch:
    """The way of tensors: what is looked at, and what is remembered."""

    @pytest.fixture
    def tensors(self, torch: Any, cuda: FakeCuda) -> tuple[Tensor, Tensor]:
        a, c = arrays()
        c[...] = 0
        return Tensor(a), Tensor(c)

    def first(self, kernel: CudaKernel, *tensors: Tensor, stream: Any = None) -> None:
        kernel(*(kernel.accepted(t, "x") for t in tensors), stream=stream)

    def test_a_second_call_is_quick(
        self, single: CudaKernel, cuda: FakeCuda, tensors: tuple[Tensor, Tensor]
    ) -> None:
        assert not single.quick(tensors)
        self.first(single, *tensors)
        cuda.calls.clear()
        assert single.quick(tensors)
        assert [name for name, *_ in cuda.calls] == ["cuLaunchKernelEx"]
        np.testing.assert_array_equal(tensors[1].array, 2 * tensors[0].array)

    def test_the_current_stream_is_asked_for(
        self, single: CudaKernel, cuda: FakeCuda, torch: Any, tensors: tuple[Tensor, Tensor]
    ) -> None:
        for handle in (31, 32):
            torch.streams[0] = handle
            assert not single.quick(tensors)
            self.first(single, *tensors)
            assert single.quick(tensors)
        assert [launch.stream for launch in cuda.launched] == [31, 31, 32, 32]
        assert single.quick(tensors, SimpleNamespace(cuda_stream=31))
        assert not single.quick(tensors, SimpleNamespace(cuda_stream=33))

    @pytest.mark.parametrize("change", ["shape", "strides", "dtype", "grad", "address", "host"])
    def test_what_is_not_the_same_is_not_quick(
        self, single: CudaKernel, tensors: tuple[Tensor, Tensor], torch: Any, change: str
    ) -> None:
        self.first(single, *tensors)
        a, c = tensors
        other = Tensor(a.array)
        match change:
            case "shape":
                other.shape = (8, 4)
            case "strides":
                other = Tensor(a.array.reshape(8, 4).T[:4, :8])
                other.shape = a.shape
            case "dtype":
                other.dtype = torch.int32
            case "grad":
                other.requires_grad = True
            case "address":
                other = Tensor(aligned(a.array))
            case _:
                other = Tensor(a.array, kind="cpu")
        assert not single.quick((other, c))
        assert single.quick((Tensor(a.array), c)), "another tensor of the same memory is"

    def test_several_gpus(self, single: CudaKernel, cuda: FakeCuda, torch: Any) -> None:
        """The context of the tensors' GPU must be the current one."""
        cuda.devices = 2
        a, c = arrays()
        tensors = Tensor(a, 1), Tensor(c, 1)
        self.first(single, *tensors)
        assert not single.quick(tensors)
        torch.current = 1
        assert single.quick(tensors)

    def test_a_launch_that_fails_is_tried_the_long_way(
        self, single: CudaKernel, cuda: FakeCuda, tensors: tuple[Tensor, Tensor]
    ) -> None:
        """A thread that has no context yet fails with 201."""
        self.first(single, *tensors)
        cuda.failing["cuLaunchKernelEx"] = 201
        assert not single.quick(tensors)
        with pytest.raises(Diagnostic, match="launching 'k' failed: CUDA_ERROR_INVALID_CONTEXT"):
            self.first(single, *tensors)

    def test_a_new_result_is_a_tensor(self, single: CudaKernel, tensors: tuple[Tensor, Tensor]) -> None:
        result = single.new_result(single.parameters[1], tensors[0])
        assert isinstance(result, Tensor) and result.shape == SHAPE and result.is_cuda
        host = single.new_result(single.parameters[1], np.zeros(SHAPE, F32))
        assert isinstance(host, np.ndarray)

    def test_further_results_are_made_the_short_way(
        self, single: CudaKernel, tensors: tuple[Tensor, Tensor], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each with memory of its own, on the GPU of the tensor that is given; others are not mistaken."""
        parameter, other = single.parameters[1], Tensor(tensors[0].array, 1)
        first = single.new_result(parameter, tensors[0])
        moved = single.new_result(parameter, other)
        monkeypatch.setattr("imbrex.run.cuda.kernel.new_result", None)
        second = single.new_result(parameter, tensors[1])
        assert (second.shape, second.stride(), second.dtype) == (first.shape, first.stride(), first.dtype)
        assert second.data_ptr() != first.data_ptr()
        assert (second.get_device(), moved.get_device()) == (0, 1) and second.is_cuda
        assert single.new_result(parameter, other).get_device() == 1
        with pytest.raises(TypeError):
            single.new_result(parameter, np.zeros(SHAPE, F32))

    def test_grad_is_refused(self, single: CudaKernel, tensors: tuple[Tensor, Tensor]) -> None:
        tensors[0].requires_grad = True
        with pytest.raises(TypeError, match="'a' requires grad"):
            single.accepted(tensors[0], "a")


def test_cupy_arrays_are_found_by_their_interface(single: CudaKernel, cuda: FakeCuda) -> None:
    a, c = arrays()
    shown = [
        SimpleNamespace(
            __cuda_array_interface__={
                "shape": x.shape, "typestr": x.dtype.str, "data": (x.ctypes.data, False), "version": 3
            }
        )
        for x in (a, c)
    ]  # fmt: skip
    c[...] = 1
    single(*(single.accepted(x, "x") for x in shown))
    np.testing.assert_array_equal(c, 1 + a)


@pytest.mark.parametrize("call", ["cuMemAlloc", "cuMemcpyHtoD", "cuLaunchKernelEx", "cuModuleGetFunction"])
def test_an_error_of_the_driver_is_one_message(kernel: CudaKernel, cuda: FakeCuda, call: str) -> None:
    cuda.failing[call] = 719
    with pytest.raises(Diagnostic, match="failed: CUDA_ERROR_LAUNCH_FAILED"):
        kernel(*arrays())
    assert not cuda.memory


def test_a_cubin_that_the_driver_cannot_load(kernel: CudaKernel, cuda: FakeCuda) -> None:
    cuda.failing["cuModuleLoadData"], cuda.version = 200, 12040
    with pytest.raises(
        Diagnostic, match=r"loading k\.cubin on GPU 0 failed: CUDA_ERROR_INVALID_IMAGE"
    ) as caught:
        kernel(*arrays())
    assert "CUDA 12.4" in (caught.value.hint or "")


@pytest.mark.parametrize("call", ["cuMemAlloc", "cuLaunchKernelEx"])
def test_no_memory_is_a_memory_error(kernel: CudaKernel, cuda: FakeCuda, call: str) -> None:
    cuda.failing[call] = 2
    with pytest.raises(MemoryError, match="the GPU has no memory left"):
        kernel(*arrays())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"capability": (8, 0)}, "a kernel for sm_90a cannot run here: GPU 0 is NVIDIA H200 (sm_80)"),
        ({"capability": (10, 0)}, "a kernel for sm_90a cannot run here: GPU 0 is NVIDIA H200 (sm_100)"),
        ({"devices": 0}, "a kernel for sm_90a cannot run here: there is no NVIDIA GPU"),
        ({"failing": {"cuInit": 100}}, "there is no NVIDIA GPU: CUDA_ERROR_NO_DEVICE"),
    ],
)
def test_another_gpu_or_none(
    kernel: CudaKernel, cuda: FakeCuda, changed: dict[str, Any], message: str
) -> None:
    vars(cuda).update(changed)
    for call in (kernel.prepare, lambda: kernel(*arrays())):
        with pytest.raises(Diagnostic) as caught:
            call()
        assert message in caught.value.message


def test_a_driver_that_is_missing(kernel: CudaKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(flags: int) -> None:
        raise RuntimeError("Failed to dlopen libcuda.so.1")

    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", SimpleNamespace(cuInit=missing))  # type: ignore[arg-type]
    with pytest.raises(Diagnostic) as caught:
        kernel.prepare()
    told = "a kernel for sm_90a cannot run here: there is no CUDA driver: Failed to dlopen libcuda.so.1"
    assert caught.value.message == told


def test_cuda_bindings_that_are_missing(kernel: CudaKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    with pytest.raises(Diagnostic, match="cannot run here: cuda-bindings is not installed") as caught:
        kernel.prepare()
    assert "pip install 'imbrex[cuda]'" in (caught.value.hint or "")


def test_arrays_that_do_not_fit_are_refused(kernel: CudaKernel, cuda: FakeCuda) -> None:
    a, c = arrays()
    with pytest.raises(TypeError, match="'k' takes 2 arrays, got 1"):
        kernel(a)
    with pytest.raises(TypeError, match="'a' should have dtype float32, got float64"):
        kernel(a.astype(float), c)
    with pytest.raises(ValueError, match="'c' should have shape"):
        kernel(there(a), there(c.reshape(8, 4)))
    with pytest.raises(ValueError, match="'a' should be contiguous, got strides"):
        kernel(DeviceArray(a.ctypes.data, SHAPE, (1, 4), "float32", 0), there(c))
    with pytest.raises(ValueError, match="'a' should lie at a multiple of 16 bytes"):
        kernel(DeviceArray(a.ctypes.data + 4, SHAPE, None, "float32", 0), there(c))
    assert not cuda.launched


def test_more_workgroups_than_cuda_launches(kernel: CudaKernel, cuda: FakeCuda) -> None:
    with pytest.raises(Diagnostic, match="'k' has 2147483648 workgroups; CUDA launches less than 2\\^31"):
        replace(kernel, steps=(Launch("k", 1 << 31, 64, (0, 1)),))(*map(there, arrays()))


def test_time_is_the_gpus_own(kernel: CudaKernel, cuda: FakeCuda) -> None:
    """Each sample takes 50 us here, a first one by itself and then a graph of four."""
    a, c = arrays()
    timing = measure_on_gpu(kernel, a, c, budget_s=0.0, warmup_s=0.0, least=7)
    assert (len(timing.samples_ns), timing.calls_per_sample) == (7, 4)
    assert timing.median_ns == pytest.approx(12_500)
    assert cuda.names.count("cuGraphLaunch") == 8 and cuda.names.count("cuGraphExecDestroy") == 1
    assert {launch.stream for launch in cuda.launched} == {9000} and not cuda.memory
