"""GemmContext: what a tuning may know of the GEMM it serves: sizes, type, how each matrix lies in memory.

C[g, m, n] = sum over k of A[g, k, m] * B[g, k, n].  Layouts do not appear: they have become vector widths
and runs, which the algebra found.  Dimension 0 of A and B is gemmK and 1 is gemmM or gemmN; C has gemmM and
gemmN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import gcd

from imbrex.cached import cached_property, keeps_hash
from imbrex.config.finishing import Finishing
from imbrex.dtype import DType
from imbrex.index.met import Guarded
from imbrex.view.conv.row_taps import RowTaps

__all__ = ["SAMPLE", "Access", "GemmContext", "round_up"]

SAMPLE = 1024
"""Steps and runs are measured on the first coordinates only, this many."""


def round_up(value: int, multiple: int) -> int:
    """The least multiple that is not below `value`."""
    return -(-value // multiple) * multiple


@dataclass(frozen=True)
class Access:
    """How one matrix lies in memory, by matrix dimension.

    vector: widest legal, aligned vector along the dimension, in elements (`index.query.vector_width`).
    step: how far apart most neighbours along the dimension lie: 1 or 2 elements, or 0 for anything else.
    run: mean length of the stretches in which neighbours lie `step` apart, whatever their alignment.
    is_packed: vectors along dimension 0 follow each other along dimension 1, as in a packed tile.
    even: neighbours along dimension 0 whose addresses differ alike in all stretches of so many, and exist
    together (`index.query.stretch`); 1 where dimension 0 has a step of 1.
    elements: of the array, which the matrix may show several times, as windows do; 0 where it is not known.
    pitch: how many elements apart most neighbours along the dimension lie; 0 where it is not known.
    is_boxed: may several rows of neighbours that lie together be a box of the array's (`is_steady`,
    view/tensor/space.py)?
    guarded: of padded windows what guards say, rows being dimension 0 and lanes dimension 1.
    """

    vector: tuple[int, int] = (1, 1)
    run: tuple[float, float] = (1.0, 1.0)
    step: tuple[int, int] = (1, 1)
    is_packed: bool = False
    elements: int = field(default=0, compare=False)
    even: int = 1
    pitch: tuple[int, int] = field(default=(0, 0), compare=False)
    is_boxed: bool = field(default=True, compare=False)
    guarded: Guarded | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        assert min(self.vector) >= 1 and min(self.run) >= 1, f"widths and runs are at least 1: {self}"

    @cached_property
    def exchanged(self) -> Access:
        """The same memory with the two matrix dimensions exchanged."""
        (v0, v1), (r0, r1), (s0, s1), (p0, p1) = self.vector, self.run, self.step, self.pitch
        pitch, is_boxed = (p1, p0), self.is_boxed
        return Access((v1, v0), (r1, r0), (s1, s0), elements=self.elements, pitch=pitch, is_boxed=is_boxed)

    @cached_property
    def read_dim(self) -> int:
        """0 where neighbours along k lie together in memory, 1 where those along the other dim do; where none
        do, 1 if those of the other dim alone lie two apart.
        """
        if self.vector[0] != self.vector[1]:
            return 0 if self.vector[0] > self.vector[1] else 1
        least = 1 if 1 in self.step else 2
        runs = [run if step == least else 0.0 for run, step in zip(self.run, self.step, strict=True)]
        return 0 if runs[0] >= runs[1] else 1

    def met(self, width: int) -> float:
        """The part of (row, strip of `width` lanes) that is not padding alone."""
        return 1.0 if self.guarded is None else self.guarded.met(width)

    def cut(self, width: int) -> float:
        """The part of (row, strip of `width` lanes) in which some lanes are padding and others not."""
        return 0.0 if self.guarded is None else self.guarded.cut(width)

    def repeats(self, count: int) -> bool:
        """Do `count` elements of the matrix show some of the array's several times, as windows do?"""
        return 0 < self.elements < count


