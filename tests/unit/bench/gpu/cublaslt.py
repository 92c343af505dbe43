"""cuBLASLt as its documentation has it, in numpy: column-major matrices behind pointers.

Names are those of nvmath.bindings.cublasLt, and of the few things of torch that hold what it multiplies.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
TYPES: dict[str, Any] = {
    "float32": np.float32, "float64": np.float64, "float16": np.float16, "int8": np.int8, "int32": np.int32,
    "bfloat16": ml_dtypes.bfloat16, "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2, "uint8": np.uint8,
}  # fmt: skip
CUDA = {
    0: np.float32, 1: np.float64, 2: np.float16, 3: np.int8, 10: np.int32, 14: ml_dtypes.bfloat16,
    28: ml_dtypes.float8_e4m3fn, 29: ml_dtypes.float8_e5m2,
}  # fmt: skip
"""By the numbers of library_types.h."""
Epilogue = Enum("Epilogue", "DEFAULT BIAS RELU RELU_BIAS GELU GELU_BIAS")
MatmulDescAttribute = Enum("MatmulDescAttribute", "TRANSA TRANSB EPILOGUE BIAS_POINTER FAST_ACCUM")
MatrixLayoutAttribute = Enum("MatrixLayoutAttribute", "BATCH_COUNT STRIDED_BATCH_OFFSET")
MatmulPreferenceAttribute = Enum("MatmulPreferenceAttribute", "MAX_WORKSPACE_BYTES")
SIZES = {"TRANSA": 4, "TRANSB": 4, "EPILOGUE": 4, "BIAS_POINTER": 8, "FAST_ACCUM": 1, "BATCH_COUNT": 4}
SIZES |= {"STRIDED_BATCH_OFFSET": 8, "MAX_WORKSPACE_BYTES": 8}


class Numbered:
    """Attributes of an enumeration in C, whose numbers Python's own have too."""

    def __init__(self, names: Any) -> None:
        self.__dict__.update({one.name: one.value for one in names})


class Tensor:
    """A tensor of torch: an array that knows where it lies."""

    def __init__(self, array: Array) -> None:
        self.array, self.shape = array, array.shape
        self.dtype = next(name for name, kind in TYPES.items() if array.dtype == kind)

    def stride(self, axis: int) -> int:
        return self.array.strides[axis] // self.array.itemsize

    def data_ptr(self) -> int:
        return self.array.ctypes.data


def torch() -> ModuleType:
    made: Any = ModuleType("torch")
    made.__dict__.update({name: name for name in TYPES})
    made.empty = lambda count, dtype, device: Tensor(np.empty(count, TYPES[dtype]))
    made.cuda = SimpleNamespace(current_stream=lambda: SimpleNamespace(cuda_stream=77))
    return made


def at(pointer: int, kind: Any, count: int) -> Array:
    size = np.dtype(kind).itemsize * count
    return np.frombuffer((ctypes.c_char * size).from_address(pointer), kind)


@dataclass
class Made:
    """A descriptor, with the attributes that were set."""

    given: tuple[Any, ...]
    attributes: dict[str, int] = field(default_factory=dict[str, int])

    def matrix(self, pointer: int) -> Array:
        """batch x rows x columns of a layout."""
        kind, rows, columns, leading = self.given
        batch, apart = self.attributes.get("BATCH_COUNT", 1), self.attributes.get("STRIDED_BATCH_OFFSET", 0)
        size = np.dtype(CUDA[kind]).itemsize
        held = at(pointer, np.uint8, size * ((batch - 1) * apart + (columns - 1) * leading + rows))
        steps = (apart * size, size, leading * size)
        return np.ndarray((batch, rows, columns), CUDA[kind], held.data, strides=steps)


