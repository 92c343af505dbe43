"""Arrays on a GPU of NVIDIA's, of torch or CuPy, as a function treats them."""

from __future__ import annotations

import sys
from typing import Any

from imbrex.chip import gpus
from imbrex.dtype import DType, dtype
from imbrex.function.memory import Memory
from imbrex.kernel import Kernel
from imbrex.problem.operand import dense_strides
from imbrex.run.array_check import lying
from imbrex.run.arrays import order_of, share_memory
from imbrex.run.device import ALIGNMENT, DeviceArray, is_on_nvidia, on_device

__all__ = ["CupyMemory", "TorchMemory", "gpu_memory"]


def gpu_memory(value: Any) -> Memory:
    """Memory of the library that `value` is from; TypeError where results of that kind cannot be made."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return TorchMemory(torch, value.device)
    cupy: Any = sys.modules.get("cupy")
    if cupy is not None and isinstance(value, cupy.ndarray):
        return CupyMemory(cupy, value.device)
    raise TypeError(
        f"arrays on a GPU should be of torch or CuPy here, got {type(value).__module__}."
        f"{type(value).__qualname__}; imbrex.compile takes whatever speaks DLPack"
    )


class _OnGpu:
    """What libraries have in common.  device: as the library names it."""

    target = gpus("NVIDIA")[0]

    def __init__(self, library: Any, device: Any) -> None:
        self.library, self.device = library, device

    def _seen(self, array: Any) -> DeviceArray:
        found = on_device(array, "array")
        assert found is not None, "it was taken"
        return found

    def taken(self, value: Any, name: str) -> Any:
        if not is_on_nvidia(value):
            raise TypeError(f"'{name}' lies on the host, and another array on a GPU; copy it there first")
        on_device(value, name)  # refuses what a kernel cannot read
        if value.device != self.device:
            raise ValueError(f"the arrays lie on several GPUs: '{name}' on {value.device}, not {self.device}")
        return value

    def type_name(self, array: Any) -> str:
        return self._seen(array).dtype

    def order(self, array: Any) -> tuple[int, ...] | None:
        seen = self._seen(array)
        return None if seen.address % ALIGNMENT else order_of(seen.shape, seen.strides)

    def steps(self, array: Any) -> tuple[int, ...] | None:
        seen = self._seen(array)
        if seen.address % ALIGNMENT:
            return None
        return dense_strides(seen.shape) if seen.strides is None else seen.strides

    def strides(self, array: Any) -> tuple[int, ...]:
        size = array.dtype.itemsize
        return tuple(stride * size for stride in self._seen(array).strides or ())

    def shares_memory(self, one: Any, other: Any) -> bool:
        seen = self._seen(one), self._seen(other)
        return share_memory(*(lying(each, dtype(each.dtype).bytes) for each in seen))

    def is_writable(self, array: Any) -> bool:
        return not self._seen(array).is_read_only

    def returned(self, array: Any, like: Any) -> Any:
        del like  # the result is of this library already
        return array

    def run(self, kernel: Kernel, arrays: tuple[Any, ...], threads: int | None, stream: Any) -> None:
        del threads
        loaded: Any = kernel.loaded
        named = zip(arrays, loaded.parameters, strict=True)
        loaded(*(loaded.accepted(array, p.name) for array, p in named), stream=stream)


class TorchMemory(_OnGpu):
    """Tensors; what is copied is copied in torch's current stream."""

    def contiguous(self, array: Any) -> Any:
        """A copy where it lies wrong for a kernel, though it may be contiguous."""
        found = array.contiguous()
        return found.clone() if found.data_ptr() % ALIGNMENT else found

    def copied(self, array: Any) -> Any:
        return array.clone()

    def permuted(self, array: Any, order: tuple[int, ...]) -> Any:
        return array.permute(order)

    def empty(self, shape: tuple[int, ...], element: DType) -> Any:
        return self.library.empty(shape, dtype=getattr(self.library, element.numpy.name), device=self.device)

    def clear(self, array: Any) -> None:
        array.zero_()

    def scale(self, array: Any, factor: float) -> None:
        array.mul_(factor)

    def put(self, source: Any, result: Any) -> None:
        try:
            result.copy_(source)
        except RuntimeError as error:
            raise ValueError(str(error).partition("\n")[0]) from None


class CupyMemory(_OnGpu):
    """Arrays of CuPy, which are NumPy's in everything but where they lie."""

    def contiguous(self, array: Any) -> Any:
        found = self.library.ascontiguousarray(array)
        return found.copy() if found.data.ptr % ALIGNMENT else found

    def copied(self, array: Any) -> Any:
        return array.copy()

    def permuted(self, array: Any, order: tuple[int, ...]) -> Any:
        return array.transpose(order)

    def empty(self, shape: tuple[int, ...], element: DType) -> Any:
        with self.device:
            return self.library.empty(shape, element.numpy)

    def clear(self, array: Any) -> None:
        array.fill(0)

    def scale(self, array: Any, factor: float) -> None:
        self.library.multiply(array, factor, out=array, casting="unsafe")

    def put(self, source: Any, result: Any) -> None:
        self.library.copyto(result, self.library.broadcast_to(source, result.shape))
