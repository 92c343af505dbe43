"""Configurations of other problems, or of older code, proposed for a problem: what of them can be kept, and
whether the model lets it pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf, log2
from typing import Final

from imbrex.config.candidates import Candidate
from imbrex.config.configuration import Configuration
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.tuning import Tuning

__all__ = ["fitted", "near_pick"]

MARGIN: Final = 1.02
"""How much slower than its own pick the model may expect a proposal to be: it errs by more than that."""


def near_pick(ranked: Sequence[Candidate]) -> list[Candidate]:
    """Candidates that the model expects to be slower than its own pick by MARGIN at most."""
    return [of for of in ranked if of.cycles <= MARGIN * ranked[0].cycles]


def fitted(
    proposals: Iterable[Configuration], ranked: Sequence[Candidate]
) -> dict[Configuration, Configuration]:
    """What each proposal becomes: the candidate of its algorithm and tunings, with its schedules where these
    serve; of a CPU, whose blocks divide the problem's sizes, with the blocks that are nearest.

    Those are left out that no candidate is like.
    """
    near = [candidate.configuration for candidate in ranked]
    found: dict[Configuration, Configuration] = {}
    for proposal in proposals:
        distance, best = inf, near[0]
        for of in near:  # of equals the first, which costs least
            apart = _apart(of, proposal)
            if apart < distance:
                distance, best = apart, of
        if distance < inf:
            found[proposal] = best
    return found


def _apart(of: Configuration, other: Configuration) -> float:
    """How far apart configurations are, infinity where too far; a schedule decides last."""
    if (of.algorithm, of.strips, len(of.products)) != (other.algorithm, other.strips, len(other.products)):
        return inf
    pairs = list(zip(of.products, other.products, strict=True))
    is_scheduled_so = all((a.schedule, a.is_early) == (b.schedule, b.is_early) for a, b in pairs)
    return sum(_tunings_apart(a.tuning, b.tuning) for a, b in pairs) + (0 if is_scheduled_so else 1e-6)


def _tunings_apart(of: Tuning, other: Tuning) -> float:
    """Powers of two between the blocks of CPU tunings that are equal else; of other tunings 0 or infinity."""
    if of == other:
        return 0.0
    match of, other:
        case CpuTuning(), CpuTuning():
            same = replace(
                of,
                m_per_block=other.m_per_block,
                n_per_block=other.n_per_block,
                k_per_block=other.k_per_block,
            )
            if same != other:
                return inf
            blocks = [(t.m_per_block, t.n_per_block, t.k_per_block) for t in (of, other)]
            return sum(abs(log2(a / b)) for a, b in zip(*blocks, strict=True))
        case _:
            return inf
