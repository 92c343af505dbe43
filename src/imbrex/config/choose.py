"""The tuning of a problem that has none: short lists, ordered by a model, the first legal one.

A tuning that the user gives is used as it is, or refused with every reason; it is never replaced in
silence.  Lists and models are those of a kind's row (`kinds`); where the model sees no difference, the list's
order decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from imbrex.chip import GpuMachine, Machine
from imbrex.config.context import GemmContext
from imbrex.config.kinds import KINDS, Family, kind_of
from imbrex.config.legal import Illegal, check
from imbrex.config.tuning import Tuning, text
from imbrex.config.xdlops.best_first import best_first
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.diagnostic import Diagnostic

__all__ = ["candidates", "choose", "family_of", "first_legal", "rank", "require"]


def family_of(context: GemmContext, machine: Machine) -> Family:
    """What a product is served by unless something else is said: the first kind that serves it."""
    return next(kind.family for kind in KINDS.values() if kind.is_usual(context, machine))


def choose(context: GemmContext, machine: Machine, family: Family) -> Tuning:
    """The best legal tuning by the model; a Diagnostic that counts the reasons when there is none."""
    found = candidates(context, machine, family)
    waves = _waves(found, machine)
    if waves and isinstance(machine, GpuMachine) and (best := _best(waves, context, machine)) is not None:
        return best
    return first_legal(found if waves else list(rank(found, context, machine)), context, machine)


def require(tuning: Tuning, context: GemmContext, machine: Machine) -> Tuning:
    """This tuning, or a Diagnostic with every reason why not."""
    if reasons := check(tuning, context, machine):
        why = "; ".join(str(reason) for reason in reasons)
        raise Diagnostic(f"tuning {text(tuning)} is illegal: {why}")
    return tuning


def candidates(context: GemmContext, machine: Machine, family: Family) -> tuple[Tuning, ...]:
    """The short list of one family; empty where the family cannot serve the machine or the type."""
    return _candidates(context, machine, family, context.details)


@lru_cache(maxsize=64)
def _candidates(
    context: GemmContext, machine: Machine, family: Family, details: tuple[object, ...]
) -> tuple[Tuning, ...]:
    """details: the context's."""
    kinds = (kind for kind in KINDS.values() if kind.family == family)
    return tuple(tuning for kind in kinds for tuning in kind.tunings(context, machine))


def rank(tunings: Iterable[Tuning], context: GemmContext, machine: Machine) -> Iterator[Tuning]:
    """Best first by the model; ties keep their order.  Where one simulates, what breaks a rule stands last,
    and nothing is simulated before it is asked for.
    """
    found = list(tunings)
    waves = _waves(found, machine)
    if waves and isinstance(machine, GpuMachine):
        return _ranked(waves, context, machine)
    return iter(sorted(found, key=lambda tuning: kind_of(tuning).cost(tuning, context, machine)))


def _waves(tunings: Sequence[Tuning], machine: Machine) -> tuple[XdlopsTuning, ...]:
    """Tunings of waves; none where others are among them, or the machine has no waves."""
    waves = tuple(tuning for tuning in tunings if isinstance(tuning, XdlopsTuning))
    return waves if isinstance(machine, GpuMachine) and len(waves) == len(tunings) else ()


def _ranked(
    waves: tuple[XdlopsTuning, ...], context: GemmContext, machine: GpuMachine
) -> Iterator[XdlopsTuning]:
    """The legal ones by their clocks, then the others."""
    legal = _legal(waves, context, machine)
    for position in best_first([tuning.plan(context, machine) for tuning in legal]):
        yield legal[position]
    others = set(waves).difference(legal)
    yield from (tuning for tuning in waves if tuning in others)


@lru_cache(maxsize=64)
def _legal(
    waves: tuple[XdlopsTuning, ...], context: GemmContext, machine: GpuMachine
) -> tuple[XdlopsTuning, ...]:
    return tuple(tuning for tuning in waves if not check(tuning, context, machine))


@lru_cache(maxsize=64)
def _best(waves: tuple[XdlopsTuning, ...], context: GemmContext, machine: GpuMachine) -> XdlopsTuning | None:
    """The first legal one, of a product once, whoever asks; None where all break a rule."""
    return next(_ranked(waves, context, machine)) if _legal(waves, context, machine) else None


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
