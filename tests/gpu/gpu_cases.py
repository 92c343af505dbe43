"""All cases that kernels for a GPU are checked on, and a sample of them."""

from __future__ import annotations

from conv_cases import apart, convolutions, copies, gaps, images, phases
from gpu_case import Case
from product_cases import (
    alignments,
    batches,
    epilogues,
    parts_of_k,
    products,
    scales,
    schedules,
    stored_columns,
    tunings,
)
from window_cases import halo_weights, halos, lines

__all__ = ["all_cases", "sample"]

MOST_FLOPS = 2 * 10**9
"""Of a problem in a sample."""


def all_cases() -> list[Case]:
    found = [*products(), *batches(), *scales(), *epilogues(), *tunings(), *schedules(), *convolutions()]
    found += [
        *stored_columns(),
        *alignments(),
        *parts_of_k(),
        *copies(),
        *images(),
        *apart(),
        *gaps(),
        *halos(),
        *lines(),
        *phases(),
        *halo_weights(),
    ]
    return list(dict.fromkeys(found))


def sample(count: int) -> list[Case]:
    """A few small ones of every family, for tools under which a kernel is a thousand times slower."""
    families: dict[str, list[Case]] = {}
    for case in all_cases():
        if case.problem.flops <= MOST_FLOPS:
            families.setdefault(case.family, []).append(case)
    step = {family: max(1, len(cases) // count) for family, cases in families.items()}
    return [case for family, cases in families.items() for case in cases[:: step[family]][:count]]
