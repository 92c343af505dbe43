"""What a command that only explains is told by the tuning database, as a kernel's build is."""

from __future__ import annotations

from dataclasses import replace

from imbrex.cli.options import Choices
from imbrex.cli.source import ProblemEntry
from imbrex.database.lookup import calibration
from imbrex.database.record import Calibration
from imbrex.kernel.choice import Choice
from imbrex.kernel.decided import decided
from imbrex.kernel.options import options_of
from imbrex.pipeline import Request

__all__ = ["advised", "calibration_for"]


def calibration_for(chosen: Choices) -> Calibration | None:
    """The calibration that the model chooses by; None where it does not choose, or by its defaults."""
    return None if chosen.untuned or chosen.config is not None else calibration(chosen.target)


def advised(chosen: Choices, entry: ProblemEntry, request: Request) -> tuple[Request, Choice]:
    """The request with the configuration that a kernel would have, where the model does not choose it."""
    algorithm = chosen.algorithm_of(entry)
    words = (chosen.tuning, chosen.threads, algorithm, None, chosen.schedule, chosen.config, chosen.untuned)
    options = options_of(entry.problem, chosen.target, *words)
    if options.advice is None:
        said = (options.tuning, algorithm, options.schedule, options.config)
        is_said = any(word is not None for word in said)
        return request, Choice("caller" if is_said else "model")
    lowered, choice = decided(request, chosen.target, options.advice)
    return (request if choice.by == "model" else replace(request, config=lowered.configuration)), choice
