"""A cubin on an NVIDIA GPU: its launches, in order, through cuda-bindings.

Arrays on the GPU are used where they lie, in the caller's stream, which nobody waits for; arrays of the host
are copied there, and the written ones back.  Law: code runs only on the architecture that it was compiled
for; a call on arrays that were seen before looks one thing up and launches.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from imbrex.build.nvidia.report import Geometry
from imbrex.run.answer import done
from imbrex.run.array_check import AnyArray, check_arrays, new_result
from imbrex.run.cpu import Parameter
from imbrex.run.cuda.call import Call, Ready
from imbrex.run.cuda.driver import (
    current_device,
    device_count,
    device_of,
    functions,
    require_gpu,
    unrecorded,
    using_device,
)
from imbrex.run.cuda.memory import CudaMemory, GraphEnd, capture_of, workspace
from imbrex.run.cuda.residency import expect_resident
from imbrex.run.device import ALIGNMENT, DeviceArray
from imbrex.run.gpu import GpuKernel, uploaded
from imbrex.run.launch import Launch
from imbrex.run.stream import current_stream, stream_handle
from imbrex.run.traced import is_readable

__all__ = ["CudaKernel"]

_MOST_CALLS = 4096
"""Calls that a kernel keeps ready, a KiB or two each; beyond it, all are made anew."""


class _Known:
    """What a kernel has learnt from calls.  calls: on tensors of torch, by what was checked of them; bound:
    by run-time size, stream, capture and addresses; ready: by GPU and run-time size; workspaces: by GPU,
    stream and capture, and by the same the ends of the graphs that have some; results: what makes torch's
    tensors, by name and shape, the kind of another one and its GPU.
    """

    def __init__(self) -> None:
        self.calls: dict[Any, Call] = {}
        self.bound: dict[Any, Call] = {}
        self.ready: dict[tuple[int, int | None], Ready] = {}
        self.workspaces: dict[tuple[int, int, int], tuple[int, ...]] = {}
        self.ends: dict[tuple[int, int, int], GraphEnd] = {}
        self.results: dict[Any, Callable[[], Any]] = {}
        self.cuda: Any = None
        self.stream_of: Callable[[int], int] | None = None
        self.device_now: Callable[[], int] | None = None


@dataclass(frozen=True, slots=True)
class CudaKernel(GpuKernel):
    """The workspace, for each stream its own, stays."""

    _known: _Known = field(default_factory=_Known, repr=False, compare=False)

    @property
    def geometries(self) -> tuple[Geometry, ...]:
        """What each launch asks, for the report."""
        return tuple(Geometry(s.kernel, s.block_size, s.shared_bytes, s.cluster) for s in self.launches)

    def prepare(self) -> None:
        require_gpu(self.chip)

    def new_result(self, parameter: Parameter, like: Any) -> Any:
        known = self._known.results
        try:
            device = int(like.get_device())
        except AttributeError:  # not torch's
            return new_result(parameter, like)
        key = parameter.name, parameter.shape, like.__class__, device
        if key in known:
            return known[key]()
        result = new_result(parameter, like)
        torch: Any = sys.modules.get("torch")
        if torch is not None and isinstance(like, torch.Tensor) and device >= 0:
            empty = partial(torch.empty_strided, tuple(result.shape), result.stride())
            _keep(known, key, partial(empty, dtype=result.dtype, device=result.device))
        return result

    def quick(self, arrays: Sequence[Any], stream: Any = None, threads: int | None = None) -> bool:
        """Launches on torch's tensors that a call was made on before, as they are; False where none was."""
        del threads
        known = self._known
        if known.stream_of is None:
            return False
        try:
            device = arrays[0].get_device()
            if device < 0:
                return False
            if known.device_now is not None and known.device_now() != device:
                return False
            handle = known.stream_of(device) if stream is None else stream.cuda_stream
            key = (handle, *map(_facts, arrays))
        except AttributeError:
            return False
        if self.workspace:
            key = (*key, capture_of(known.cuda, handle))
        call = known.calls.get(key)
        return call is not None and not call()

    def at(self, addresses: tuple[int, ...], device: int, stream: int) -> bool:
        """Launches on arrays of that GPU, which is the current one where there are several.  The caller
        answers for them but for their alignment: False, and no launch, where it is not enough.
        """
        known = self._known
        is_captured = self.workspace and known.cuda is not None
        capture = capture_of(known.cuda, stream) if is_captured else 0
        call = known.bound.get((self.count, stream, capture, addresses))
        if call is not None and not call():
            return True
        if any(address % ALIGNMENT for address in addresses):
            return False
        cuda = known.cuda if (device, self.count) in known.ready else require_gpu(self.chip, device)
        with using_device(cuda, device):
            call = self._bound(cuda, device, stream, addresses, is_kept=True)
            done((call(),), f"launching '{self.symbol}'")
        return True

    @contextmanager
    def resident(
        self,
        *arrays: AnyArray,
        threads: int | None = None,
        stream: Any = None,
        waits: bool = True,
        faults: list[str] | None = None,
    ) -> Generator[Callable[[], None]]:
        del threads
        if self.run_time is not None and self.count is None:
            with self.sized(arrays).resident(*arrays, stream=stream, waits=waits, faults=faults) as call:
                yield call
            return
        check_arrays(self.symbol, self.parameters, arrays)
        cuda, device = self._device_of(arrays)
        on_gpu = [a.source for a in arrays if isinstance(a, DeviceArray)]
        handle = int(stream_handle(stream, on_gpu))
        memory = CudaMemory(cuda, handle)
        with using_device(cuda, device), uploaded(memory, arrays, self.parameters, faults) as addresses:
            launched = self._bound(cuda, device, handle, addresses, is_kept=len(on_gpu) == len(arrays))
            self._remember(cuda, on_gpu, stream, handle, launched)

            def call() -> None:
                done((launched(),), f"launching '{self.symbol}'")
                if waits:
                    memory.wait()

            yield call

    def _device_of(self, arrays: Sequence[AnyArray]) -> tuple[Any, int]:
        """The driver, and the one GPU of all arrays; where they lie on none, that of this thread."""
        cuda = require_gpu(self.chip)
        found: dict[str, int] = {}
        for array, p in zip(arrays, self.parameters, strict=True):
            if isinstance(array, DeviceArray):
                known = array.device
                found[p.name] = device_of(cuda, array.address, p.name) if known is None else known
        if len(set(found.values())) > 1:
            found_on = ", ".join(f"'{name}' on GPU {device}" for name, device in found.items())
            raise ValueError(f"the arrays lie on several GPUs, and a call runs on one: {found_on}")
        device = next(iter(found.values()), None)
        device = current_device(cuda) if device is None else device
        return require_gpu(self.chip, device), device

    def _bound(self, cuda: Any, device: int, stream: int, addresses: tuple[int, ...], is_kept: bool) -> Call:
        """The launches at these addresses; the GPU's context is current."""
        known = self._known
        known.cuda = cuda
        capture = capture_of(cuda, stream) if self.workspace else 0
        key = (self.count, stream, capture, addresses)
        if is_kept and (call := known.bound.get(key)) is not None:
            return call
        owner = (device, stream, capture)
        of_size = (device, self.count)
        if of_size not in known.ready:
            with unrecorded(cuda):
                loaded = functions(cuda, self.path, self._wanted, device)
                for step in self.launches:
                    if step.meets:
                        expect_resident(cuda, step, loaded[step.kernel], device)
            made = Ready(cuda, self.steps_now, loaded, (*self.parameters, *self.workspace))
            _keep(known.ready, of_size, made)
        if self.workspace and owner not in known.workspaces:
            with unrecorded(cuda):
                self._take_workspace(cuda, owner)
        call = known.ready[of_size].call((*addresses, *known.workspaces.get(owner, ())), stream)
        if is_kept:
            _keep(known.bound, key, call)
        return call

    def _take_workspace(self, cuda: Any, owner: tuple[int, int, int]) -> None:
        """A workspace for a stream on a GPU, or for a capture, which gets that of a graph that is gone."""
        known, (device, stream, capture) = self._known, owner
        end = GraphEnd(cuda, stream) if capture else None
        gone = next((at for at in list(known.ends) if at[0] == device and known.ends[at].is_met()), None)
        if gone is None:
            known.workspaces[owner] = workspace(cuda, self.workspace)
        else:
            del known.ends[gone]
            known.workspaces[owner] = known.workspaces.pop(gone)
        if end is not None:
            known.ends[owner] = end

    @property
    def _wanted(self) -> tuple[tuple[str, int, int], ...]:
        """Name of each kernel with the most that its launches ask."""
        most: dict[str, tuple[str, int, int]] = {}
        for step in (step for step in self.steps if isinstance(step, Launch)):
            _, shared_bytes, cluster = most.get(step.kernel, ("", 0, 1))
            needed = max(shared_bytes, step.shared_bytes), max(cluster, step.cluster)
            most[step.kernel] = (step.kernel, *needed)
        return tuple(most.values())

    def _remember(self, cuda: Any, tensors: Sequence[Any], stream: Any, handle: int, call: Call) -> None:
        """Remember for `quick`, where all arrays are tensors of torch, and the stream is torch's."""
        torch: Any = sys.modules.get("torch")
        if torch is None or len(tensors) != len(self.parameters):
            return
        if not all(isinstance(tensor, torch.Tensor) for tensor in tensors):
            return
        if stream is not None and not hasattr(stream, "cuda_stream"):
            return
        known = self._known
        if known.stream_of is None:
            known.device_now = torch.cuda.current_device if device_count(cuda) > 1 else None
            known.stream_of = current_stream(torch)
        key = (handle, *map(_facts, tensors))
        _keep(known.calls, (*key, capture_of(cuda, handle)) if self.workspace else key, call)


def _facts(tensor: Any) -> tuple[Any, ...]:
    """All of a tensor of torch that a call's checks depend on."""
    return tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride(), is_readable(tensor)


def _keep(kept: dict[Any, Any], key: Any, value: object) -> None:
    if len(kept) >= _MOST_CALLS:
        kept.clear()
    kept[key] = value
