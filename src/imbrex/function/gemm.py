"""gemm: the product of two matrices, or of as many pairs of them as there are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from imbrex.argument import number, text, truth
from imbrex.database.news import News, news
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.function.array import KERNELS, Laid
from imbrex.function.batches import Batches, expect_batches, kernel_of
from imbrex.function.block_scales import element_of, laid_blocks, scales_of
from imbrex.function.call_target import CallTarget, call_target, expect_named
from imbrex.function.finish import each_out, epilogue_of, first_out, further, laid_further, results_of, stored
from imbrex.function.matrix import Apart, Matrices, matrices, result
from imbrex.function.memory import Memory
from imbrex.function.memory_of import memory_of
from imbrex.function.packs import in_packs
from imbrex.function.plan import Served, planned, remember
from imbrex.kernel import Emulate, Kernel
from imbrex.kernel.tuned import Effort, expect_effort
from imbrex.problem import Gemm
from imbrex.problem.epilogue import Epilogue
from imbrex.problem.epilogue_array import Array
from imbrex.problem.stride import LEADING, STRIDES
from imbrex.run.arrays import handed
from imbrex.run.graph_break import outside_graphs
from imbrex.run.traced import expect_numbers

__all__ = ["gemm"]


@outside_graphs
def gemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transpose_a: bool = False,
    transpose_b: bool = False,
    epilogue: str | Epilogue | None = None,
    bias: Any = None,
    residual: Any = None,
    scales: Mapping[str, Any] | None = None,
    block_scales: tuple[Any, Any] | None = None,
    compute: str | None = None,
    batches: Batches = "each",
    out: Any = None,
    target: str | None = None,
    emulate: Emulate = False,
    algorithm: str | None = None,
    threads: int | None = None,
    stream: Any = None,
    tune: Effort | None = None,
) -> Any:
    """alpha * op(a) op(b) + beta * c, as an array of a's kind; without `c` there is no second term.

    - a, b: arrays of one dtype, NumPy's, torch's or of whatever speaks DLPack: op(a) is [m, k] and op(b) is
      [k, n], or [batch, m, k] and [batch, k, n]; op transposes the last two dimensions where `transpose_a`,
      `transpose_b` say so. float8 gives float32, int8 gives int32, all else its own dtype, unless the
      epilogue casts. Views are used where they lie if the elements of a row, or of a column, lie side by
      side; others are copied.
    - c: broadcast to the result's shape, [m, n] or [batch, m, n]; not changed, unless it is `out`.
    - out: where the result goes, of its shape and dtype, row-major, sharing no memory with what is read;
      rows may have gaps between them.
    - epilogue: what becomes of each element, such as "gelu(x + bias)" (docs/epilogue.md). Without one,
      `bias` of [n] and `residual` of the result's shape are added. With a `pre_activation(...)` in it, the
      result, and `out`, are a pair (result, pre-activation).
    - scales: float32 arrays by name. Sums are multiplied by `scale_a` and `scale_b` of one number,
      `row_scale` of [m] and `channel_scale` of [n] before the epilogue, and by `scale_c` of one after it.
    - block_scales: for microscaled types, two arrays of E8M0, [m, k / 32] and [n, k / 32] (docs/amd.md).
    - compute: "tf32" multiplies float32 by 11 bits of the significand, on a GPU that can; "mxfp4" and its
      like say what bytes of packed elements are.
    - batches: "any" compiles one kernel for all m, "each" one for every m (docs/dynamic.md).
    - target, emulate, algorithm: as `compile` takes them. By default the CPU, or the NVIDIA GPU on which a
      and b lie; for another GPU they are copied there and back.
    - threads: of a CPU. stream: of a GPU, a handle or one of torch's or CuPy's; torch's current by default.
      A call on arrays of a GPU is not waited for.
    - tune: "quick", "normal" or "full": the problem is tuned on this machine first, where it was not before
      (docs/tune.md); not with `algorithm` or `batches`.

    TypeError for what an array is (dtype, kind), ValueError for its shape, layout or an unknown word, and a
    Diagnostic where the target has no such kernel. The first call for new shapes compiles.
    """
    more, blocks = further(bias, residual, scales), scales_of(block_scales)
    flags, names = (transpose_a, transpose_b), (*more, len(blocks))
    options = (
        "gemm",
        alpha,
        beta,
        flags,
        target,
        emulate,
        algorithm,
        epilogue,
        names,
        compute,
        batches,
        tune,
    )
    if c is None and stream is None:
        if (found := planned(options, (a, b, *blocks, *more.values(), *each_out(out)), threads)) is not None:
            return found
    return _product(_GemmOptions(*options), (a, b, c, out, blocks), more, threads, stream)


class _GemmOptions(NamedTuple):
    """What a caller says beside arrays.  transposes: of a and b.
    further: the epilogue's arrays that there are, and how many there are of scales of blocks.
    """

    function: str
    alpha: float
    beta: float
    transposes: tuple[bool, bool]
    target: str | None
    emulate: Emulate
    algorithm: str | None
    epilogue: str | Epilogue | None
    further: tuple[str | int, ...]
    compute: str | None
    batches: Batches
    tune: Effort | None

    @property
    def chosen(self) -> tuple[Batches, str | None, Effort | None]:
        """Batches, algorithm and the effort of a tuning."""
        return self.batches, self.algorithm, self.tune

    def checked(self, c: Any) -> tuple[float, float]:
        """alpha and beta, 0 without a `c`; TypeError and ValueError for words that say nothing."""
        for name, value in zip(("transpose_a", "transpose_b"), self.transposes, strict=True):
            truth(name, value)
        expect_named(self.target)
        if self.algorithm is not None:
            text("algorithm", self.algorithm, "a name")
        expect_batches(self.batches)
        open_ones = "any" if self.batches == "any" else None
        expect_effort(self.tune, algorithm=self.algorithm, batches=open_ones)
        alpha, beta = number("alpha", self.alpha), number("beta", self.beta)
        if c is None and beta not in (0.0, 1.0):
            raise ValueError(f"'beta' is {beta:g}, and there is no 'c' that it multiplies; 'out' is not read")
        return alpha, 0.0 if c is None else beta


def _product(
    options: _GemmOptions,
    given: tuple[Any, Any, Any, Any, tuple[Any, ...]],
    more: Mapping[Array, Any],
    threads: int | None,
    stream: Any,
) -> Any:
    """given: a, b, c, out, and scales of blocks.  more: what the epilogue reads."""
    a, b, c, out, blocks = given
    alpha, beta = options.checked(c)
    for name, value in (("a", a), ("b", b)):
        expect_numbers(value, name)
    memory = memory_of(a, options.target)
    where = call_target(options.target, options.emulate, threads, memory.target)
    left, right, element = _operands(options, a, b, blocks, memory)
    laid_out = {"a": left.laid, "b": right.laid}
    after = epilogue_of(options.epilogue, tuple(more), element)
    shape, terms = _result_shape(left, right, element)
    product = result(memory, shape, stored(after, element), first_out(out, after))
    written = product.laid
    results, returned = results_of(written, after, out, laid_out, a)
    read = laid_further(more, (element, stored(after, element)), (shape[-2], shape[-1]), results, out)
    if beta != 0.0:
        _write_c(c, written.array, memory)
    if 0 in shape or (not left.columns and after is None):
        _without_terms(memory, written.array, beta)
        return handed(returned, a) if out is None else returned
    if not left.columns:
        element = element.element if element.element.is_operand else element.accumulator
        (left, right), blocks = _one_zero_term(memory, shape, element), ()
        terms = 1
    sizes = (shape[-2], shape[-1], terms, shape[0] if len(shape) == 3 else 1)
    read = (*laid_blocks(blocks, shape, sizes[2], memory), *read)
    flags = (left.is_transposed, right.is_transposed)
    shape_of_call = _Shape(sizes, flags, (left.apart, right.apart, product.apart), (alpha, beta))
    kernel = _kernel(shape_of_call, element, after, where, options.chosen, news())
    arrays = (left.laid.array, right.laid.array, written.array, *read, *(x.array for x in results[1:]))
    used = tuple(_ranked(x, sizes[3]) for x in arrays)
    memory.run(kernel, used, threads, stream)
    if c is None and stream is None:
        positions = (0, 1, 2 + len(read), *range(2, 2 + len(read)), *range(3 + len(read), len(used)))
        values = (a, b, *blocks, *more.values(), *each_out(out))
        remember(options, values, threads, Served(kernel, used, positions), returned)
    return handed(returned, a) if out is None else returned


class _Operands(NamedTuple):
    """What a call multiplies, and the type of the product."""

    a: Matrices
    b: Matrices
    element: DType


def _operands(options: _GemmOptions, a: Any, b: Any, blocks: tuple[Any, ...], memory: Memory) -> _Operands:
    """The two matrices; those of elements of fewer than 8 bits in packs."""
    packs = in_packs(a, b, options.transposes, options.compute) if blocks else None
    if packs is not None:
        a_is_turned, b_is_turned = packs.transposes
        left = matrices(packs.a, "a", a_is_turned, memory)
        right = matrices(packs.b, "b", b_is_turned, memory)
        return _Operands(left, right, packs.product)
    left, right = (
        matrices(value, name, is_so, memory)
        for value, name, is_so in zip((a, b), "ab", options.transposes, strict=True)
    )
    return _Operands(left, right, element_of({"a": left.laid, "b": right.laid}, options.compute, blocks))


def _without_terms(memory: Memory, result: Any, beta: float) -> None:
    """A sum of no products."""
    if beta == 0.0:
        memory.clear(result)
    else:
        memory.scale(result, beta)


def _result_shape(left: Matrices, right: Matrices, element: DType) -> tuple[tuple[int, ...], int]:
    """The shape of the result, and the terms of a sum."""
    batches = tuple(left.laid.array.shape[:-2]), tuple(right.laid.array.shape[:-2])
    if batches[0] != batches[1]:
        raise ValueError(_batches(left, right))
    of_a, of_b = element.operands
    (rows, terms), (others, columns) = left.elements(of_a.pack), right.elements(of_b.pack)
    if terms != others:
        shapes = f"op(a) is {rows} x {terms}, op(b) is {others} x {columns}"
        raise ValueError(f"'a' and 'b' do not fit: {shapes}")
    return (*batches[0], rows, columns), terms


def _batches(left: Matrices, right: Matrices) -> str:
    """What is wrong with the numbers of matrices, and what would do."""
    a, b = left.laid.array.shape, right.laid.array.shape
    many = [f"a batch of {shape[0]}" if len(shape) == 3 else "none" for shape in (a, b)]
    message = f"'a' has {many[0]} and 'b' has {many[1]}"
    if len(a) == len(b):
        return f"{message}; give both equally many matrices"
    if len(a) == 2:
        return f"{message}; broadcast 'a' to a batch of {b[0]}"
    rows = "" if left.is_transposed else f"reshape 'a' to {(a[0] * a[1], a[2])}, or "
    return f"{message}; {rows}broadcast 'b' to a batch of {a[0]}"


def _one_zero_term(memory: Memory, shape: tuple[int, ...], element: DType) -> tuple[Matrices, Matrices]:
    """Matrices whose product is a sum of no products, for a kernel that does more than to sum."""
    made: list[Matrices] = []
    for sizes in ((*shape[:-1], 1), (*shape[:-2], 1, shape[-1])):
        array = memory.empty(sizes, element)
        memory.clear(array)
        made.append(Matrices(Laid(array, tuple(range(len(sizes))), memory), False))
    return made[0], made[1]


def _write_c(c: object, result: Any, memory: Memory) -> None:
    """Put `c` where the kernel reads it: into the result."""
    array = memory.taken(c, "c")
    names = memory.type_name(array), memory.type_name(result)
    if names[0] != names[1]:
        raise TypeError(f"'c' should have dtype {names[1]}, got {names[0]}")
    try:
        memory.put(array, result)
    except ValueError:
        shapes = tuple(result.shape), tuple(array.shape)
        raise ValueError(f"'c' should broadcast to shape {shapes[0]}, got {shapes[1]}") from None


def _ranked(array: Any, batch: int) -> Any:
    """A Gemm of one product has matrices, whatever the caller's rank."""
    return array[0] if batch == 1 and array.ndim == 3 else array


