"""From a problem to source text: every level of the IR in order, then statements, then files."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from imbrex.algorithm import Request, algorithm_of, to_product
from imbrex.build.amd.lds import LdsCost
from imbrex.chip import CPU_ISAS, GPU_TARGETS, WAVES, Target, gpus
from imbrex.config import tuning as tunings
from imbrex.config.short import is_short
from imbrex.config.tiles import AUTO, DATA_PARALLEL, Auto, TileSchedule
from imbrex.config.tuning import Tuning
from imbrex.diagnostic import Diagnostic
from imbrex.emit.bundle import Bundle, Facts, bundle
from imbrex.emit.cuda.layout import launch_facts
from imbrex.emit.cuda.order import early
from imbrex.ir.dialect import context
from imbrex.ir.ops.standard import ModuleOp
from imbrex.ir.passes.affix_tuning import schedules, tuned
from imbrex.ir.passes.blockwise_to_threadwise import BlockwiseToThreadwise
from imbrex.ir.passes.gridwise_to_blockwise import GridwiseToBlockwise
from imbrex.ir.problem_module import problem_module
from imbrex.ir.source import InvalidOp, PassFault
from imbrex.lower.build import program
from imbrex.lower.lds_traffic import lds_traffic
from imbrex.lower.stmt import Buffer, Kernel, Program, ZeroFill
from imbrex.problem import problem_text
from imbrex.problem.operand import dense_strides, expect_addressable
from imbrex.run.launch import Launch, Step, Zero


@dataclass(frozen=True)
class Level:
    """The module after a pass; it changes when the next level is asked for.

    tunings: of its products, where the pass gave them.
    """

    name: str
    module: ModuleOp
    tunings: tuple[Tuning, ...] = ()


@dataclass(frozen=True)
class Lowered:
    """The whole way down: the files, the tunings that were used, one a product, and the launches in order.

    workspace: the arrays that launches, or their workgroups, leave things in for each other; those in
    `zeroed` start as zeros.  lds: of a GPU's kernels, by name.  schedules: of the tiles of
    each product, as text.
    algorithm: the one that was asked for, or chosen.
    """

    bundle: Bundle
    tunings: tuple[Tuning, ...]
    steps: tuple[Step, ...]
    workspace: tuple[Buffer, ...] = ()
    lds: Mapping[str, LdsCost] = field(default_factory=lambda: dict[str, LdsCost]())
    zeroed: frozenset[str] = frozenset()
    schedules: tuple[str, ...] = ()
    algorithm: str | None = None


@contextmanager
def _telling() -> Generator[None]:
    """What a pass refuses is a Diagnostic: nobody has seen the text in which its operation lies."""
    try:
        yield
    except InvalidOp as error:
        if isinstance(error.__cause__, Diagnostic):
            raise error.__cause__ from None
        raise Diagnostic(str(error)) from None
    except PassFault as fault:
        assert fault.__cause__ is not None
        raise fault.__cause__ from None


def levels(request: Request) -> Iterator[Level]:
    """The module at each level, from the problem down to threadwise."""
    with _telling():
        yield from _levels(request)


def _levels(request: Request) -> Iterator[Level]:
    expect_addressable(request.problem.operands)
    algorithm = algorithm_of(request)
    module = problem_module(request.problem, request.name, algorithm)
    yield Level("problem", module)
    ctx = context()
    for step in to_product(request, algorithm):
        step.apply(ctx, module)
        yield Level(step.name, module)
    used = tuned(module, request.tuning, request.machine, schedule=schedule_of(request))
    yield Level("affix-tuning", module, used)
    for step in (GridwiseToBlockwise(), BlockwiseToThreadwise()):
        step.apply(ctx, module)
        yield Level(step.name, module)


def lower(request: Request) -> Lowered:
    """The request's source files."""
    with _telling():
        return _lowered(request)


