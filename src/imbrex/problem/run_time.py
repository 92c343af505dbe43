"""RunTime: a size that a kernel is told when it runs, from `least` to `most`: `?` in a problem's text.

    gemm -m ? -n 4096 -k 4096             rows of A and C
    gemm -m 512 -n 64 -k ? -transA 1      terms of the sums: rows of A and of B, as they lie
    conv -n ?1..64 -c 64 ... -F 1         images

Law: such a size is that of the outermost dimension of every array that has it, so that no address depends on
it.  The problem itself holds the greatest one as its m, k or n, and `least`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from imbrex.diagnostic import Diagnostic
from imbrex.numeral import MOST, whole
from imbrex.problem.operand import Operand

__all__ = ["MOST_IMAGES", "MOST_ROWS", "RunTime", "expect_fixed", "expect_outermost", "extent_text", "sized"]

MOST_ROWS: Final = 1 << 16
"""The greatest m of a product where `?` says no other."""
MOST_IMAGES: Final = 1 << 10
"""The same of the images of a convolution."""
_RANGE: Final = re.compile(r"(\d+)\.\.(\d+)")


@dataclass(frozen=True)
class RunTime:
    """name: the problem's word for it, m, k or n.  is_summed: the result is a sum over it."""

    name: str
    least: int
    most: int
    is_summed: bool = False

    def __str__(self) -> str:
        return extent_text(self.most, self.least)

    def __contains__(self, size: int) -> bool:
        return self.least <= size <= self.most

    def is_of(self, operand: Operand) -> bool:
        """Has that array the size?"""
        return operand.layout[0] == self.name

    def expect(self, size: int) -> int:
        """The size; a Diagnostic where it is not in the range."""
        if size not in self:
            message = f"{self.name} is from {self.least} to {self.most}, got {size}"
            raise Diagnostic(message, hint=f"the problem's range is its {self.name}", subject=self.name)
        return size


def sized(name: str, value: object, usual: int) -> tuple[object, int | None]:
    """The greatest size and the least one of `?` and `?1..64`; a size that is no such text, and None.

    usual: the greatest size of `?` alone.
    """
    if not (isinstance(value, str) and value.startswith("?")):
        return value, None
    if value == "?":
        return usual, 1
    found = _RANGE.fullmatch(value[1:])
    ends = [whole(end, 1, MOST) for end in found.groups()] if found else []
    if len(ends) != 2 or ends[0] is None or ends[1] is None or ends[0] > ends[1]:
        message = f"{name} is a number, '?' or a range such as '?1..{usual}', got '{value}'"
        raise Diagnostic(message, subject=name)
    return ends[1], ends[0]


def extent_text(size: int, least: int | None) -> str:
    """A size as a problem's text has it."""
    return str(size) if least is None else f"?{least}..{size}"


def expect_fixed(size: RunTime | None, does: str) -> None:
    """A Diagnostic where a size is told when a kernel runs.  does: what is done with problems."""
    if size is not None:
        message = f"{does} takes problems whose sizes are numbers, and {size.name} is '{size}'"
        raise Diagnostic(message, hint=f"give {size.name} a number", subject=size.name)


def expect_outermost(name: str, layouts: Sequence[tuple[str, tuple[str, ...]]]) -> None:
    """A Diagnostic where a run-time size is not that of the outermost dimension.  layouts: by role."""
    for role, layout in layouts:
        if name in layout and layout[0] != name:
            message = f"a run-time {name} is the outermost dimension of its arrays, and '{role}' has"
            hint = f"give {name} a number, or lay '{role}' out with {name} first"
            hint += ", by -transA 1" if name == "k" and role == "a" else ""
            raise Diagnostic(f"{message} {', '.join(layout)}", hint=hint, subject=name)
