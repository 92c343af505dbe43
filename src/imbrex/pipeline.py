"""From a problem to source text: every level of the IR in order, then statements, then files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeAlias

from imbrex.build.amd import CHIPS
from imbrex.build.amd_lds import LdsCost
from imbrex.build.nvidia import ARCHITECTURES
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.emit.bundle import Bundle, Facts, bundle
from imbrex.emit.cuda.geometry import launch_facts
from imbrex.ir.dialect import context
from imbrex.ir.ops.grid import GridwiseGemmOp
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.ops.standard import ModuleOp
from imbrex.ir.passes.affix_tuning import gemm_context, schedules, tuned
from imbrex.ir.passes.blockwise_to_threadwise import BlockwiseToThreadwise
from imbrex.ir.passes.channels_last import ALREADY, ChannelsLastPass, packed_arrays, pays
from imbrex.ir.passes.conv_to_gemm import ConvToGemm
from imbrex.ir.passes.gridwise_to_blockwise import GridwiseToBlockwise
from imbrex.ir.passes.unfold import UnfoldContiguous
from imbrex.ir.problem_module import problem_module
from imbrex.lower.build import program
from imbrex.lower.lds_traffic import lds_traffic
from imbrex.lower.stmt import Buffer, Kernel, Program, ZeroFill
from imbrex.problem import Gemm, Problem, problem_text
from imbrex.run.launch import Launch, Step, Zero
from imbrex.schedule import tuning as tunings
from imbrex.schedule import warpgroup_choice
from imbrex.schedule.data_tiled import named_algorithm
from imbrex.schedule.mfma import served
from imbrex.schedule.target import CPU_ISAS, GPU_TARGETS, GpuTarget, Target
from imbrex.schedule.tiles import AUTO, DATA_PARALLEL, Auto, TileSchedule
from imbrex.schedule.tuning import Tuning
from imbrex.schedule.warpgroup import CHIP, WarpgroupTuning, columns_of, step_of_channels
from imbrex.schedule.warpgroup_cost import copy_cycles
from imbrex.schedule.xdlops import XdlopsTuning

CHANNELS_LAST = "channels_last"
ToProduct: TypeAlias = ChannelsLastPass | ConvToGemm | UnfoldContiguous


@dataclass(frozen=True)
class Request:
    """What to build: a problem, for a machine, with the tuning that the user gives or the model chooses.

    target: how source is written: "cpu", a GPU such as "gfx942", or "emulate" for the lane-level build of the
    schedule of the GPU that `machine` is.
    algorithm: of a convolution, "channels_last", or "v4r4", which packs nothing; of backward data,
    "channels_last", "v4r1" or "v1r1"; of a product, "data_tiled" or "data_tiled:TILE_KERNEL".
    schedule: None for what suits the machine, see `schedule_of`.
    """

    problem: Problem
    machine: Target
    target: str = "cpu"
    tuning: Tuning | None = None
    algorithm: str | None = None
    name: str = "kernel"
    schedule: TileSchedule | Auto | None = None


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


def levels(request: Request) -> Iterator[Level]:
    """The module at each level, from the problem down to threadwise."""
    algorithm = algorithm_of(request)
    module = problem_module(request.problem, request.name, algorithm)
    yield Level("problem", module)
    ctx = context()
    for step in _to_product(request, algorithm):
        step.apply(ctx, module)
        yield Level(step.name, module)
    tuned(module, request.tuning, request.machine, schedule=schedule_of(request))
    yield Level("affix-tuning", module)
    for step in (GridwiseToBlockwise(), BlockwiseToThreadwise()):
        step.apply(ctx, module)
        yield Level(step.name, module)


def lower(request: Request) -> Lowered:
    """The request's source files."""
    algorithm = algorithm_of(request)
    module = problem_module(request.problem, request.name, algorithm)
    ctx = context()
    for step in _to_product(request, algorithm):
        step.apply(ctx, module)
    used = tuned(module, request.tuning, request.machine, schedule=schedule_of(request))
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
    costs, steps = _lds_costs(made, request.target), steps_of(made, request.target)
    return Lowered(files, used, steps, made.workspace, costs, made.zeroed, shared, algorithm)


def schedule_of(request: Request) -> TileSchedule | Auto:
    """The schedule that is asked for.  Where none is: the model's for warpgroups, whose workgroups stay for
    several tiles anyway, unless a tuning is given; else data_parallel.
    """
    if request.schedule is not None:
        return request.schedule
    has_model = request.machine.name == CHIP and request.tuning is None
    return AUTO if has_model and _multiplies(request.machine, request.problem.dtype) else DATA_PARALLEL


def _chosen(used: tuple[Tuning, ...], schedules: tuple[str, ...]) -> str:
    """The tunings, each once, and the schedules where workgroups share tiles."""
    texts = " ".join(dict.fromkeys(tunings.text(t) for t in used))
    shared = [s for s in dict.fromkeys(schedules) if s != str(DATA_PARALLEL)]
    return f"{texts}, schedule {' '.join(shared)}" if shared else texts


def _to_product(request: Request, algorithm: str | None) -> tuple[ToProduct, ...]:
    """The passes from the problem to matrix products."""
    packing = (ChannelsLastPass(),) if algorithm == CHANNELS_LAST else ()
    return (
        *packing,
        ConvToGemm(_has_matrix_instructions(request), _channel_multiple(request)),
        UnfoldContiguous(),
    )


