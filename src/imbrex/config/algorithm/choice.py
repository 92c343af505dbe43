"""The algorithm of a problem: the one that is asked for, or the one that costs least by the models."""

from __future__ import annotations

from collections.abc import Iterator

from imbrex.chip import GPU_MACHINES, WARPGROUPS, CpuMachine, GpuMachine
from imbrex.config.algorithm.aligned import ALREADY, aligned
from imbrex.config.algorithm.channels_last import pays
from imbrex.config.algorithm.cost import cheapest, cycles
from imbrex.config.algorithm.depthwise import has_window_vectors, is_depthwise, is_lanes_own
from imbrex.config.algorithm.matrices import parts_of_k
from imbrex.config.algorithm.named import expected_row
from imbrex.config.algorithm.serving import SERVING, Refusal
from imbrex.config.algorithm.table import Algorithm, number_of, rows_for
from imbrex.config.algorithm.task import ConvTask, gemm_task_of, task_of
from imbrex.config.algorithm.windows import groups_of
from imbrex.config.halo.plan import WindowTuning
from imbrex.config.matrix_unit import has_matrix_instructions, multiplies
from imbrex.config.request import Request
from imbrex.config.tiles import TileSchedule
from imbrex.config.warpgroup import choice as warpgroup_choice
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.xdlops.data_tiled import in_full
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.diagnostic import Diagnostic
from imbrex.problem import Conv2d, Gemm

__all__ = ["algorithm_of", "alternatives", "plain_of"]


def algorithm_of(request: Request) -> str | None:
    """The algorithm that is asked for, in full, or the one that is chosen; None: a plain product.

    A Diagnostic where the one that is asked for does not serve.
    """
    _expect_multiplied(request)
    match request.problem:
        case Gemm() as problem:
            return _of_product(request, problem)
        case Conv2d() as problem:
            return _of_convolution(request, problem)


def plain_of(problem: Conv2d) -> str:
    """The algorithm that copies nothing and asks for nothing."""
    return "v4r1" if problem.direction == "backward_data" else "v4r4"


def alternatives(problem: Conv2d) -> Iterator[str]:
    """The algorithms of a convolution that the model of warpgroups is asked about, besides the plain one."""
    task = task_of(problem)
    is_fixed = problem.run_time is None
    for row in (row for row in rows_for(problem.direction) if row.machine != "waves"):
        if row.phases == "added" and not is_fixed:
            continue
        for number in SERVING[row.name].offers(task):
            yield f"{row.name}:{number}" if row.is_counted else row.name


def _of_convolution(request: Request, problem: Conv2d) -> str:
    task = task_of(problem)
    if request.algorithm is not None:
        return _served(request.algorithm, task, request)
    plain = plain_of(problem)
    if not has_matrix_instructions(request):
        if isinstance(request.machine, CpuMachine):
            plain = _by_phases(request, task, plain)
            return "window_vectors" if _has_windows(request, task, plain) else plain
        on_lanes = request.machine.multiprocessor and is_lanes_own(problem.dtype)
        has_lanes = on_lanes and request.tuning is None and is_depthwise(task)
        return "channel_vectors" if has_lanes else _by_phases(request, task, plain)
    if isinstance(request.tuning, WindowTuning):
        return _served(f"halo:{groups_of(request.tuning, task)}", task, request)
    if not request.machine.has_warpgroups or request.tuning is not None:
        return "channels_last" if pays(task) else _of_waves(request, task, plain)
    shares = isinstance(request.schedule, TileSchedule) and request.schedule.is_shared
    others = [a for a in alternatives(problem) if not (shares and a.startswith("halo"))]
    return cheapest(request, (plain, *others)) if others else plain


def _of_waves(request: Request, task: ConvTask, plain: str) -> str:
    """Pixels once for the taps of a row, where a tuning says so, or where that is faster by the model."""
    given = request.tuning
    if not isinstance(request.machine, GpuMachine) or request.machine.has_warpgroups:
        return plain
    offers = SERVING["row_halo"].offers(task) if task.direction != "backward_weight" else ()
    others = [f"row_halo:{count}" for count in offers]
    if given is not None:
        return others[0] if others and isinstance(given, XdlopsTuning) and given.taps > 1 else plain
    plain = _by_phases(request, task, plain)
    return cheapest(request, (plain, *others)) if others else plain


