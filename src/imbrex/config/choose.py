"""The tuning of a problem that has none: short lists, ordered by a model, the first legal one.

A tuning that the user gives is used as it is, or refused with every reason; it is never replaced in
silence.  Lists and models are those of a kind's row (`kinds`); where the model sees no difference, the list's
order decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from imbrex.chip import GpuMachine, Machine
from imbrex.config.context import GemmContext
from imbrex.config.kinds import KINDS, Family, kind_of
from imbrex.config.legal import Illegal, check
from imbrex.config.tuning import Tuning, text
from imbrex.config.xdlops.cost import ranked
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.diagnostic import Diagnostic

__all__ = ["candidates", "choose", "family_of", "first_legal", "rank", "require"]


def family_of(context: GemmContext, machine: Machine) -> Family:
    """What a product is served by unless something else is said: the first kind that serves it."""
    return next(kind.family for kind in KINDS.values() if kind.is_usual(context, machine))


def choose(context: GemmContext, machine: Machine, family: Family) -> Tuning:
    """The best legal tuning by the model; a Diagnostic that counts the reasons when there is none."""
    return first_legal(rank(candidates(context, machine, family), context, machine), context, machine)


def require(tuning: Tuning, context: GemmContext, machine: Machine) -> Tuning:
    """This tuning, or a Diagnostic with every reason why not."""
    if reasons := check(tuning, context, machine):
        why = "; ".join(str(reason) for reason in reasons)
        raise Diagnostic(f"tuning {text(tuning)} is illegal: {why}")
    return tuning


def candidates(context: GemmContext, machine: Machine, family: Family) -> tuple[Tuning, ...]:
    """The short list of one family; empty where the family cannot serve the machine or the type."""
    return _candidates(context, machine, family, context.elements)


@lru_cache(maxsize=64)
def _candidates(
    context: GemmContext, machine: Machine, family: Family, elements: tuple[int, ...]
) -> tuple[Tuning, ...]:
    """elements: the context's."""
    kinds = (kind for kind in KINDS.values() if kind.family == family)
    return tuple(tuning for kind in kinds for tuning in kind.tunings(context, machine))


def rank(tunings: Iterable[Tuning], context: GemmContext, machine: Machine) -> list[Tuning]:
    """Best first by the model; ties keep their order.  What breaks a rule stands last where one simulates."""
    found = list(tunings)
    waves = tuple(tuning for tuning in found if isinstance(tuning, XdlopsTuning))
    if isinstance(machine, GpuMachine) and len(waves) == len(found):
        return list(_ranked(waves, context, machine))

    return sorted(found, key=lambda tuning: kind_of(tuning).cost(tuning, context, machine))


@lru_cache(maxsize=64)
def _ranked(
    waves: tuple[XdlopsTuning, ...], context: GemmContext, machine: GpuMachine
) -> tuple[XdlopsTuning, ...]:
    """The legal ones by their clocks, then the others: of a product once, whoever asks."""
    legal = [tuning for tuning in waves if not check(tuning, context, machine)]
    clocks = ranked([tuning.plan(context, machine) for tuning in legal])
    best_first = [
        legal[position] for position in sorted(range(len(legal)), key=lambda position: clocks[position])
    ]
    others = set(waves).difference(legal)
    return *best_first, *(tuning for tuning in waves if tuning in others)


def first_legal(tunings: Sequence[Tuning], context: GemmContext, machine: Machine) -> Tuning:
    """The first tuning that breaks no rule; a Diagnostic that counts the reasons when there is none."""
    broken: list[Illegal] = []
    for tuning in tunings:
        reasons = check(tuning, context, machine)
        if not reasons:
            return tuning
        broken += reasons
    counts = Counter(reason.rule for reason in broken)
    examples = {reason.rule: str(reason) for reason in reversed(broken)}
    why = (
        "; ".join(f"{count}x {examples[rule]}" for rule, count in counts.most_common()) or "the list is empty"
    )
    sizes = f"{context.m}x{context.n}x{context.k} {context.dtype.name}"
    raise Diagnostic(f"no legal tuning among {len(tunings)} for gemm {sizes} on {machine.name}: {why}")
