"""From a problem to source text: every level of the IR in order, then statements, then files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from imbrex.build.amd import CHIPS
from imbrex.build.amd_lds import LdsCost
from imbrex.emit.bundle import Bundle, Facts, bundle
from imbrex.ir.dialect import context
from imbrex.ir.ops.standard import ModuleOp
from imbrex.ir.passes.affix_tuning import schedules, tuned
from imbrex.ir.passes.blockwise_to_threadwise import BlockwiseToThreadwise
from imbrex.ir.passes.conv_to_gemm import ConvToGemm
from imbrex.ir.passes.gridwise_to_blockwise import GridwiseToBlockwise
from imbrex.ir.passes.unfold import UnfoldContiguous
from imbrex.ir.problem_module import problem_module
from imbrex.lower.build import program
from imbrex.lower.lds_traffic import lds_traffic
from imbrex.lower.stmt import Buffer, Program, ZeroFill
from imbrex.problem import Gemm, Problem, problem_text
from imbrex.run.launch import Launch, Step, Zero
from imbrex.schedule import tuning as tunings
from imbrex.schedule.data_tiled import named_algorithm
from imbrex.schedule.mfma import served
from imbrex.schedule.target import CPU_ISAS, GPU_TARGETS, GpuTarget, Target
from imbrex.schedule.tiles import DATA_PARALLEL, Auto, TileSchedule
from imbrex.schedule.tuning import Tuning
from imbrex.schedule.xdlops import XdlopsTuning


@dataclass(frozen=True)
class Request:
    """What to build: a problem, for a machine, with the tuning that the user gives or the model chooses.

    target: how source is written: "cpu", a GPU such as "gfx942", or "emulate" for the lane-level build of the
    schedule of the GPU that `machine` is.
    algorithm: of backward data, "v4r1" or "v1r1"; of a product, "data_tiled" or "data_tiled:TILE_KERNEL".
    """

    problem: Problem
    machine: Target
    target: str = "cpu"
    tuning: Tuning | None = None
    algorithm: str | None = None
    name: str = "kernel"
    schedule: TileSchedule | Auto = DATA_PARALLEL


@dataclass(frozen=True)
class Level:
    """The module after a pass; it changes when the next level is asked for."""

    name: str
    module: ModuleOp


@dataclass(frozen=True)
class Lowered:
    """The whole way down: the files, the tunings that were used, one a product, and the launches in order.

    workspace: the arrays that launches, or their workgroups, leave things in for each other; those in
    `zeroed` start as zeros.  lds: of a GPU's kernels, by name.  schedules: of the tiles of
    each product, as text.
    """

    bundle: Bundle
    tunings: tuple[Tuning, ...]
    steps: tuple[Step, ...]
    workspace: tuple[Buffer, ...] = ()
    lds: Mapping[str, LdsCost] = field(default_factory=lambda: dict[str, LdsCost]())
    zeroed: frozenset[str] = frozenset()
    schedules: tuple[str, ...] = ()


def levels(request: Request) -> Iterator[Level]:
    """The module at each level, from the problem down to threadwise."""
    module = _stated(request)
    yield Level("problem", module)
    ctx = context()
    for step in (ConvToGemm(_taps_first(request)), UnfoldContiguous()):
        step.apply(ctx, module)
        yield Level(step.name, module)
    tuned(module, request.tuning, request.machine, schedule=request.schedule)
    yield Level("affix-tuning", module)
    for step in (GridwiseToBlockwise(), BlockwiseToThreadwise()):
        step.apply(ctx, module)
        yield Level(step.name, module)


def lower(request: Request) -> Lowered:
    """The request's source files."""
    module = _stated(request)
    ctx = context()
    for step in (ConvToGemm(_taps_first(request)), UnfoldContiguous()):
        step.apply(ctx, module)
    used = tuned(module, request.tuning, request.machine, schedule=request.schedule)
    shared = schedules(module)
    for step in (GridwiseToBlockwise(), BlockwiseToThreadwise()):
        step.apply(ctx, module)
    written = frozenset(i for i, o in enumerate(request.problem.operands) if o.is_written)
    facts = Facts(
        problem_text(request.problem),
        _chosen(used, shared),
        tuple(o.shape for o in request.problem.operands),
    )
    made = program(module, written)
    files = bundle(made, facts, request.target)
    lds = _lds_costs(made, request.target)
    return Lowered(files, used, steps_of(made), made.workspace, lds, made.zeroed, shared)


def _chosen(used: tuple[Tuning, ...], schedules: tuple[str, ...]) -> str:
    """The tunings, each once, and the schedules where workgroups share tiles."""
    texts = " ".join(dict.fromkeys(tunings.text(t) for t in used))
    shared = [s for s in dict.fromkeys(schedules) if s != str(DATA_PARALLEL)]
    return f"{texts}, schedule {' '.join(shared)}" if shared else texts


def _lds_costs(made: Program, target: str) -> dict[str, LdsCost]:
    if target not in CHIPS:
        return {}
    found = {kernel.name: lds_traffic(kernel, target) for kernel in made.kernels}
    return {name: LdsCost(*traffic.factors, traffic.extra) for name, traffic in found.items()}


def _taps_first(request: Request) -> bool:
    """Matrix instructions want a step of K at one tap of a window: its lanes then have one guard a load."""
    if request.tuning is not None:
        return isinstance(request.tuning, XdlopsTuning)
    machine = request.machine
    return isinstance(machine, GpuTarget) and bool(served(request.problem.dtype, machine.chip))


def _stated(request: Request) -> ModuleOp:
    """The problem as IR, with its algorithm."""
    problem, algorithm = request.problem, request.algorithm
    if isinstance(problem, Gemm) and algorithm is not None:
        algorithm = named_algorithm(algorithm, problem.dtype, request.machine)
    return problem_module(problem, request.name, algorithm)


def steps_of(made: Program) -> tuple[Step, ...]:
    """What a host does to run the program on a device, its arrays by their places."""
    places = {buffer.name: place for place, buffer in enumerate(made.arguments)}
    return tuple(
        Zero(places[step.buffer.name])
        if isinstance(step, ZeroFill)
        else Launch(step.name, step.grid_size, step.block_size, tuple(places[b.name] for b in step.arguments))
        for step in made.launches
    )


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
        return GPU_TARGETS["gfx942" if target == "emulate" else target]
    known = {"l2_bytes": l2_bytes, "l3_bytes": l3_bytes, "fma_per_cycle": fma_per_cycle}
    return replace(CPU_ISAS[isa], threads=threads, **{k: v for k, v in known.items() if v})
