"""The source of a kernel, by whoever chose its configuration: the caller, a measurement, or the model.

A measured configuration is taken where it still gives the source that was measured.  Where it gives another
one, or is of a problem nearby, it is a proposal, taken where the model does not expect it to be slower than
its own pick.  Law: whatever a database holds, the model's pick is left.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from imbrex.config import configuration
from imbrex.config.candidates import candidates
from imbrex.config.configuration import Configuration
from imbrex.config.proposal import fitted, near_pick
from imbrex.database.lookup import Advice, Found
from imbrex.diagnostic import Diagnostic
from imbrex.kernel.algorithm import expected_algorithm
from imbrex.kernel.choice import Choice, of_nearest, of_winner
from imbrex.kernel.options import default_name
from imbrex.kernel.target import Target
from imbrex.pipeline import Lowered, Request, lower

__all__ = ["decided"]


def decided(request: Request, target: Target, advice: Advice | None) -> tuple[Lowered, Choice]:
    """The source, and who chose what it is made by.  request: asks for nothing where there is advice."""
    if advice is None:
        asked = (request.tuning, request.algorithm, request.schedule, request.config)
        return lower(request), Choice("caller" if any(word is not None for word in asked) else "model")
    proposals, passed_over = advice.near, ""
    if (measured := advice.measured) is not None:
        try:
            config = _read(measured, request, target)
            lowered = lower(replace(request, config=config))
        except Diagnostic as error:
            passed_over = f"the measured {measured.winner.configuration} is passed over: {error.message}"
        else:
            if measured.winner.source in ("", _source(lowered, request, config)):
                return lowered, of_winner(measured)
            passed_over = f"what was measured with version {measured.winner.version} had another source"
            proposals = (measured,)
    lowered, choice = _proposed(request, target, proposals)
    return lowered, replace(choice, passed_over=passed_over)


def _proposed(request: Request, target: Target, proposals: Iterable[Found]) -> tuple[Lowered, Choice]:
    """By the first proposal that suits, else by the model."""
    read: dict[Configuration, Found] = {}
    for found in (of for of in proposals if of.winner.gain > 1):  # where the pick stayed, ours does, too
        with suppress(Diagnostic):  # this version, problem or target may have no such configuration
            read.setdefault(_read(found, request, target), found)
    near = near_pick(candidates(request).ranked) if read else []
    for proposal, config in fitted(read, near).items() if near else ():
        with suppress(Diagnostic):
            lowered = lower(replace(request, config=config))
            return lowered, of_nearest(read[proposal])
    return lower(request), Choice("model")


def _read(found: Found, request: Request, target: Target) -> Configuration:
    """The configuration of a winner; a Diagnostic for what this version, problem or target has not."""
    config = configuration.parse(found.winner.configuration)
    expected_algorithm(request.problem, target, config.algorithm)
    return config


def _source(lowered: Lowered, request: Request, config: Configuration) -> str:
    """Digest of the source under the name that tuning gives it."""
    name = default_name(request.problem)
    if request.name != name:
        lowered = lower(replace(request, config=config, name=name))
    return lowered.bundle.digest