class CublasLt(ModuleType):
    """known: how many algorithms its heuristics have.  broken: those that do not run.

    requested: how many it was asked for.  ran: the algorithm of each product, and its descriptor.
    """

    class cuBLASLtError(Exception): ...

    Epilogue = Numbered(Epilogue)
    MatmulDescAttribute, MatrixLayoutAttribute = MatmulDescAttribute, MatrixLayoutAttribute
    MatmulPreferenceAttribute = MatmulPreferenceAttribute
    matmul_heuristic_result_dtype = np.dtype([("algorithm", "<i8"), ("rest", "V88")])

    def __init__(self, known: int = 4, broken: tuple[int, ...] = ()) -> None:
        super().__init__("nvmath.bindings.cublasLt")
        self.known, self.broken, self.made = known, broken, list[Made]()
        self.requested: list[int] = []
        self.ran: list[tuple[int, Made]] = []
        self.matrix_layout_create = self.matmul_desc_create = self.matmul_preference_create = self._create
        self.matrix_layout_set_attribute = self.matmul_desc_set_attribute = self._set
        self.matmul_preference_set_attribute = self._set

    def create(self) -> int:
        return 5

    def _create(self, *given: Any) -> int:
        self.made.append(Made(given))
        return len(self.made) - 1

    def _set(self, of: int, attribute: Any, pointer: int, size: int) -> None:
        assert size == SIZES[attribute.name], (attribute, size)
        self.made[of].attributes[attribute.name] = int(at(pointer, f"i{size}", 1)[0])

    def matmul_algo_get_heuristic(self, handle: int, *given: Any) -> None:
        *of, requested, into, count = given
        _, a, b, c, d, preference = (self.made[i] for i in of)
        assert handle == 5 and c is d and a.given and b.given
        self.workspace = preference.attributes["MAX_WORKSPACE_BYTES"]
        self.requested.append(requested)
        if self.known < 0:
            raise self.cuBLASLtError("CUBLAS_STATUS_NOT_SUPPORTED")
        found = at(into, self.matmul_heuristic_result_dtype, requested)
        some = min(requested, self.known)
        found["algorithm"][:some] = range(some)
        at(count, np.int32, 1)[0] = some

    def matmul(
        self, handle: int, described: int, alpha: int, a: int, a_is: int, b: int, b_is: int, beta: int,
        c: int, c_is: int, d: int, d_is: int, algorithm: int, workspace: int, room: int, stream: int,
    ) -> None:  # fmt: skip
        number = int(at(algorithm, np.int64, 1)[0])
        if number in self.broken:
            raise self.cuBLASLtError("CUBLAS_STATUS_EXECUTION_FAILED")
        how = self.made[described]
        assert (handle, stream) == (5, 77) and room == self.workspace
        at(workspace, np.uint8, room)[-1] = 1
        scale = CUDA[how.given[1]]
        wide = np.int32 if scale == np.int32 else np.float64
        first, second = (
            matrix.swapaxes(1, 2) if how.attributes[f"TRANS{name}"] else matrix
            for name, matrix in (("A", self.made[a_is].matrix(a)), ("B", self.made[b_is].matrix(b)))
        )
        result, added = self.made[d_is].matrix(d), self.made[c_is].matrix(c)
        by, old = (at(pointer, scale, 1)[0] for pointer in (alpha, beta))
        sums = by * (first.astype(wide) @ second.astype(wide)) + (old * added.astype(wide) if old else 0)
        epilogue = Epilogue(how.attributes["EPILOGUE"]).name
        if "BIAS" in epilogue:
            kind = CUDA[self.made[d_is].given[0]]
            sums = sums + at(how.attributes["BIAS_POINTER"], kind, sums.shape[1]).astype(wide)[:, None]
        result[:] = ACTIVATIONS[epilogue.removesuffix("_BIAS")](sums).astype(result.dtype)
        self.ran.append((number, how))


def _gelu(x: Array) -> Array:
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "DEFAULT": lambda x: x, "BIAS": lambda x: x, "RELU": lambda x: np.maximum(x, 0), "GELU": _gelu,
}  # fmt: skip
