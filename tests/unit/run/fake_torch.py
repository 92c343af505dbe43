"""As much of torch as a call looks at, on memory of the host that passes for a GPU's."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np


class Dtype:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


DTYPES = {name: Dtype(name) for name in ("float16", "float32", "int8", "int32", "bfloat16")}


class Tensor:
    """A strided tensor over an array of NumPy's."""

    requires_grad = False
    layout = "torch.strided"

    def __init__(self, array: np.ndarray[Any, Any], device: int = 0, kind: str = "cuda") -> None:
        self.array = array
        self.device = SimpleNamespace(type=kind, index=device)
        self.is_cuda = kind == "cuda"
        self.shape = array.shape
        self.dtype = DTYPES[array.dtype.name]

    def is_neg(self) -> bool:
        return False

    is_conj = _is_zerotensor = is_neg

    def get_device(self) -> int:
        return self.device.index if self.is_cuda else -1

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def stride(self) -> tuple[int, ...]:
        return tuple(s // self.array.itemsize for s in self.array.strides)

    def element_size(self) -> int:
        return self.array.itemsize

    @property
    def ndim(self) -> int:
        return self.array.ndim

    def dim(self) -> int:
        return self.array.ndim

    def contiguous(self) -> Tensor:
        return Tensor(aligned(np.ascontiguousarray(self.array)), self.device.index)

    def clone(self, **_: Any) -> Tensor:
        return Tensor(aligned(self.array), self.device.index)

    def permute(self, *order: int) -> Tensor:
        return Tensor(self.array.transpose(*order), self.device.index)

    def reshape(self, *shape: int) -> Tensor:
        return Tensor(self.array.reshape(*shape), self.device.index)

    def copy_(self, other: Tensor) -> Tensor:
        self.array[...] = other.array
        return self

    def zero_(self) -> Tensor:
        self.array[...] = 0
        return self

    def mul_(self, factor: float) -> Tensor:
        self.array[...] = (self.array * factor).astype(self.array.dtype)
        return self


def aligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that begins at a multiple of 256 bytes, as memory of a GPU does."""
    room = np.empty(array.nbytes + 256, np.uint8)
    start = -room.ctypes.data % 256
    found = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def module() -> Any:
    torch: Any = ModuleType("torch")
    torch.Tensor = Tensor
    torch.strided = "torch.strided"
    torch.streams = {0: 0}
    torch.current = 0
    torch.asked = 0
    torch.is_grad_enabled = lambda: True

    def raw(device: int) -> int:
        torch.asked += 1
        return torch.streams.get(device, 0)

    def empty(shape: Any, dtype: Dtype, device: Any) -> Tensor:
        return Tensor(aligned(np.full(shape, 99, dtype.name)), device.index)

    def empty_strided(shape: Any, strides: Any, dtype: Dtype, device: Any) -> Tensor:
        order = sorted(range(len(shape)), key=lambda i: -strides[i])
        flat = aligned(np.full([shape[i] for i in order], 99, dtype.name))
        return Tensor(flat.transpose(np.argsort(order)), device.index)

    torch.empty_strided = empty_strided
    transforms = SimpleNamespace(is_functorch_wrapped_tensor=lambda tensor: False)
    torch._C = SimpleNamespace(_cuda_getCurrentRawStream=raw, _functorch=transforms)
    torch.empty = empty
    torch.cuda = SimpleNamespace(
        current_stream=lambda device: SimpleNamespace(cuda_stream=torch.streams.get(_index(device), 0)),
        current_device=lambda: torch.current,
        device_count=lambda: 1,
    )
    torch.version = SimpleNamespace(hip=None)
    for name, dtype in DTYPES.items():
        setattr(torch, name, dtype)
    return torch


def _index(device: Any) -> int:
    return getattr(device, "index", device)
