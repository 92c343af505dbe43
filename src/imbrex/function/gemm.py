"""gemm: the product of two matrices, or of as many pairs of them as there are."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.function.array import KERNELS, Laid, as_output, laid, shared_element
from imbrex.function.place import Place, place
from imbrex.kernel import Kernel, compile
from imbrex.problem import Gemm
from imbrex.run.arrays import Array, as_array, same_kind

__all__ = ["gemm"]


def gemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transpose_a: bool = False,
    transpose_b: bool = False,
    out: Any = None,
    target: str = "cpu",
    emulate: bool = False,
    algorithm: str | None = None,
    threads: int | None = None,
) -> Any:
    """alpha * op(a) op(b) + beta * c, as an array of a's kind; without `c` there is no second term.

    a, b: matrices, or equally many of them along a first dimension; op transposes the last two dimensions
    where asked.  c: broadcast to the result's shape; not changed, unless it is `out`.  int8 gives int32.
    target, emulate, algorithm: as `compile` takes them; arrays are copied to a GPU and back.
    """
    where = place(target, emulate, threads)
    left, right = _matrices(a, "a", transpose_a), _matrices(b, "b", transpose_b)
    element = shared_element({"a": left.laid, "b": right.laid})
    shape = _result_shape(left, right)
    result = np.empty(shape, element.output.numpy) if out is None else _row_major(out, shape, element.output)
    is_added = c is not None and beta != 0
    if is_added:
        _place(c, result)
    k = left.columns
    if result.size and k:
        sizes = (shape[-2], shape[-1], k, result.shape[0] if result.ndim == 3 else 1)
        flags = (left.is_transposed, right.is_transposed)
        scales = float(alpha), float(beta) if is_added else 0.0
        kernel = _kernel(sizes, flags, scales, element, where, algorithm)
        arrays = (_ranked(x, sizes[3]) for x in (left.laid.array, right.laid.array, result))
        kernel.loaded(*arrays, threads=threads)
    elif is_added:
        np.multiply(result, beta, out=result, casting="unsafe")
    else:
        result.fill(0)
    return same_kind(result, a) if out is None else out


class _Matrices(NamedTuple):
    """Row-major matrices; is_transposed: op of them is the transposed of what lies in memory."""

    laid: Laid
    is_transposed: bool

    @property
    def rows(self) -> int:
        """Of op of the matrix."""
        return self.laid.array.shape[-1 if self.is_transposed else -2]

    @property
    def columns(self) -> int:
        return self.laid.array.shape[-2 if self.is_transposed else -1]


def _matrices(value: object, name: str, transposed: bool) -> _Matrices:
    found = laid(value, name)
    rank = found.array.ndim
    if rank not in (2, 3):
        raise ValueError(f"'{name}' should have 2 dimensions, or 3 with a batch first, got {rank}")
    plain = tuple(range(rank))
    swapped = (*plain[:-2], rank - 1, rank - 2)
    if found.order not in (plain, swapped):
        found = Laid(np.ascontiguousarray(found.as_indexed()), plain)
    return _Matrices(found, transposed != (found.order == swapped))


def _result_shape(left: _Matrices, right: _Matrices) -> tuple[int, ...]:
    batches = left.laid.array.shape[:-2], right.laid.array.shape[:-2]
    if batches[0] != batches[1]:
        many = " and ".join(str(b[0]) if b else "no" for b in batches)
        raise ValueError(f"'a' and 'b' should hold equally many matrices, got a batch of {many}")
    if left.columns != right.rows:
        shapes = f"op(a) is {left.rows} x {left.columns}, op(b) is {right.rows} x {right.columns}"
        raise ValueError(f"'a' and 'b' do not fit: {shapes}")
    return (*batches[0], left.rows, right.columns)


def _row_major(out: object, shape: tuple[int, ...], element: DType) -> Array:
    found = as_output(out, shape, element)
    if found.order != tuple(range(len(shape))):
        raise ValueError("'out' should be row-major")
    return found.array


def _place(c: object, result: Array) -> None:
    """Put `c` where the kernel reads it: into the result."""
    array = as_array(c, "c")
    if array.dtype != result.dtype:
        raise TypeError(f"'c' should have dtype {result.dtype}, got {array.dtype}")
    try:
        wide = np.broadcast_to(array, result.shape)
    except ValueError:
        raise ValueError(f"'c' should broadcast to shape {result.shape}, got {array.shape}") from None
    np.copyto(result, wide)


def _ranked(array: Array, batch: int) -> Array:
    """A Gemm of one product has matrices, whatever the caller's rank."""
    return array.reshape(array.shape[-2:]) if batch == 1 else array


@lru_cache(maxsize=KERNELS)
def _kernel(
    sizes: tuple[int, int, int, int],
    transposes: tuple[bool, bool],
    scales: tuple[float, float],
    element: DType,
    where: Place,
    algorithm: str | None,
) -> Kernel:
    m, n, k, batch = sizes
    (a, b), (alpha, beta) = transposes, scales
    try:
        problem = Gemm(
            m, n, k, batch=batch, transpose_a=a, transpose_b=b, alpha=alpha, beta=beta, dtype=element
        )
    except Diagnostic as error:
        raise ValueError(error.message) from None
    return compile(problem, where.goal, threads=where.threads, algorithm=algorithm)
