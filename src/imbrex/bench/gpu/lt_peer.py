"""cuBLASLt as a peer: the fastest of the algorithms that its heuristics name for a problem.

Imported only where nvmath-python is installed, whose bindings it takes.  Each algorithm is measured as the
contest measures, recorded into CUDA graphs over the same rotating arrays and replayed in turn.
"""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from nvmath.bindings import cublasLt as lt  # pyright: ignore

from imbrex.bench.gpu.replay import recorded, replay_contest
from imbrex.dtype import TF32
from imbrex.problem import Gemm

__all__ = ["best"]

torch: Any = import_module("torch")

MOST_FOUND = 24
"""Algorithms that the heuristics are asked for."""
WORKSPACE = 64 << 20
SECONDS = 0.1
"""Time of the rounds of all algorithms together; there are a few rounds at least."""

REAL = {
    torch.float32: 0, torch.float64: 1, torch.float16: 2, torch.int8: 3, torch.int32: 10, torch.bfloat16: 14,
    torch.float8_e4m3fn: 28, torch.float8_e5m2: 29,
}  # fmt: skip
"""cudaDataType of an element (library_types.h)."""
COMPUTE_F32, COMPUTE_F64, COMPUTE_I32, COMPUTE_TF32 = 68, 70, 72, 77
"""cublasComputeType_t (cublas_api.h)."""
EPILOGUES = {
    "None": lt.Epilogue.DEFAULT,
    "x + bias": lt.Epilogue.BIAS,
    "relu(x)": lt.Epilogue.RELU,
    "relu(x + bias)": lt.Epilogue.RELU_BIAS,
    "gelu_tanh(x)": lt.Epilogue.GELU,
    "gelu_tanh(x + bias)": lt.Epilogue.GELU_BIAS,
}

Call = Callable[[], object]


def best(gemm: Gemm, sets: Sequence[Mapping[str, Any]]) -> list[Call] | None:
    """A call for each set of tensors; None where it has no such epilogue.  RuntimeError where it names no
    algorithm.
    """
    if str(gemm.epilogue) not in EPILOGUES:
        return None
    product = Product(gemm, sets[0])
    named = [product.calls(sets, number) for number in range(product.count)]
    replays = {}
    for number, calls in enumerate(named):
        with suppress(RuntimeError, lt.cuBLASLtError):
            replays[str(number)] = recorded(calls)
    if not replays:
        raise RuntimeError("cuBLASLt names no algorithm that runs")
    times = replay_contest(replays, SECONDS)
    return named[int(min(times, key=lambda number: times[number].median_ns))]


class Product:
    """A product as cuBLASLt has it: of column-major arrays, in which ours are transposed and change sides."""

    def __init__(self, gemm: Gemm, tensors: Mapping[str, Any]) -> None:
        self.gemm, self.handle = gemm, lt.create()
        is_whole, is_f64 = not gemm.dtype.is_float, tensors["a"].dtype == torch.float64
        compute = COMPUTE_TF32 if gemm.dtype == TF32 else COMPUTE_F64 if is_f64 else COMPUTE_F32
        self.compute = COMPUTE_I32 if is_whole else compute
        self.scale = torch.int32 if is_whole else torch.float64 if is_f64 else torch.float32
        kind = {torch.int32: np.int32, torch.float64: np.float64}.get(self.scale, np.float32)
        self.alpha, self.beta = np.array(gemm.alpha, kind), np.array(gemm.beta, kind)
        self.layouts = [_layout(gemm, tensors[role]) for role in ("b", "a", "c")]
        self.workspace = torch.empty(WORKSPACE, dtype=torch.uint8, device="cuda")
        self.found = np.zeros(MOST_FOUND, lt.matmul_heuristic_result_dtype)
        self.count = self._named(tensors)

    def _named(self, tensors: Mapping[str, Any]) -> int:
        preference, count = lt.matmul_preference_create(), np.zeros(1, np.int32)
        attribute = lt.MatmulPreferenceAttribute.MAX_WORKSPACE_BYTES
        _set(lt.matmul_preference_set_attribute, preference, attribute, np.uint64(WORKSPACE))
        b, a, c = self.layouts
        where = self.found.ctypes.data, count.ctypes.data
        described = self._described(tensors)
        try:
            lt.matmul_algo_get_heuristic(self.handle, described, b, a, c, c, preference, MOST_FOUND, *where)
        except lt.cuBLASLtError as error:
            raise RuntimeError(str(error)) from None
        return int(count[0])

    def _described(self, tensors: Mapping[str, Any]) -> int:
        gemm, names = self.gemm, lt.MatmulDescAttribute
        made = lt.matmul_desc_create(self.compute, REAL[self.scale])
        values: dict[Any, Any] = {
            names.TRANSA: np.int32(gemm.transpose_b),
            names.TRANSB: np.int32(gemm.transpose_a),
            names.EPILOGUE: np.uint32(EPILOGUES[str(gemm.epilogue)]),
        }
        if "bias" in tensors:
            values[names.BIAS_POINTER] = np.uint64(tensors["bias"].data_ptr())
        if gemm.dtype.is_float and gemm.dtype.bits == 8:
            values[names.FAST_ACCUM] = np.int8(1)
        for name, value in values.items():
            _set(lt.matmul_desc_set_attribute, made, name, value)
        return made

    def calls(self, sets: Sequence[Mapping[str, Any]], number: int) -> list[Call]:
        """That algorithm on each set."""
        return [partial(self._run, self._described(t), t, self.found[number:].ctypes.data) for t in sets]

    def _run(self, described: int, t: Mapping[str, Any], algorithm: int) -> None:
        b, a, c = self.layouts
        lt.matmul(
            self.handle, described, self.alpha.ctypes.data, t["b"].data_ptr(), b, t["a"].data_ptr(), a,
            self.beta.ctypes.data, t["c"].data_ptr(), c, t["c"].data_ptr(), c,
            algorithm, self.workspace.data_ptr(), WORKSPACE, torch.cuda.current_stream().cuda_stream,
        )  # fmt: skip


def _layout(gemm: Gemm, tensor: Any) -> int:
    """A row-major array for cuBLASLt, whose rows are its columns."""
    rows, columns = tensor.shape[-2:]
    made = lt.matrix_layout_create(REAL[tensor.dtype], columns, rows, tensor.stride(-2))
    if gemm.batch > 1:
        names = lt.MatrixLayoutAttribute
        _set(lt.matrix_layout_set_attribute, made, names.BATCH_COUNT, np.int32(gemm.batch))
        _set(lt.matrix_layout_set_attribute, made, names.STRIDED_BATCH_OFFSET, np.int64(tensor.stride(0)))
    return made


def _set(setter: Callable[..., object], of: int, attribute: Any, value: np.generic) -> None:
    held = np.array([value])
    setter(of, attribute, held.ctypes.data, held.nbytes)
