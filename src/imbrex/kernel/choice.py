"""Choice: who chose a kernel's configuration, and what that gains.

Law: `from_json` undoes `to_json`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from imbrex.database.lookup import Found

__all__ = ["By", "Choice", "of_nearest", "of_winner"]

By: TypeAlias = Literal["caller", "model", "nearest", "measured"]


@dataclass(frozen=True, slots=True)
class Choice:
    """by: the caller, with a configuration or a part of one; the model; what a problem nearby is fastest by;
    what the problem itself is fastest by.

    gain: the time of the model's pick over that of the configuration, where it was measured: on `device`,
    `when`, told by the `database`, user or shipped, of `problem`.  passed_over: why nothing better was taken.
    """

    by: By
    gain: float | None = None
    when: str = ""
    device: str = ""
    database: str = ""
    problem: str = ""
    passed_over: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Choice:
        """What `to_json` wrote."""
        return Choice(**data)

    def __str__(self) -> str:
        """`measured 2026-11-22 on NVIDIA H200, 1.17 of the model's pick (user's database)`."""
        match self.by:
            case "measured":
                pick = "the model's pick" if self.gain == 1.0 else f"{self.gain:.2f} x the model's pick"
                reason = f"measured {self.when[:10]} on {self.device}, {pick} ({self.database} database)"
            case "nearest":
                reason = f"nearest, as {self.problem} was measured ({self.database} database)"
            case "caller":
                reason = "as asked for"
            case "model":
                reason = "by the model"
        return f"{reason}; {self.passed_over}" if self.passed_over else reason


def of_winner(found: Found) -> Choice:
    """The problem's own tuning."""
    winner = found.winner
    return Choice("measured", winner.gain, winner.when, winner.device, found.database, found.problem)


def of_nearest(found: Found) -> Choice:
    """A nearby problem's; what it gained there need not be gained here."""
    return Choice("nearest", None, found.winner.when, found.winner.device, found.database, found.problem)