def _lowered(request: Request) -> Lowered:
    expect_addressable(request.problem.operands)
    algorithm = algorithm_of(request)
    module = problem_module(request.problem, request.name, algorithm)
    ctx = context()
    for step in to_product(request, algorithm):
        step.apply(ctx, module)
    used = tuned(module, request.tuning, request.machine, schedule=schedule_of(request))
    shared = schedules(module)
    for step in (GridwiseToBlockwise(), BlockwiseToThreadwise()):
        step.apply(ctx, module)
    operands = request.problem.operands
    written = frozenset(i for i, o in enumerate(operands) if o.is_written)
    strides = [o.strides or dense_strides(o.shape) for o in operands]
    facts = Facts(
        problem_text(request.problem),
        _chosen(used, shared),
        tuple(o.shape for o in operands),
        tuple(strides) if any(o.strides for o in operands) else (),
    )
    made = program(module, written)
    overlaps = request.machine.overlaps_launches
    overlapped = early(made, is_short(request.problem)) if overlaps else frozenset[str]()
    files = bundle(made, facts, request.target, overlapped)
    costs = _lds_costs(made, request.target)
    steps = steps_of(made, request.target, overlapped)
    return Lowered(files, used, steps, made.workspace, costs, made.zeroed, shared, algorithm)


def schedule_of(request: Request) -> TileSchedule | Auto:
    """The schedule that is asked for.  Where none is: the model's on Hopper unless a tuning is given; else
    data_parallel.
    """
    if request.schedule is not None:
        return request.schedule
    return AUTO if request.machine.multiprocessor and request.tuning is None else DATA_PARALLEL


def _chosen(used: tuple[Tuning, ...], schedules: tuple[str, ...]) -> str:
    """The tunings, each once, and the schedules where workgroups share tiles."""
    texts = " ".join(dict.fromkeys(tunings.text(t) for t in used))
    shared = [s for s in dict.fromkeys(schedules) if s != str(DATA_PARALLEL)]
    return f"{texts}, schedule {' '.join(shared)}" if shared else texts


def _lds_costs(made: Program, target: str) -> dict[str, LdsCost]:
    if target not in gpus("AMD"):
        return {}
    found = {kernel.name: lds_traffic(kernel, GPU_TARGETS[target]) for kernel in made.kernels}
    return {name: LdsCost(*traffic.factors, traffic.extra) for name, traffic in found.items()}


def steps_of(made: Program, target: str, overlapped: frozenset[str] = frozenset()) -> tuple[Step, ...]:
    """What a host does to run the program on a device, its arrays by their places.

    overlapped: launches that may begin before the one ahead has ended.
    """
    places = {buffer.name: place for place, buffer in enumerate(made.arguments)}
    return tuple(
        Zero(places[step.buffer.name])
        if isinstance(step, ZeroFill)
        else replace(_launch(step, places, target), is_early=step.name in overlapped)
        for step in made.launches
    )


def _launch(kernel: Kernel, places: Mapping[str, int], target: str) -> Launch:
    arguments = tuple(places[buffer.name] for buffer in kernel.arguments)
    plain = Launch(kernel.name, kernel.grid_size, kernel.block_size, arguments)
    return replace(plain, **launch_facts(kernel)._asdict()) if target in gpus("NVIDIA") else plain


def machine_for(
    target: str,
    isa: str,
    threads: int,
    l2_bytes: int | None = None,
    l3_bytes: int | None = None,
    fma_per_cycle: float | None = None,
) -> Target:
    """What a schedule is chosen for: this CPU core, or a GPU; "emulate" stands for gfx942."""
    if target != "cpu":
        return WAVES if target == "emulate" else GPU_TARGETS[target]
    known = {"l2_bytes": l2_bytes, "l3_bytes": l3_bytes, "fma_per_cycle": fma_per_cycle}
    return replace(CPU_ISAS[isa], threads=threads, **{k: v for k, v in known.items() if v})
