"""What came of a model's layers: which were swapped, and of the others why not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from imbrex.numeral import counted

__all__ = ["Replaced", "Row"]


@dataclass(frozen=True)
class Row:
    """A layer.  reason: why it is torch's; None where it is swapped.  ours_s, theirs_s: seconds of its calls
    in one run of the example, with what is fused.  fused: what follows it in the same kernel.
    """

    name: str
    kind: str
    reason: str | None
    ours_s: float | None = None
    theirs_s: float | None = None
    fused: str = ""

    @property
    def slower(self) -> str | None:
        """Why a layer is given back that was measured; None where a kernel is faster."""
        if self.ours_s is None or self.theirs_s is None or self.ours_s <= self.theirs_s:
            return None
        return f"torch's own is faster, {self.theirs_s * 1e3:.3g} ms against {self.ours_s * 1e3:.3g}"

    def left(self, reason: str) -> Row:
        """The row of the layer that stays torch's, for this reason if there is no other."""
        return replace(self, reason=self.reason or reason)

    @property
    def text(self) -> str:
        """The row in words."""
        if self.reason is not None:
            return f"left: {self.reason}"
        times = ""
        if self.ours_s is not None and self.theirs_s is not None:
            times = f", {self.ours_s * 1e3:.3g} ms, torch {self.theirs_s * 1e3:.3g}"
        return f"swapped{f' with {self.fused}' if self.fused else ''}{times}"


@dataclass(frozen=True)
class Replaced:
    """Rows of all layers, in the model's order; its text is a table.  is_last: filters lie channels_last.
    ours_s, theirs_s: seconds of the whole model with kernels, and as it was.
    """

    rows: tuple[Row, ...]
    is_last: bool = False
    ours_s: float | None = None
    theirs_s: float | None = None

    @property
    def swapped(self) -> tuple[Row, ...]:
        """Layers that kernels compute."""
        return tuple(row for row in self.rows if row.reason is None)

    @property
    def left(self) -> tuple[Row, ...]:
        """Layers that torch computes."""
        return tuple(row for row in self.rows if row.reason is not None)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if not self.rows:
            yield "the model holds no layer that multiplies, such as Conv2d or Linear: 0 swapped"
            return
        names = [row.name or "(the model)" for row in self.rows]
        width, kinds = (max(map(len, words), default=0) for words in (names, [r.kind for r in self.rows]))
        for name, row in zip(names, self.rows, strict=True):
            yield f"{name:{width}}  {row.kind:{kinds}}  {row.text}"
        words = ", filters channels_last" if self.is_last else ""
        if self.ours_s is not None and self.theirs_s is not None:
            words += f"; the model: {self.ours_s * 1e3:.3g} ms, torch's {self.theirs_s * 1e3:.3g}"
        yield f"{len(self.swapped)} of {counted(len(self.rows), 'layer')} swapped{words}"
