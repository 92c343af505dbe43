"""Configurations of other problems, or of older code, proposed for a problem: what of them can be kept, and
whether the model lets it pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from imbrex.config.candidates import candidates
from imbrex.config.configuration import Configuration
from imbrex.config.request import Request

__all__ = ["fitted"]

MARGIN: Final = 1.02
"""How much slower than its own pick the model may expect a proposal to be: it errs by more than that."""


def fitted(proposals: Iterable[Configuration], request: Request) -> dict[Configuration, Configuration]:
    """What each proposal becomes: the cheapest candidate of its algorithm and tunings, with its schedules
    where these serve.

    Those are left out that no candidate is like, or that the model expects to be slower than its own pick by
    more than MARGIN.
    """
    pick, *others = candidates(request).ranked
    near = [c.configuration for c in (pick, *others) if c.cycles <= MARGIN * pick.cycles]
    found: dict[Configuration, Configuration] = {}
    for proposal in proposals:
        alike = [of for of in near if _tuned(of) == _tuned(proposal)]
        same = (of for of in alike if _scheduled(of) == _scheduled(proposal))
        if alike:
            found[proposal] = next(same, alike[0])
    return found


def _tuned(of: Configuration) -> tuple[object, ...]:
    return of.algorithm, of.strips, *(product.tuning for product in of.products)


def _scheduled(of: Configuration) -> tuple[object, ...]:
    return tuple((product.schedule, product.is_early) for product in of.products)
