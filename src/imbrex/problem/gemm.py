"""Gemm: a matrix product, plain or batched.

Law: a Gemm that exists is possible; the constructor raises one `Diagnostic` otherwise.  Arrays are row-major,
with gaps between rows where a leading dimension says so.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal, assert_never

import numpy.typing as npt

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import E8M0, F32, I8, SCALED, DType
from imbrex.problem import epilogue as after
from imbrex.problem.across import expect_blocks, expect_whole_rows
from imbrex.problem.epilogue import Epilogue
from imbrex.problem.field import constant, flag, number, operand_type, whole
from imbrex.problem.operand import GemmSizes, Operand, total_bytes
from imbrex.problem.run_time import MOST_ROWS, RunTime, expect_outermost, extent_text, sized
from imbrex.problem.stride import LEADING, STRIDES, Matrices, Stride, strided

__all__ = ["Gemm", "GemmRole"]

GemmRole = Literal["a", "b", "c"]

_FIELDS = (*LEADING.values(), *STRIDES.values())
"""Keys in the order in which they are written; left out where dense."""


@dataclass(frozen=True, init=False)
class Gemm:
    """C[m, n] = alpha * op(A)[m, k] op(B)[k, n] + beta * C[m, n]; row-major, `batch` of them in a row.

    A transposed operand is stored as [k, m] (or [n, k]).  Arrays have rank 2, or 3 where batch is above 1.
    epilogue: what becomes of each element before it is stored; its bias has n elements, row_scale m.
    lda, ldb, ldc: elements from a row of the stored array to the next; stride_a, stride_b, stride_c: from a
    matrix of the batch to the next, 0 where all are the same one.  None: no gaps, then nothing else.
    m: a number, or "?" or a range such as "?1..4096" of what a kernel is told when it runs: then m is the
    greatest and least_m the least one; see `problem.run_time`.  Or k, of an A that is transposed and a B that
    is not: the terms of its sums, as a gradient by a weight has them of all rows.
    Of a microscaled dtype there are two arrays more, `block_scale_a` [m, k / 32] and `block_scale_b`
    [n, k / 32], whatever is transposed: op(A)[m, k] is multiplied by the scale of its run of 32 along k.
    Where memory holds neighbours of either in packs, these lie along the last dim: A is [m, k / pack], or
    transposed [k, m / pack], B [k, n / pack], or transposed [n, k / pack], each with a pack of its own.
    """

    m: int
    n: int
    k: int
    batch: int
    transpose_a: bool
    transpose_b: bool
    alpha: float
    beta: float
    dtype: DType
    epilogue: Epilogue | None
    lda: int | None
    ldb: int | None
    ldc: int | None
    stride_a: int | None
    stride_b: int | None
    stride_c: int | None
    least_m: int | None
    least_k: int | None

    def __init__(
        self,
        m: int | str,
        n: int,
        k: int | str,
        *,
        batch: int = 1,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
        dtype: str | DType | npt.DTypeLike = F32,
        epilogue: str | Epilogue | None = None,
        lda: int | None = None,
        ldb: int | None = None,
        ldc: int | None = None,
        stride_a: int | None = None,
        stride_b: int | None = None,
        stride_c: int | None = None,
        least_m: int | None = None,
        least_k: int | None = None,
    ) -> None:
        (most_m, m_from), (most_k, k_from) = sized("m", m, MOST_ROWS), sized("k", k, MOST_ROWS)
        least = {"m": least_m if m_from is None else m_from, "k": least_k if k_from is None else k_from}
        sizes = {"m": most_m, "n": n, "k": most_k, "batch": batch}
        values: dict[str, object] = {"dtype": operand_type(dtype)}
        values |= {name: whole(name, size, least=1) for name, size in sizes.items()}
        flags = {"transpose_a": transpose_a, "transpose_b": transpose_b}
        values |= {name: flag(name, value) for name, value in flags.items()}
        values |= {"alpha": number("alpha", alpha), "beta": number("beta", beta)}
        values["epilogue"] = after.wanted(epilogue, operand_type(dtype))
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._check_scales()
        self._check_microscaled()
        given = {"a": (lda, stride_a), "b": (ldb, stride_b), "c": (ldc, stride_c)}
        for role in self.roles:
            found = strided(role, self.matrices(role), *given[role])
            object.__setattr__(self, LEADING[role], found.leading)
            object.__setattr__(self, STRIDES[role], found.batch)
        for name, size in least.items():
            found = None if size is None else whole(f"least_{name}", size, least=1)
            object.__setattr__(self, f"least_{name}", found)
        self._check_run_time()
        self._check_packs()

    def _check_scales(self) -> None:
        """Numbers must be some of the type that computes with them."""
        for name, scale in (("alpha", self.alpha), ("beta", self.beta)):
            if self.dtype == I8 and not (scale.is_integer() and abs(scale) < 2**31):
                message = f"{name} must be a whole number of 32 bits for i8, got {scale}"
                raise Diagnostic(message, subject=name)
            if self.dtype != I8:
                constant(name, scale, self.dtype.accumulator, subject=name)

    def _check_run_time(self) -> None:
        """A run-time size must not be in any address, and is one."""
        size = self.run_time
        if size is None:
            return
        if self.least_m is not None and self.least_k is not None:
            raise Diagnostic("m or k is a run-time size, not both", hint="give k a number", subject="k")
        if size.least > size.most:
            message = f"the least {size.name}, {size.least}, is above the greatest, {size.most}"
            raise Diagnostic(message, subject=size.name)
        for name, value in self.gaps.items():
            message = f"a run-time {size.name} is of arrays without gaps, got {name} {value}"
            raise Diagnostic(message, hint=f"give {size.name} a number", subject=name)
        expect_outermost(size.name, [(role, self.layout(role)) for role in self.roles])

    def _check_microscaled(self) -> None:
        """Each scale is of 32 terms."""
        if not self.dtype.is_microscaled:
            return
        if self.k % SCALED:
            message = f"{self.dtype} has a scale of each {SCALED} neighbours along k, and k is {self.k}"
            more = -(-self.k // SCALED) * SCALED
            raise Diagnostic(message, hint=f"fill a and b up to k {more} with zeros", subject="k")

    def _check_packs(self) -> None:
        """A pack is of neighbours in memory, and a row is of whole packs."""
        if self.dtype.is_microscaled and self.run_time is not None:
            name = self.run_time.name
            message = f"a run-time {name} is not for {self.dtype}"
            raise Diagnostic(message, hint=f"give {name} a number", subject=name)
        if self.dtype.pack == 1:
            return
        for role in self.across:
            expect_blocks(role, self.m if role == "a" else self.n, self.dtype)
        expect_whole_rows({name: value for name, value in self.gaps.items() if name[-1] in "ab"}, self.dtype)

    @property
    def across(self) -> str:
        """The operands, of "ab", that have packs along m or n, of elements of a type that has packs."""
        lie = (("a", self.transpose_a), ("b", not self.transpose_b))
        return "".join(role for role, is_across in lie if is_across and self.dtype.pack > 1)

    @property
    def multiplied_type(self) -> DType:
        """The type of the product of `multiplied`."""
        return self.dtype.lying(self.across)

    @property
    def run_time(self) -> RunTime | None:
        """The size that a kernel is told when it runs; None where all are numbers."""
        if self.least_k is not None:
            return RunTime("k", self.least_k, self.k, is_summed=True)
        return None if self.least_m is None else RunTime("m", self.least_m, self.m)

    def at(self, size: int) -> Gemm:
        """The problem with this number as its run-time size; a Diagnostic where that is not in the range."""
        match self.run_time:
            case None:
                return self
            case RunTime("k") as k:
                return replace(self, k=k.expect(size), least_k=None)
            case m:
                return replace(self, m=m.expect(size), least_m=None)

    @property
    def outermost(self) -> tuple[str, int]:
        """The size that may be open, by its name: rows of A as they lie."""
        return ("k", self.k) if self.transpose_a else ("m", self.m)

    def open(self, least: int, most: int) -> Gemm:
        """The problem with that range as its outermost size."""
        if self.transpose_a:
            return replace(self, k=most, least_k=least)
        return replace(self, m=most, least_m=least)

    @property
    def roles(self) -> tuple[GemmRole, GemmRole, GemmRole]:
        return ("a", "b", "c")

    @property
    def written(self) -> GemmRole:
        return "c"

    def dims(self, role: GemmRole) -> tuple[tuple[str, int], ...]:
        """Dimension names and sizes of that array, outermost first; the last in packs, where it has some."""
        a, b = (("m", self.m), ("k", self.k)), (("k", self.k), ("n", self.n))
        match role:
            case "a":
                matrix = a[::-1] if self.transpose_a else a
            case "b":
                matrix = b[::-1] if self.transpose_b else b
            case "c":
                matrix = (("m", self.m), ("n", self.n))
            case _:
                assert_never(role)
        matrix = (matrix[0], (matrix[1][0], matrix[1][1] // self.element(role).pack))
        return (("batch", self.batch), *matrix) if self.batch > 1 else matrix

    @property
    def all_dims(self) -> tuple[tuple[tuple[str, int], ...], ...]:
        """`dims` of every role."""
        return tuple(self.dims(role) for role in self.roles)

    def layout(self, role: GemmRole) -> tuple[str, ...]:
        """Dimension names of that array as it is stored, outermost first."""
        return tuple(name for name, _ in self.dims(role))

    def shapes(self, role: GemmRole) -> tuple[int, ...]:
        """The shape of that array as it is stored: [k, m] of a transposed a, the last dim in packs."""
        return tuple(size for _, size in self.dims(role))

    def matrices(self, role: GemmRole) -> Matrices:
        """The array of that role as it is stored, whatever its rank, in single elements."""
        rows, columns = self.shapes(role)[-2:]
        return Matrices(self.batch, rows, columns * self.element(role).pack)

    def stride(self, role: GemmRole) -> Stride:
        """What is not dense of that array, in single elements."""
        match role:
            case "a":
                return Stride(self.lda, self.stride_a)
            case "b":
                return Stride(self.ldb, self.stride_b)
            case "c":
                return Stride(self.ldc, self.stride_c)
            case _:
                assert_never(role)

    def strides(self, role: GemmRole) -> tuple[int, ...]:
        """Strides of that array's dimensions, in elements, or packs."""
        pack = self.element(role).pack
        batch, leading, _ = (step // pack for step in self.stride(role).of(self.matrices(role)))
        return (batch, leading, 1)[-len(self.shapes(role)) :]

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The arrays of `roles`, then those of the epilogue, for code that serves every Problem."""
        own = tuple(
            Operand(
                *(role, self.layout(role), self.shapes(role), self.element(role), role == "c"),
                None if self.stride(role) == Stride() else self.strides(role),
            )
            for role in self.roles
        )
        more = after.operands(self.epilogue, own[2], self.dtype, "n", "m")
        return (*own, *self.block_scales, *more)

    @property
    def multiplied(self) -> tuple[Operand, ...]:
        """`operands`, A and B in packs of as many neighbours of both, as a kernel counts them."""
        packs = zip(self.operands, self.multiplied_type.packs, strict=False)
        return (*(operand.in_packs(of) for operand, of in packs), *self.operands[2:])

    @property
    def block_scales(self) -> tuple[Operand, ...]:
        """The scales of a and of b; none but of a microscaled type."""
        if not self.dtype.is_microscaled:
            return ()
        batch = (("batch", self.batch),) if self.batch > 1 else ()
        sizes = (
            (*batch, (name, size), ("k", self.k // SCALED)) for name, size in (("m", self.m), ("n", self.n))
        )
        named = zip(("block_scale_a", "block_scale_b"), sizes, strict=True)
        return tuple(
            Operand(role, tuple(d for d, _ in dims), tuple(s for _, s in dims), E8M0, False)
            for role, dims in named
        )

    @property
    def result(self) -> Operand:
        """The array that is written."""
        return self.operands[self.roles.index(self.written)]

    def element(self, role: GemmRole) -> DType:
        """The element type of that role's array."""
        if role != "c":
            return self.dtype.operands[0 if role == "a" else 1]
        return (self.epilogue and self.epilogue.result) or self.dtype.output

    @property
    def gemm(self) -> GemmSizes:
        """Batch, m, n and k."""
        return GemmSizes(self.batch, self.m, self.n, self.k)

    @property
    def terms(self) -> int:
        """The number of products summed into one element of the result."""
        return self.k

    @property
    def flops(self) -> int:
        """Multiplications and additions: 2 * batch * m * n * k."""
        return 2 * self.batch * self.m * self.n * self.k

    @property
    def bytes(self) -> int:
        """Compulsory memory traffic: A and B read once, C written once, and read once where beta is not 0."""
        reread = 0 if self.beta == 0.0 else total_bytes(self.operands[2:3])
        return total_bytes(self.operands) + reread

    @property
    def gaps(self) -> dict[str, int]:
        """Leading dimensions and batch strides that are not the dense ones, by field."""
        named = ((name, getattr(self, name)) for name in _FIELDS)
        return {name: value for name, value in named if value is not None}

    def key(self) -> str:
        """Canonical short text, one per problem, fit for a file name."""
        letters = f"{'t' if self.transpose_a else 'n'}{'t' if self.transpose_b else 'n'}"
        scales = f"_alpha{self.alpha!r}_beta{self.beta!r}" if (self.alpha, self.beta) != (1.0, 0.0) else ""
        gaps = "".join(f"_{name.replace('_', '')}{value}" for name, value in self.gaps.items())
        ends = gaps + (f"{scales}_{self.epilogue.key}" if self.epilogue else scales)
        m = self.m if self.least_m is None else f"{self.least_m}to{self.m}"
        k = self.k if self.least_k is None else f"{self.least_k}to{self.k}"
        return f"gemm_{self.dtype}_{letters}_m{m}_n{self.n}_k{k}_g{self.batch}{ends}"

    def to_json(self) -> dict[str, object]:
        """Plain values by field; `json_form.from_json` is the inverse."""
        own = (field.name for field in fields(self) if field.name not in (*_FIELDS, "least_m", "least_k"))
        values = {name: getattr(self, name) for name in own} | self.gaps
        texts: dict[str, object] = {
            "dtype": self.dtype.name,
            "epilogue": self.epilogue and str(self.epilogue),
        }
        size = self.run_time
        texts |= {} if size is None else {size.name: extent_text(size.most, size.least)}
        return {"version": 1, "problem": "gemm", **values, **texts}
