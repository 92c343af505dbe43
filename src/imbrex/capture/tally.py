"""Tally: the problems of a model, each with how often it is computed, and the ops that no problem states.

Law: `text` is what every command reads; what was left out stands in it as comments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from imbrex.diagnostic import Diagnostic, printable
from imbrex.problem import Problem, problem_text

__all__ = ["Tally"]


@dataclass(frozen=True)
class Tally:
    """left: ops that multiply and have no problem here, with the reason.  others: all other ops, by name."""

    problems: dict[Problem, int] = field(default_factory=dict[Problem, int])
    left: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    others: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, op: str, stated: Callable[[], list[Problem]]) -> None:
        """The problems of an op; it is left out where there can be none."""
        try:
            for problem in stated():
                self.problems[problem] = self.problems.get(problem, 0) + 1
        except Diagnostic as reason:
            self.leave(op, reason.message)

    def leave(self, op: str, reason: str) -> None:
        """An op that multiplies, and that is no problem."""
        self.left[op, reason] = self.left.get((op, reason), 0) + 1

    def pass_by(self, op: str) -> None:
        """An op that multiplies nothing."""
        self.others[op] = self.others.get(op, 0) + 1

    def text(self, title: str) -> str:
        """Lines with counts, the most work first; comments say what was left out."""
        lines = [f"# {printable(title)}"]
        ordered = sorted(self.problems.items(), key=lambda found: -found[0].flops * found[1])
        wide = len(str(max(self.problems.values(), default=1)))
        lines += [f"{count:{wide}} {problem_text(problem)}" for problem, count in ordered]
        lines += [f"# left out: {line}" for line in self.left_lines]
        if self.others:
            others = ", ".join(f"{count} {op}" for op, count in sorted(self.others.items()))
            lines.append(f"# other ops: {others}")
        return "\n".join([*lines, ""])

    @property
    def left_lines(self) -> list[str]:
        """What was left out, one each: `3 aten.conv3d: only two-dimensional convolutions are supported`."""
        return [f"{n} {op}: {reason}".replace("\n", " ") for (op, reason), n in self.left.items()]
