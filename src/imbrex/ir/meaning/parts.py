"""Products of parts of buffers, as work items compute them."""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.ir.attrs import Int
from imbrex.ir.meaning.memory import Array
from imbrex.ir.ops.thread import ThreadwiseGemmOp

__all__ = ["Parts", "k_by_m"]


@dataclass(frozen=True, slots=True)
class Parts:
    """What a product takes: rows of a, columns of b, and the elements of c before its own."""

    rows: slice
    columns: slice
    start: int

    @staticmethod
    def of(op: ThreadwiseGemmOp) -> Parts:
        rows, columns = _span(op.start("a"), op.m_per_thread), _span(op.start("b"), op.n_per_thread)
        return Parts(slice(*rows), slice(*columns), op.start("c"))

    def multiplied(self, left: Array, right: Array, old: Array) -> Array:
        """Each work item's part of the product, added to its part of the old sums."""
        left, right = (k_by_m(x, blocked=x.ndim == 4) for x in (left, right))
        out = old.copy()
        product = left[..., self.rows].swapaxes(-1, -2) @ right[..., self.columns]
        row, column = divmod(self.start, old.shape[-1])
        m, n = product.shape[-2:]
        out[..., row : row + m, column : column + n] += product
        return out


def k_by_m(panel: Array, blocked: bool) -> Array:
    """[.., k / inner, m, inner] as [.., k, m]."""
    if not blocked:
        return panel
    *lead, outer, m, inner = panel.shape
    return panel.swapaxes(-1, -2).reshape(*lead, outer * inner, m)


def _span(start: int, width: Int | None) -> tuple[int, int | None]:
    return start, None if width is None else start + width.data