def _channel_multiple(request: Request) -> int:
    """What channels are counted up to, so that a step of K stays at one tap; 1 where warpgroups do not
    multiply.  A given tuning's own step decides.
    """
    problem, tuning = request.problem, request.tuning
    if isinstance(problem, Gemm) or request.machine.name != CHIP or not _has_matrix_instructions(request):
        return 1
    channels = problem.k if problem.direction == "backward_data" else problem.c
    if isinstance(tuning, WarpgroupTuning):
        return tuning.k_per_block
    return step_of_channels(channels // problem.groups, problem.dtype)


def _lds_costs(made: Program, target: str) -> dict[str, LdsCost]:
    if target not in CHIPS:
        return {}
    found = {kernel.name: lds_traffic(kernel, target) for kernel in made.kernels}
    return {name: LdsCost(*traffic.factors, traffic.extra) for name, traffic in found.items()}


def _has_matrix_instructions(request: Request) -> bool:
    """Will matrix instructions multiply?  They want a step of K at one tap of a window: its lanes then have
    one guard a load.
    """
    if request.tuning is not None:
        return isinstance(request.tuning, XdlopsTuning | WarpgroupTuning)
    return _multiplies(request.machine, request.problem.dtype)


def _multiplies(machine: Target, dtype: DType) -> bool:
    """Has the machine matrix instructions of this type, of waves or of warpgroups?"""
    if not isinstance(machine, GpuTarget):
        return False
    return bool(columns_of(dtype) if machine.name == CHIP else served(dtype, machine.chip))


def _expect_served(request: Request) -> None:
    """A type of which products read a part only is for machines whose matrix instructions do that."""
    machine, dtype = request.machine, request.problem.dtype
    if dtype.read_bits is not None and not _multiplies(machine, dtype):
        message = f"{machine.name} has no matrix instruction that multiplies {dtype}"
        raise Diagnostic(message, hint="say f32, whose products read all of its bits")


def algorithm_of(request: Request) -> str | None:
    """The algorithm that is asked for, in full, or the one chosen for a convolution; None: a plain product.

    A Diagnostic where the one that is asked for does not serve.
    """
    problem, asked = request.problem, request.algorithm
    _expect_served(request)
    if isinstance(problem, Gemm):
        return None if asked is None else named_algorithm(asked, problem.dtype, request.machine)
    if asked == CHANNELS_LAST:
        _expect_packing(request)
    elif asked is None and _has_matrix_instructions(request) and _packs(request):
        return CHANNELS_LAST
    return asked or ("v4r1" if problem.direction == "backward_data" else "v4r4")


def _packs(request: Request) -> bool:
    """Is it worth the copies that channels_last makes?  By the model of warpgroups where these multiply."""
    op = _convolution(request.problem)
    assert not isinstance(request.problem, Gemm), request.problem
    if request.machine.name != CHIP or request.tuning is not None:
        return pays(op)
    arrays, size = packed_arrays(op), request.problem.dtype.bytes
    if not arrays:
        return False
    elements = [(prod(d.size for d in of.array), prod(d.size for d in of.packed)) for of in arrays.values()]
    copies = sum(copy_cycles(size * (before + after)) for before, after in elements)
    native = "v4r1" if request.problem.direction == "backward_data" else "v4r4"
    return _cycles(request, CHANNELS_LAST) + copies < _cycles(request, native)


def _cycles(request: Request, algorithm: str) -> float:
    """What the model of warpgroups says of a convolution's products."""
    machine = request.machine
    assert isinstance(machine, GpuTarget), machine
    module = problem_module(request.problem, request.name, algorithm)
    for step in _to_product(request, algorithm):
        step.apply(context(), module)
    products = [gemm_context(op) for op in module.walk() if isinstance(op, GridwiseGemmOp)]
    return sum(warpgroup_choice.taken(warpgroup_choice.offers(c, machine)).cost for c in products)


def _convolution(problem: Problem) -> ConvOp:
    (op,) = (o for o in problem_module(problem).walk() if isinstance(o, ConvOp))
    return op


def _expect_packing(request: Request) -> None:
    machine, dtype = request.machine, request.problem.dtype
    if not _multiplies(machine, dtype):
        message = f"algorithm '{CHANNELS_LAST}' packs for matrix instructions, and {machine.name} has none"
        hint = f"leave the algorithm out, or name a GPU that multiplies {dtype}, see 'imbrex explain mma'"
        raise Diagnostic(f"{message} that multiplies {dtype}", hint=hint)
    if not packed_arrays(_convolution(request.problem)):
        message = f"algorithm '{CHANNELS_LAST}' has nothing to pack: {ALREADY}"
        raise Diagnostic(message, hint="leave the algorithm out, and they are read where they are")


def steps_of(made: Program, target: str) -> tuple[Step, ...]:
    """What a host does to run the program on a device, its arrays by their places."""
    places = {buffer.name: place for place, buffer in enumerate(made.arguments)}
    return tuple(
        Zero(places[step.buffer.name]) if isinstance(step, ZeroFill) else _launch(step, places, target)
        for step in made.launches
    )


def _launch(kernel: Kernel, places: Mapping[str, int], target: str) -> Launch:
    arguments = tuple(places[buffer.name] for buffer in kernel.arguments)
    plain = Launch(kernel.name, kernel.grid_size, kernel.block_size, arguments)
    return replace(plain, **launch_facts(kernel)._asdict()) if target in ARCHITECTURES else plain


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