class _Shape(NamedTuple):
    """m, n, k and batch of a product, how its matrices lie, and alpha and beta."""

    sizes: tuple[int, int, int, int]
    transposes: tuple[bool, bool]
    apart: tuple[Apart | None, Apart | None, Apart | None]
    scales: tuple[float, float]


@lru_cache(maxsize=KERNELS)
def _kernel(
    shape: _Shape,
    element: DType,
    after: Epilogue | None,
    where: CallTarget,
    chosen: tuple[Batches, str | None, Effort | None],
    news: News,
) -> Kernel:
    """chosen: batches, algorithm and effort.  news: what was concluded meanwhile may make it another one."""
    m, n, k, batch = shape.sizes
    (a, b), (alpha, beta) = shape.transposes, shape.scales
    fields = {"batch": batch, "transpose_a": a, "transpose_b": b, "alpha": alpha, "beta": beta}
    for role, between in zip(LEADING, shape.apart, strict=True):
        fields |= {} if between is None else {LEADING[role]: between[0], STRIDES[role]: between[1]}
    try:
        problem = Gemm(m, n, k, **fields, dtype=element, epilogue=after)  # type: ignore[arg-type]
    except Diagnostic as error:
        raise ValueError(error.message) from None
    return kernel_of(problem, where, *chosen)
