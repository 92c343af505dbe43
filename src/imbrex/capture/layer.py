"""Layer: the problem of a layer, by the shapes of its arrays.

Law: one way from shapes to a problem, whoever names them; a convolution of one dimension is one of images
that have one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from imbrex.diagnostic import Diagnostic
from imbrex.numeral import counted
from imbrex.problem import Conv2d, Direction, Gemm

__all__ = ["Conv", "product"]


@dataclass(frozen=True)
class Conv:
    """images, filters: shapes, channels second.  pads: before and after each dimension of the images.

    is_last: do the images, the filters and the result lie with their channels last?
    """

    images: tuple[int, ...]
    filters: tuple[int, ...]
    stride: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    groups: int
    dtype: str
    is_last: tuple[bool, bool, bool] = (False, False, False)

    def problem(self, direction: Direction, epilogue: str | None = None) -> Conv2d:
        """A Diagnostic where there is none."""
        rank = len(self.images) - 2
        if rank == 1:
            return self._with_a_row().problem(direction, epilogue)
        if rank != 2:
            raise Diagnostic(f"only convolutions of one and two dimensions are supported, this has {rank}")
        (n, c, h, w), (k, per_group, y, x) = self.images, self.filters
        if c != per_group * self.groups:
            groups = counted(self.groups, "group")
            message = f"filters of {counted(per_group, 'channel')} do not meet images of {c} in {groups}"
            raise Diagnostic(message)
        images, filters, results = self.is_last
        return Conv2d(
            direction, n, c, h, w, k, y, x,
            pad_h=self.pads[0], pad_w=self.pads[1], stride=(self.stride[0], self.stride[1]),
            dilation=(self.dilation[0], self.dilation[1]), groups=self.groups,
            input_layout="NHWC" if images else "NCHW", filter_layout="KYXC" if filters else "KCYX",
            output_layout="NHWK" if results else "NKHW", dtype=self.dtype, epilogue=epilogue,
        )  # fmt: skip

    def _with_a_row(self) -> Conv:
        (n, c, w), (k, per_group, x) = self.images, self.filters
        return replace(
            self, images=(n, c, 1, w), filters=(k, per_group, 1, x), stride=(1, *self.stride),
            pads=((0, 0), *self.pads), dilation=(1, *self.dilation),
        )  # fmt: skip


def product(
    a: Sequence[int],
    b: Sequence[int],
    dtype: str,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    epilogue: str | None = None,
) -> Gemm:
    """Product of arrays of any rank, as of matmul; to one matrix B, the batch of A is further rows.

    a, b: shapes as [..., m, k] and [..., k, n], whichever of them lie transposed.
    """
    left = tuple(a) if len(a) > 1 else (1, *a)
    right = tuple(b) if len(b) > 1 else (*b, 1)
    (m, k), n = left[-2:], right[-1]
    if right[-2] != k:
        raise Diagnostic(f"a product of {tuple(a)} and {tuple(b)} does not sum over equal sizes")
    batch = prod(_broadcast(left[:-2], right[:-2]))
    if prod(right[:-2]) == 1 and not transpose_a:
        m, batch = m * batch, 1
    return Gemm(
        m, n, k, batch=batch, transpose_a=transpose_a, transpose_b=transpose_b, alpha=alpha, dtype=dtype,
        epilogue=epilogue,
    )  # fmt: skip


def _broadcast(one: Sequence[int], other: Sequence[int]) -> list[int]:
    rank = max(len(one), len(other))
    pairs = zip((1,) * (rank - len(one)) + tuple(one), (1,) * (rank - len(other)) + tuple(other), strict=True)
    found: list[int] = []
    for size, with_size in pairs:
        if size != with_size and 1 not in (size, with_size):
            raise Diagnostic(f"batches of {tuple(one)} and {tuple(other)} do not broadcast")
        found.append(with_size if size == 1 else size)
    return found
