"""From a problem to source text: every level of the IR in order, then statements, then files."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate

from imbrex.build.amd.lds import LdsCost
from imbrex.chip import CPU_ISAS, GPU_MACHINES, WAVES, GpuMachine, Machine, gpus, with_parameters
from imbrex.config.algorithm.product import Products
from imbrex.config.buckets import bucketed, buckets
from imbrex.config.configuration import Configuration
from imbrex.config.launch_hints import launch_hints
from imbrex.config.products import products
from imbrex.config.request import Request
from imbrex.config.tuning import Tuning, is_pipelined
from imbrex.config.xdlops.at_once import in_turn, is_at_once
from imbrex.database.record import Parameters
from imbrex.database.warning import warn
from imbrex.diagnostic import Diagnostic
from imbrex.emit.bundle import Bundle, Facts, bundle
from imbrex.emit.cuda.launch_overlap import early
from imbrex.emit.cuda.layout import launch_facts
from imbrex.index.atom import Param
from imbrex.ir.dialect import context
from imbrex.ir.ops.standard import ModuleOp
from imbrex.ir.passes.affix_tuning import affixed
from imbrex.ir.passes.blockwise_to_threadwise import BlockwiseToThreadwise
from imbrex.ir.passes.gridwise_to_blockwise import GridwiseToBlockwise
from imbrex.ir.source import InvalidOp, PassFault
from imbrex.ir.to_product import name_in_ir, stated, to_product
from imbrex.lower.build import program
from imbrex.lower.joined import joined
from imbrex.lower.lds_traffic import lds_traffic
from imbrex.lower.one_launch import apart, in_one_launch
from imbrex.lower.side_by_side import side_by_side
from imbrex.lower.stmt import Buffer, Kernel, Program, ZeroFill
from imbrex.problem import Problem, problem_text
from imbrex.problem.operand import dense_strides
from imbrex.run.host_machine import HostMachine
from imbrex.run.launch import Launch, RunTimeGrid, Step, Zero


@dataclass(frozen=True)
class Level:
    """The module after a pass; it changes when the next level is asked for."""

    name: str
    module: ModuleOp


@dataclass(frozen=True)
class Lowered:
    """The whole way down: the files, the configuration that led to them, and the launches in order.

    workspace: the arrays that launches, or their workgroups, leave things in for each other; those in
    `zeroed` start as zeros.  lds: of a GPU's kernels, by name.
    """

    bundle: Bundle
    configuration: Configuration
    steps: tuple[Step, ...]
    workspace: tuple[Buffer, ...] = ()
    lds: Mapping[str, LdsCost] = field(default_factory=lambda: dict[str, LdsCost]())
    zeroed: frozenset[str] = frozenset()

    @property
    def algorithm(self) -> str | None:
        """None of a plain product."""
        return name_in_ir(self.configuration)

    @property
    def tunings(self) -> tuple[Tuning, ...]:
        """One a product."""
        return tuple(product.tuning for product in self.configuration.products)

    @property
    def schedules(self) -> tuple[str, ...]:
        """Schedules of the tiles of each product, as text."""
        return tuple(str(product.schedule) for product in self.configuration.products)


@contextmanager
def telling() -> Generator[None]:
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


def configuration_of(request: Request) -> Configuration:
    """The configuration that a request gives, or the one that is chosen within what it asks for."""
    with telling():
        return bucketed(request)


def levels(request: Request, configuration: Configuration | None = None) -> Iterator[Level]:
    """The module at each level, from the problem down to threadwise; of a run-time size for each bucket in
    turn.  configuration: the chosen one.
    """
    chosen = configuration or configuration_of(request)
    with telling():
        for part, own in buckets(request, chosen):
            yield from _levels(part, own)


def _levels(request: Request, configuration: Configuration) -> Iterator[Level]:
    module = stated(request.problem, request.name, configuration)
    yield Level("problem", module)
    ctx = context()
    for step in to_product(configuration, request.machine):
        step.apply(ctx, module)
        yield Level(step.name, module)
    affixed(module, configuration.products, request.machine)
    yield Level("affix-tuning", module)
    for step in (GridwiseToBlockwise(), BlockwiseToThreadwise()):
        step.apply(ctx, module)
        yield Level(step.name, module)


def lower(request: Request) -> Lowered:
    """The request's source files."""
    configuration = configuration_of(request)
    with telling():
        parts: list[Program] = []
        for part, own in buckets(request, configuration):
            *_, threadwise = _levels(part, own)
            first = sum(len(made.launches) for made in parts)
            made = _program(threadwise.module, part, first)
            parts.append(_at_once(_hinted(made, part, own), part, own))
        made = (in_one_launch if request.target in gpus("AMD") else apart)(joined(parts))
        return _printed(made, request, configuration)


