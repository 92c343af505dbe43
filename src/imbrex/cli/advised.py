"""What a command that only explains is told by the tuning database, as a kernel's build is."""

from __future__ import annotations

from dataclasses import replace

from imbrex.cli.options import Choices
from imbrex.cli.source import Asked
from imbrex.kernel.choice import Choice
from imbrex.kernel.decided import decided
from imbrex.kernel.order import ordered
from imbrex.pipeline import Request

__all__ = ["advised"]


def advised(chosen: Choices, asked: Asked, request: Request) -> tuple[Request, Choice]:
    """The request with the configuration that a kernel would have, where the model does not choose it."""
    algorithm = chosen.algorithm_of(asked)
    words = (chosen.tuning, chosen.threads, algorithm, None, chosen.schedule, chosen.config, chosen.untuned)
    order = ordered(asked.problem, chosen.goal, *words)
    if order.advice is None:
        is_asked = any(word is not None for word in (order.tuning, algorithm, order.schedule, order.config))
        return request, Choice("caller" if is_asked else "model")
    lowered, choice = decided(request, chosen.goal, order.advice)
    return (request if choice.by == "model" else replace(request, config=lowered.configuration)), choice
