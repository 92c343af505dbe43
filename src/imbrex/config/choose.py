"""The tuning of a problem that has none: short lists, ordered by a model, the first legal one.

A tuning that the user gives is used as it is, or refused with every reason; it is never replaced in
silence. The general GPU list is rocMLIR's (2020 to 2023), ordered by the work that padding to whole tiles
wastes; where that is equal the list's order decides.  Hopper's, `general.space`, is ordered by
`general.cost.general_cycles`.  CPU candidates are ordered by `cpu.cost.cycles`, those with matrix
instructions by `xdlops.cost.ranked`, those of warpgroups by `warpgroup.cost.warpgroup_cycles`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from imbrex.chip import CpuMachine, GpuMachine, Machine
from imbrex.config.context import GemmContext
from imbrex.config.cpu.cost import cycles
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.cpu.space import cpu_space
from imbrex.config.general.cost import general_cycles
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.general.space import HOPPER_SPACE
from imbrex.config.legal import Illegal, check
from imbrex.config.tuning import Tuning, text
from imbrex.config.warpgroup.cost import warpgroup_cycles
from imbrex.config.warpgroup.legal import MOST_PLACES
from imbrex.config.warpgroup.plan import WarpgroupTuning, columns_of
from imbrex.config.warpgroup.space import warpgroup_space
from imbrex.config.xdlops.cost import ranked, wave_cycles
from imbrex.config.xdlops.mfma import served
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.config.xdlops.space import wave_space
from imbrex.diagnostic import Diagnostic

__all__ = ["GENERAL_LIST", "Family", "candidates", "choose", "family_of", "first_legal", "rank", "require"]

Family: TypeAlias = Literal["general", "xdlops", "warpgroup", "cpu"]

# block_size, m, n, k per block, m, n per thread: 2020's list, then 2022's other values of k
GENERAL_LIST = tuple(
    GeneralTuning(*numbers)
    for numbers in (
        (256, 128, 128, 8, 4, 4),
        (128, 128, 64, 8, 4, 4),
        (128, 64, 128, 4, 4, 4),
        (64, 64, 64, 16, 4, 4),
        (64, 32, 64, 16, 2, 4),
        (64, 64, 32, 16, 4, 2),
        (64, 32, 32, 4, 2, 2),
        (256, 128, 128, 16, 4, 4),
        (256, 128, 128, 4, 4, 4),
        (128, 128, 64, 16, 4, 4),
        (128, 128, 64, 4, 4, 4),
        (128, 64, 128, 16, 4, 4),
        (128, 64, 128, 8, 4, 4),
        (64, 64, 64, 8, 4, 4),
        (64, 64, 64, 4, 4, 4),
        (64, 64, 32, 8, 4, 2),
        (64, 64, 32, 4, 4, 2),
        (64, 32, 64, 8, 2, 4),
        (64, 32, 64, 4, 2, 4),
        (64, 32, 32, 16, 2, 2),
        (64, 32, 32, 8, 2, 2),
    )
)


def family_of(context: GemmContext, machine: Machine) -> Family:
    """What a product is served by unless something else is asked for.

    Matrix instructions where the GPU has some of the product's type, of waves or of warpgroups, which count
    rows and columns in 32 bits; the lane-level build stands for any GPU.
    """
    if isinstance(machine, CpuMachine):
        return "cpu"
    if machine.has_warpgroups and columns_of(context.dtype) and max(context.m, context.n) <= MOST_PLACES:
        return "warpgroup"
    return "xdlops" if machine.has_mfma and served(context.dtype, machine.chip) else "general"


def choose(context: GemmContext, machine: Machine, family: Family) -> Tuning:
    """The best legal tuning by the model; a Diagnostic that counts the reasons when there is none."""
    return first_legal(rank(candidates(context, machine, family), context, machine), context, machine)


def require(tuning: Tuning, context: GemmContext, machine: Machine) -> Tuning:
    """This tuning, or a Diagnostic with every reason why not."""
    if reasons := check(tuning, context, machine):
        why = "; ".join(str(reason) for reason in reasons)
        raise Diagnostic(f"tuning {text(tuning)} is illegal: {why}")
    return tuning


def candidates(context: GemmContext, machine: Machine, family: Family) -> Sequence[Tuning]:
    """The short list of one family; empty where the family cannot serve the machine or the type."""
    match family:
        case "general":
            return HOPPER_SPACE if machine.multiprocessor else GENERAL_LIST
        case "xdlops":
            return wave_space(context, machine) if isinstance(machine, GpuMachine) else ()
        case "warpgroup":
            return warpgroup_space(context, machine) if isinstance(machine, GpuMachine) else ()
        case "cpu":
            return cpu_space(context, machine) if isinstance(machine, CpuMachine) else ()


def rank(tunings: Iterable[Tuning], context: GemmContext, machine: Machine) -> list[Tuning]:
    """Best first by the model; ties keep their order.  What breaks a rule stands last where one simulates."""
    found = list(tunings)
    waves = tuple(tuning for tuning in found if isinstance(tuning, XdlopsTuning))
    if isinstance(machine, GpuMachine) and len(waves) == len(found):
        return list(_ranked(waves, context, machine))

    def badness(tuning: Tuning) -> float:
        match tuning, machine:
            case CpuTuning(), CpuMachine():
                return cycles(tuning, context, machine)
            case XdlopsTuning(), GpuMachine():
                return wave_cycles(tuning.plan(context, machine))
            case WarpgroupTuning(), GpuMachine():
                return warpgroup_cycles(tuning.plan(context, machine))
            case GeneralTuning(), GpuMachine() if machine.multiprocessor:
                return general_cycles(tuning.plan(context, machine), machine)
            case GeneralTuning(), GpuMachine():
                return float(context.wasted(*tuning.tile))
            case _:
                return float("inf")

    return sorted(found, key=badness)


@lru_cache(maxsize=64)
def _ranked(
    waves: tuple[XdlopsTuning, ...], context: GemmContext, machine: GpuMachine
) -> tuple[XdlopsTuning, ...]:
    """The legal ones by their clocks, then the others: of a product once, whoever asks."""
    legal = [tuning for tuning in waves if not check(tuning, context, machine)]
    clocks = ranked([tuning.plan(context, machine) for tuning in legal])
    best_first = [legal[place] for place in sorted(range(len(legal)), key=lambda place: clocks[place])]
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