def _program(module: ModuleOp, request: Request, first: int) -> Program:
    """The statements of a threadwise module."""
    written = frozenset(i for i, o in enumerate(request.problem.operands) if o.is_written)
    return program(module, written, request.machine, first)


def _printed(made: Program, request: Request, configuration: Configuration) -> Lowered:
    """The files of a program."""
    operands = request.problem.operands
    strides = [o.strides or dense_strides(o.shape) for o in operands]
    facts = Facts(
        problem_text(request.problem),
        str(configuration),
        tuple(o.shape for o in operands),
        tuple(strides) if any(o.strides for o in operands) else (),
        configuration.has_flags,
        _flushes_halves(request.machine),
        _open_sizes(request.problem),
    )
    overlapped = early(made, _permitted(made, configuration))
    files = bundle(made, facts, request.target, overlapped)
    costs = _lds_costs(made, request.target)
    steps = steps_of(made, request.target, overlapped)
    return Lowered(files, configuration, steps, made.workspace, costs, made.zeroed)


def _open_sizes(problem: Problem) -> tuple[tuple[int, ...], int, int] | None:
    """Where the run-time size stands among the numbers of all shapes, and its range."""
    if (size := problem.run_time) is None:
        return None
    starts = accumulate((len(o.shape) for o in problem.operands), initial=0)
    named = zip(starts, problem.operands, strict=False)
    return tuple(at for at, o in named if size.is_of(o)), size.least, size.most


def _hinted(made: Program, request: Request, configuration: Configuration) -> Program:
    """Each kernel with what the configuration has for it beside its tuning."""
    found = launch_hints(request, configuration, [kernel.grid_size for kernel in made.kernels])
    hints = dict(zip((kernel.name for kernel in made.kernels), found, strict=True))
    launches = (
        replace(step, **asdict(hints[step.name])) if isinstance(step, Kernel) else step
        for step in made.launches
    )
    return replace(made, launches=tuple(launches))


def _at_once(made: Program, request: Request, configuration: Configuration) -> Program:
    """Products of phases as one launch, where they have one tuning and a GPU runs them so."""
    if request.target not in gpus("AMD") or not is_at_once(configuration.products):
        return made
    found = products(request.problem, configuration, request.machine)
    assert isinstance(found, Products), configuration
    first, count = len(found.before), len(found.products)
    kernels = made.kernels[first : first + count]
    turns = in_turn([product.context for product in found.products])
    one = replace(side_by_side([kernels[turn] for turn in turns]), name=kernels[0].name)
    kept = [step for step in made.launches if step not in kernels[1:]]
    return replace(made, launches=tuple(one if step is kernels[0] else step for step in kept))


def _flushes_halves(machine: Machine) -> bool:
    return isinstance(machine, GpuMachine) and machine.code is not None and machine.code.flushes_halves


