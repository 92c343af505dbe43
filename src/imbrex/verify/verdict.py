"""Verdict: what several passes over a kernel found, each with values of another kind."""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.numeral import counted
from imbrex.verify.compare import Comparison, Mismatch
from imbrex.verify.data import Values

__all__ = ["Pass", "Verdict"]


@dataclass(frozen=True)
class Pass:
    """values: of the operands.  fault: what the kernel did beside its result, None for nothing.

    comparison: of the result; None where the fault left none.
    """

    values: Values
    comparison: Comparison | None
    fault: str | None = None

    @property
    def is_right(self) -> bool:
        return self.fault is None and self.comparison is not None and self.comparison.is_right

    def __str__(self) -> str:
        if self.fault is not None:
            return f"wrong: {self.fault}"
        return str(self.comparison)


@dataclass(frozen=True)
class Verdict:
    """Right where all passes are.  What is asked of one is asked of the first that is wrong, or the last."""

    passes: tuple[Pass, ...]

    @property
    def is_right(self) -> bool:
        return all(one.is_right for one in self.passes)

    @property
    def failed(self) -> Pass | None:
        """The first that is wrong."""
        return next((one for one in self.passes if not one.is_right), None)

    @property
    def fault(self) -> str | None:
        """What the kernel did beside its result, in the first pass that is wrong."""
        return None if self.failed is None else self.failed.fault

    @property
    def elements(self) -> int:
        return max((one.elements for one in self._comparisons), default=0)

    @property
    def wrong(self) -> int:
        return max((one.wrong for one in self._comparisons), default=0)

    @property
    def unwritten(self) -> int:
        return max((one.unwritten for one in self._comparisons), default=0)

    @property
    def gap_writes(self) -> int:
        return max((one.gap_writes for one in self._comparisons), default=0)

    @property
    def is_exact(self) -> bool:
        """Had every element to be equal, in one pass at least?"""
        return any(one.is_exact for one in self._comparisons)

    @property
    def max_error_ratio(self) -> float:
        """The largest |got - want| / bound of all elements and passes."""
        return max((one.max_error_ratio for one in self._comparisons), default=0.0)

    @property
    def first(self) -> Mismatch | None:
        """The first wrong element of the first pass that has one."""
        return next((one.first for one in self._comparisons if one.first is not None), None)

    @property
    def _comparisons(self) -> tuple[Comparison, ...]:
        return tuple(one.comparison for one in self.passes if one.comparison is not None)

    def __str__(self) -> str:
        failed = self.failed
        if failed is not None:
            return f"{failed}, on {failed.values} values"
        if len(self.passes) == 1:
            return str(self.passes[0])
        kinds = [one.values for one in self.passes]
        elements, on = counted(self.elements, "element"), f"{', '.join(kinds[:-1])} and {kinds[-1]} values"
        return f"right: {elements}, on {on}"