@keeps_hash
@dataclass(frozen=True)
class GemmContext:
    """One GEMM, g times over.

    phases: columns of C for each of B, of which `summed` sum over parts of K of multiples of `part_k`, and
    others are zero; see `view.conv.phase_tiles`.  mean_k: of all batches; 0 where that is k.
    stored: of C in memory, where an epilogue casts; None for the type's own.  finishing: by an
    epilogue, or alpha and beta, between the sums and C.  taps: those of a window's row, whose pixels B shows
    again so many columns further on; None where it shows none.
    """

    m: int
    n: int
    k: int
    dtype: DType
    g: int = 1
    a: Access = Access()
    b: Access = Access()
    c: Access = Access()
    phases: int = 1
    part_k: int = 0
    summed: int = 1
    mean_k: int = 0
    stored: DType | None = None
    finishing: Finishing = Finishing.NONE
    taps: RowTaps | None = None

    def __post_init__(self) -> None:
        assert min(self.g, self.m, self.n, self.k) >= 1, f"sizes are at least 1: {self}"

    @property
    def details(self) -> tuple[tuple[object, ...], ...]:
        """What is not compared of A, B and C, so that the parts of a gradient of images whose products are
        alike but for it share a tuning: what is kept by a context, and asks for it, is kept by this as well.
        """
        return tuple((x.elements, x.pitch, x.is_boxed, x.guarded) for x in (self.a, self.b, self.c))

    @property
    def multiplies(self) -> int:
        """Multiply-adds that the problem itself asks for, of all elements of packs."""
        return self.g * self.m * self.n * self.k * self.dtype.pack

    @cached_property
    def element_bytes(self) -> tuple[int, int]:
        """Bytes of an element of A and of one of B, or of a pack."""
        a, b = self.dtype.packs
        return a.bytes, b.bytes

    @cached_property
    def lds_bytes(self) -> tuple[int, int]:
        """The same in LDS of a GPU, from one element to the next."""
        a, b = self.dtype.packs
        return a.in_lds.bytes, b.in_lds.bytes

    @property
    def across(self) -> tuple[DType | None, DType | None]:
        """Packs of A and of B that lie along m or n; None of an operand that has none."""
        a, b = self.dtype.packs
        return a if a.across else None, b if b.across else None

    @property
    def stored_bytes(self) -> int:
        """Bytes of an element of C in memory."""
        return (self.stored or self.dtype.output).bytes

    @property
    def a_is_columns(self) -> bool:
        """Do neighbours along m lie together in A, however far one goes?  Those of windows end with a row."""
        is_long = self.a.step[1] == 1 and self.a.run[1] >= min(self.m, SAMPLE)
        return is_long and not self.a.repeats(self.g * self.m * self.k)

    @cached_property
    def exchanged(self) -> GemmContext:
        """The transposed product: B plays A, and n plays m."""
        exchanged = {"a": self.b, "b": self.a, "c": self.c.exchanged, "dtype": self.dtype.exchanged}
        return replace(self, m=self.n, n=self.m, **exchanged)

    def storing(self, stored: DType) -> GemmContext:
        """The same where C in memory has elements of this type."""
        return replace(self, stored=None if stored == self.dtype.output else stored)

    def of_phases(self, phases: Sequence[int], lengths: Sequence[int]) -> GemmContext:
        """The same with the phase of each of the equal parts of K, and what batches have of a part."""
        mean = sum(lengths) * len(phases) // len(lengths)
        each = gcd(self.k // len(phases), *lengths)
        return replace(self, part_k=each, summed=len(set(phases)), mean_k=mean)

    def padded(self, tile_m: int, tile_n: int, tile_k: int) -> tuple[int, int, int]:
        """m, n, k rounded up to whole tiles."""
        return round_up(self.m, tile_m), round_up(self.n, tile_n), round_up(self.k, tile_k)

    def wasted(self, tile_m: int, tile_n: int, tile_k: int) -> int:
        """Multiply-adds spent on padding, per g (rocMLIR orders its lists by this)."""
        m, n, k = self.padded(tile_m, tile_n, tile_k)
        return m * n * k - self.m * self.n * self.k