def _permitted(made: Program, configuration: Configuration) -> frozenset[str]:
    """The kernels of products that may begin before the launch ahead of them has ended."""
    kernels = [kernel.name for kernel in made.kernels if kernel.pipeline is not None]
    products = [p for p in configuration.products if is_pipelined(p.tuning)]
    return frozenset(k for k, product in zip(kernels, products, strict=True) if product.is_early)


def _lds_costs(made: Program, target: str) -> dict[str, LdsCost]:
    if target not in gpus("AMD"):
        return {}
    found = {kernel.name: lds_traffic(kernel, GPU_MACHINES[target]) for kernel in made.kernels}
    return {name: LdsCost(*traffic.factors, traffic.extra) for name, traffic in found.items()}


def steps_of(made: Program, target: str, overlapped: frozenset[str] = frozenset()) -> tuple[Step, ...]:
    """What a host does to run the program on a device, its arrays by their positions.

    overlapped: launches that may begin before the one ahead has ended.
    """
    positions = {buffer.name: position for position, buffer in enumerate(made.arguments)}
    return tuple(
        Zero(positions[step.buffer.name])
        if isinstance(step, ZeroFill)
        else replace(_launch(step, positions, target, made.count), is_early=step.name in overlapped)
        for step in made.launches
    )


def _launch(kernel: Kernel, positions: Mapping[str, int], target: str, count: Param | None) -> Launch:
    arguments = tuple(positions[buffer.name] for buffer in kernel.arguments)
    plain = Launch(kernel.name, kernel.grid_size, kernel.block_size, arguments)
    if target not in gpus("NVIDIA"):
        return plain
    return replace(plain, **launch_facts(kernel)._asdict(), run_time=_run_time_grid(kernel, count))


def _run_time_grid(kernel: Kernel, count: Param | None) -> RunTimeGrid | None:
    """How many workgroups a product of a run-time size has; as many as ever where its range is one size."""
    if count is None:
        return None
    least, greatest = kernel.when or count.bounds
    tiles = None if kernel.pipeline is None else kernel.pipeline.tiles
    if tiles is None or tiles.open_tiles is None:
        return RunTimeGrid(least, greatest, greatest, kernel.grid_size, kernel.grid_size)
    of, each = tiles.open_tiles, tiles.workgroups // tiles.clusters
    others = of.others * of.batches * of.parts * each
    return RunTimeGrid(least, greatest, of.block, others, tiles.workgroups, of.each)


def machine_on(here: HostMachine, target: str, threads: int) -> Machine:
    """What a schedule is chosen for on a host: a core of it, or the machine that the target names."""
    if target in CPU_ISAS:
        return machine_for("cpu", target, threads)
    return machine_for(
        target, here.isa.level, threads, here.l2_bytes, here.l3_bytes, here.isa.fma_per_cycle
    )  # fmt: skip


def calibrated(where: Machine, fitted: Parameters) -> Machine:
    """The machine as its model was calibrated to it; what was fitted to another model is passed over, with a
    warning.
    """
    if not fitted:
        return where
    try:
        return with_parameters(where, fitted)
    except Diagnostic as error:
        warn(f"the calibration of {where.name} is passed over: {error.message}; tune --calibrate mends it")
        return where


def machine_for(
    target: str,
    isa: str,
    threads: int,
    l2_bytes: int | None = None,
    l3_bytes: int | None = None,
    fma_per_cycle: float | None = None,
) -> Machine:
    """What a schedule is chosen for: this CPU core, or a GPU; "emulate" stands for gfx942."""
    if target != "cpu":
        return WAVES if target == "emulate" else GPU_MACHINES[target]
    known = {"l2_bytes": l2_bytes, "l3_bytes": l3_bytes, "fma_per_cycle": fma_per_cycle}
    row = CPU_ISAS[isa]
    halves = bool(row.halved_on) and (fma_per_cycle or row.fma_per_cycle) < row.fma_per_cycle
    return replace(row, threads=threads, runs_halves=halves, **{k: v for k, v in known.items() if v})
