"""Constraints: what a caller says of a kernel's configuration: texts, which a warm start does not parse."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from imbrex.argument import text as expect_text
from imbrex.diagnostic import Diagnostic

if TYPE_CHECKING:  # the compiler's own modules; a warm start goes without
    from imbrex.config.configuration import Configuration
    from imbrex.config.tiles import TileSchedule
    from imbrex.config.tuning import Tuning

__all__ = ["Constraints", "constraints"]


@dataclass(frozen=True, slots=True)
class Constraints:
    """All of a configuration, or parts that narrow what is chosen; None leaves a part to the compiler.

    tuning: of every product.  schedule: of output tiles.  config: a configuration, which says all of these.
    """

    tuning: str | None = None
    algorithm: str | None = None
    schedule: str | None = None
    config: str | None = None

    def __post_init__(self) -> None:
        parts = [f"--{name}" for name in self.said if name != "config"]
        if self.config is not None and parts:
            message = f"--config says all that may be chosen, and cannot stand beside {' and '.join(parts)}"
            raise Diagnostic(message, hint=f"leave out one or the other; {parts[0]} narrows what is chosen")

    @property
    def said(self) -> dict[str, Any]:
        """What is said, by name, as `compile` takes it."""
        return {name: text for name, text in asdict(self).items() if text is not None}


def constraints(
    tuning: Tuning | str | None,
    algorithm: str | None,
    schedule: TileSchedule | str | None,
    config: Configuration | str | None,
) -> Constraints:
    """Values or texts as texts; TypeError for an algorithm that is no name."""
    if algorithm is not None:
        expect_text("algorithm", algorithm, "a name")
    return Constraints(
        _text(tuning),
        algorithm,
        None if schedule is None else str(schedule),
        None if config is None else str(config),
    )


def _text(tuning: Tuning | str | None) -> str | None:
    if tuning is None or isinstance(tuning, str):
        return tuning
    from imbrex.config.tuning import Tuning, text

    if not isinstance(tuning, Tuning):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"'tuning' should be a tuning or the text of one, got {type(tuning).__name__}")
    return text(tuning)