def _by_phases(request: Request, task: ConvTask, plain: str) -> str:
    """One product for all phases of a gradient, where windows are apart and that is faster by the model."""
    is_open = request.tuning is None and request.schedule is None and request.problem.run_time is None
    if not is_open or not any(True for _ in SERVING["v1r1"].offers(task)):
        return plain
    return cheapest(request, (plain, "v1r1"))


def _has_windows(request: Request, task: ConvTask, plain: str) -> bool:
    """Does a CPU take vectors of windows: depthwise, or where they are faster by the models?"""
    if request.tuning is not None or not has_window_vectors(task):
        return False
    if is_depthwise(task):
        return True
    return request.schedule is None and cycles(request, "window_vectors") < cycles(request, plain)


def _served(named: str, task: ConvTask, request: Request) -> str:
    """The algorithm of this name; a Diagnostic where it does not serve."""
    row = expected_row(named, request.problem, request.machine)
    _, _, number = named.partition(":")
    found = SERVING[row.name].refused(task, number) or _not_shared(row, request)
    if found is not None:
        raise Diagnostic(f"algorithm '{named}'{found.reason}", hint=found.hint)
    return named


def _not_shared(row: Algorithm, request: Request) -> Refusal | None:
    if row.phases != "shared" or isinstance(request.tuning, WarpgroupTuning | None):
        return None
    hint = "leave the algorithm out, or name a tuning of warpgroups"
    return Refusal(f": phases share tiles of warpgroups, on {WARPGROUPS.name}", hint)


def _expect_multiplied(request: Request) -> None:
    """A type of which products read a part only, and a microscaled one, is for machines whose matrix
    instructions do that.
    """
    machine, dtype = request.machine, request.problem.dtype
    needs_matrix = dtype.read_bits is not None or dtype.is_microscaled or dtype.pair is not None
    if not needs_matrix or multiplies(machine, dtype):
        return
    message = f"{machine.name} has no matrix instruction that multiplies {dtype}"
    hint = "say f32, whose products read all of its bits"
    if dtype.is_microscaled or dtype.pair is not None:
        able = [name for name, one in GPU_MACHINES.items() if multiplies(one, dtype)]
        have = "has" if len(able) == 1 else "have"
        hint = f"{' and '.join(able)} {have}; --emulate and --emulate=isa run its kernels on a CPU"
    raise Diagnostic(message, hint=hint)


def _of_product(request: Request, problem: Gemm) -> str | None:
    """The named one, or what the model of warpgroups chooses; a tuning that is given is of one product."""
    machine, named = request.machine, request.algorithm
    if named is None:
        is_served = machine.has_warpgroups and has_matrix_instructions(request)
        return "aligned" if is_served and request.tuning is None and _aligns(request, problem) else None
    match expected_row(named, problem, machine).name:
        case "direct":
            return None
        case "aligned":
            _expect_aligning(problem)
            return named
        case "k_parts":
            _expect_read_in_parts(problem)
            parts_of_k(gemm_task_of(problem), number_of(named))
            return named
        case _ if problem.dtype.pair is not None:
            hint = "leave the algorithm out, and both are read where they are"
            raise Diagnostic(f"algorithm '{named}' packs arrays of one type, not {problem.dtype}", hint=hint)
        case _ if problem.dtype.is_microscaled:
            hint = "leave the algorithm out, and scales are read where they are"
            raise Diagnostic(f"algorithm '{named}' packs no scales, which {problem.dtype} has", hint=hint)
        case _:
            return in_full(named, problem.dtype, machine)


def _expect_read_in_parts(problem: Gemm) -> None:
    """A Diagnostic where K cannot be cut into parts."""
    if problem.run_time is not None or problem.dtype.is_microscaled or problem.dtype.pair is not None:
        of = "run-time sizes" if problem.run_time is not None else problem.dtype
        raise Diagnostic(f"algorithm 'k_parts' does not serve {of}", hint="leave the algorithm out")


def _aligns(request: Request, problem: Gemm) -> bool:
    """Are copies of what ordinary loads would have to read, and the product of them, faster?"""
    if aligned(gemm_task_of(problem)) is None:
        return False
    direct = cycles(request, None) * (1 - warpgroup_choice.MARGIN)
    return cycles(request, "aligned") < direct


def _expect_aligning(problem: Gemm) -> None:
    """A Diagnostic where a product has nothing that copies would align."""
    if aligned(gemm_task_of(problem)) is None:
        message = f"algorithm 'aligned' has nothing to copy: {ALREADY}"
        raise Diagnostic(message, hint="leave the algorithm out, and they are read where they are")
