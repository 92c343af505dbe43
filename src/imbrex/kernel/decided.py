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
from imbrex.kernel.choice import Choice, of_nearest, of_winner
from imbrex.kernel.options import default_name
from imbrex.pipeline import Lowered, Request, lower

__all__ = ["decided"]


def decided(request: Request, advice: Advice | None) -> tuple[Lowered, Choice]:
    """The source, and who chose what it is made by.  request: asks for nothing where there is advice."""
    if advice is None:
        return lower(request), Choice("model" if request.is_open else "caller")
    proposals, passed_over = advice.near, ""
    if (measured := advice.measured) is not None:
        try:
            config = configuration.parse(measured.winner.configuration)
            lowered = lower(request.by(config))
        except Diagnostic as error:
            passed_over = f"the measured {measured.winner.configuration} is passed over: {error.message}"
        else:
            if measured.winner.source in ("", _source(lowered, request, config)):
                return lowered, of_winner(measured)
            passed_over = f"what was measured with version {measured.winner.version} had another source"
            proposals = (measured,)
    lowered, choice = _proposed(request, proposals)
    return lowered, replace(choice, passed_over=passed_over)


def _proposed(request: Request, proposals: Iterable[Found]) -> tuple[Lowered, Choice]:
    """The source by the first proposal that suits, else by the model."""
    read: dict[Configuration, Found] = {}
    for found in (of for of in proposals if of.winner.gain > 1):  # where the pick stayed, ours does, too
        with suppress(Diagnostic):  # this version may have no such configuration
            read.setdefault(configuration.parse(found.winner.configuration), found)
    near = near_pick(candidates(request).ranked) if read else []
    for proposal, config in fitted(read, near).items() if near else ():
        with suppress(Diagnostic):
            lowered = lower(request.by(config))
            return lowered, of_nearest(read[proposal])
    return lower(request), Choice("model")


def _source(lowered: Lowered, request: Request, config: Configuration) -> str:
    """Digest of the source under the name that tuning gives it."""
    name = default_name(request.problem)
    if request.name != name:
        lowered = lower(replace(request.by(config), name=name))
    return lowered.bundle.digest
