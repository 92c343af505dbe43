"""The algorithm of a problem: what is copied or seen in another way before it becomes matrix products.

    convolution     v4r4, v4r1 or v1r1      nothing
                    channels_last           arrays that are read are copied, their channels fastest
                    window_rows             those of few channels, so that a row of a window is one stretch
                    merged_groups:COUNT     so many groups are computed as one, with zeros between
                    channel_vectors         lanes multiply, each neighbouring groups of one channel
    product         direct                  nothing
                    aligned                 operands whose rows tensor maps cannot read are copied
                    data_tiled              all three are, tile by tile

Where none is asked for, a model chooses for warpgroups: the estimated cycles of the products and the copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Final, TypeAlias

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.index.query import vector_width
from imbrex.ir.chain import named_map
from imbrex.ir.dialect import context
from imbrex.ir.ops.grid import GridwiseGemmOp, LaunchOp
from imbrex.ir.ops.problem import ConvOp, GemmOp
from imbrex.ir.ops.workspace import WorkspaceOp
from imbrex.ir.passes import aligned_rows
from imbrex.ir.passes.affix_tuning import gemm_context
from imbrex.ir.passes.aligned_rows import AlignedRows
from imbrex.ir.passes.channel_vectors import ChannelVectors, GroupsLast, is_depthwise
from imbrex.ir.passes.channels_last import ALREADY, ChannelsLastPass, packed_arrays, pays
from imbrex.ir.passes.conv_to_gemm import ConvToGemm
from imbrex.ir.passes.merge_groups import MergeGroups
from imbrex.ir.passes.unfold import UnfoldContiguous
from imbrex.ir.passes.window_rows import NOT_SERVED, WindowRowsPass, rows_of
from imbrex.ir.problem_module import problem_module
from imbrex.ir.shape import shape_of
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.schedule.channel_cost import channel_cycles
from imbrex.schedule.context import round_up
from imbrex.schedule.target import GpuTarget, Target
from imbrex.schedule.tiles import Auto, TileSchedule
from imbrex.schedule.tuning import Tuning
from imbrex.schedule.warpgroup import choice as warpgroup_choice
from imbrex.schedule.warpgroup.cost import copy_cycles
from imbrex.schedule.warpgroup.plan import CHIP, VECTOR_BYTES, WarpgroupTuning, columns_of, step_of_channels
from imbrex.schedule.xdlops.data_tiled import named_algorithm
from imbrex.schedule.xdlops.mfma import served
from imbrex.schedule.xdlops.plan import XdlopsTuning

__all__ = ["Request", "algorithm_of", "multiplies", "to_product"]

CHANNELS_LAST: Final = "channels_last"
MERGED_GROUPS: Final = "merged_groups"
CHANNEL_VECTORS: Final = "channel_vectors"
WINDOW_ROWS: Final = "window_rows"
ALIGNED: Final = "aligned"
DIRECT: Final = "direct"
LANE_TYPES: Final = ("f16", "bf16", "f32")
"""Whose depthwise convolutions lanes multiply."""
ROW_BYTES: Final = (32, 64, 128)
"""Of merged channels: what a row of shared memory holds."""
ToProduct: TypeAlias = (
    AlignedRows
    | GroupsLast
    | ChannelVectors
    | MergeGroups
    | WindowRowsPass
    | ChannelsLastPass
    | ConvToGemm
    | UnfoldContiguous
)


@dataclass(frozen=True)
class Request:
    """What to build: a problem, for a machine, with the tuning that the user gives or the model chooses.

    target: how source is written: "cpu", a GPU such as "gfx942", or "emulate" for the lane-level build of the
    schedule of the GPU that `machine` is.
    algorithm: of a convolution, "channels_last", "window_rows", "merged_groups:COUNT", or "v4r4", which packs
    nothing, of backward data "v4r1" or "v1r1"; of a product, "aligned", "direct", which copies nothing,
    "data_tiled" or "data_tiled:TILE_KERNEL".
    schedule: None for what suits the machine, see `schedule_of`.
    """

    problem: Problem
    machine: Target
    target: str = "cpu"
    tuning: Tuning | None = None
    algorithm: str | None = None
    name: str = "kernel"
    schedule: TileSchedule | Auto | None = None


def to_product(request: Request, algorithm: str | None) -> tuple[ToProduct, ...]:
    """The passes from the problem to matrix products."""
    packing = {
        CHANNELS_LAST: (ChannelsLastPass(),),
        MERGED_GROUPS: (MergeGroups(), ChannelsLastPass()),
        WINDOW_ROWS: (WindowRowsPass(),),
        ALIGNED: (AlignedRows(),),
    }
    word = (algorithm or "").partition(":")[0]
    if word == CHANNEL_VECTORS:
        return GroupsLast(), ConvToGemm(True), UnfoldContiguous(), ChannelVectors()
    return (
        *packing.get(word, ()),
        ConvToGemm(_has_matrix_instructions(request), _channel_multiple(request, algorithm)),
        UnfoldContiguous(),
    )


def _channel_multiple(request: Request, algorithm: str | None) -> int:
    """What channels are counted up to, so that a step of K stays at one tap; 1 where warpgroups do not
    multiply.  A given tuning's own step decides.
    """
    problem, tuning = request.problem, request.tuning
    if isinstance(problem, Gemm) or request.machine.name != CHIP or not _has_matrix_instructions(request):
        return 1
    if algorithm == WINDOW_ROWS:
        return 1
    channels = problem.k if problem.direction == "backward_data" else problem.c
    if isinstance(tuning, WarpgroupTuning):
        return tuning.k_per_block
    word, _, count = (algorithm or "").partition(":")
    merged = int(count) if word == MERGED_GROUPS else 1
    channels = channels // problem.groups * merged
    if algorithm == CHANNELS_LAST and problem.direction != "backward_weight":
        channels = round_up(channels, max(1, VECTOR_BYTES // problem.dtype.bytes))
    return step_of_channels(channels, problem.dtype)


def _has_matrix_instructions(request: Request) -> bool:
    """Will matrix instructions multiply?  They want a step of K at one tap of a window: its lanes then have
    one guard a load.
    """
    if request.tuning is not None:
        return isinstance(request.tuning, XdlopsTuning | WarpgroupTuning)
    return multiplies(request.machine, request.problem.dtype)


def multiplies(machine: Target, dtype: DType) -> bool:
    """Has the machine matrix instructions of this type, of waves or of warpgroups?"""
    if not isinstance(machine, GpuTarget):
        return False
    return bool(columns_of(dtype) if machine.name == CHIP else served(dtype, machine.chip))


def _expect_served(request: Request) -> None:
    """A type of which products read a part only is for machines whose matrix instructions do that."""
    machine, dtype = request.machine, request.problem.dtype
    if dtype.read_bits is not None and not multiplies(machine, dtype):
        message = f"{machine.name} has no matrix instruction that multiplies {dtype}"
        raise Diagnostic(message, hint="say f32, whose products read all of its bits")


def algorithm_of(request: Request) -> str | None:
    """The algorithm that is asked for, in full, or the one that is chosen; None: a plain product.

    A Diagnostic where the one that is asked for does not serve.
    """
    _expect_served(request)
    match request.problem:
        case Gemm() as problem:
            return _algorithm_of_product(request, problem)
        case Conv2d() as problem:
            return _algorithm_of_convolution(request, problem)


def _algorithm_of_convolution(request: Request, problem: Conv2d) -> str:
    asked, op = request.algorithm, _convolution(problem)
    if asked is not None:
        _expect(asked, op, request)
        return asked
    plain = "v4r1" if problem.direction == "backward_data" else "v4r4"
    on_lanes = is_depthwise(op) and problem.dtype.name in LANE_TYPES and request.tuning is None
    if request.machine.name == CHIP and on_lanes and not _has_matrix_instructions(request):
        return CHANNEL_VECTORS
    if not _has_matrix_instructions(request):
        return plain
    if request.machine.name != CHIP or request.tuning is not None:
        return CHANNELS_LAST if pays(op) else plain
    others = tuple(_alternatives(op, problem))
    return min((plain, *others), key=lambda a: _cycles(request, a)) if others else plain


def _alternatives(op: ConvOp, problem: Conv2d) -> Iterator[str]:
    """The algorithms of a convolution for warpgroups that copy something."""
    if is_depthwise(op) and problem.dtype.name in LANE_TYPES:
        yield CHANNEL_VECTORS
    if packed_arrays(op):
        yield CHANNELS_LAST
    if rows_of(op) is not None:
        yield WINDOW_ROWS
    groups, size = problem.groups, problem.dtype.bytes
    narrow, wide = (of(problem.c // groups, problem.k // groups) * size for of in (min, max))
    for row in ROW_BYTES:
        count = row // narrow
        if count > 1 and groups % count == 0 and count * wide <= ROW_BYTES[-1]:
            yield f"{MERGED_GROUPS}:{count}"


def _cycles(request: Request, algorithm: str | None) -> float:
    """What the model says of a problem's products and of the copies before them, which read about as much as
    they write.
    """
    machine = request.machine
    assert isinstance(machine, GpuTarget), machine
    module = problem_module(request.problem, request.name, algorithm)
    for step in to_product(request, algorithm):
        if not isinstance(step, ChannelVectors):
            step.apply(context(), module)
    ops = list(module.walk())
    copies = [prod(size or 1 for size in shape_of(op.result)) for op in ops if isinstance(op, WorkspaceOp)]
    launches = sum(isinstance(op, LaunchOp) for op in ops)
    moving = copy_cycles(2 * sum(copies) * request.problem.dtype.bytes, launches)
    products = [op for op in ops if isinstance(op, GridwiseGemmOp)]
    return moving + sum(_product_cycles(op, algorithm, machine) for op in products)


def _product_cycles(op: GridwiseGemmOp, algorithm: str | None, machine: GpuTarget) -> float:
    context = gemm_context(op)
    if algorithm == CHANNEL_VECTORS:
        stored = named_map(op.c, ("gemmG", "gemmM", "gemmN"))
        return channel_cycles(context, machine, vector_width(stored, "gemmG"))
    return warpgroup_choice.taken(warpgroup_choice.offers(context, machine)).cost


def _algorithm_of_product(request: Request, problem: Gemm) -> str | None:
    """By the model of warpgroups where these multiply, unless a tuning is given, which is of one product."""
    asked, is_served = request.algorithm, request.machine.name == CHIP and _has_matrix_instructions(request)
    if asked not in (None, ALIGNED):
        return None if asked == DIRECT else named_algorithm(asked, problem.dtype, request.machine)
    if asked == ALIGNED:
        _expect_aligning(request)
        return ALIGNED
    return ALIGNED if is_served and request.tuning is None and _aligns(request) else None


def _aligns(request: Request) -> bool:
    """Are copies of what ordinary loads would have to read, and the product of them, faster?"""
    if not aligned_rows.aligned_operands(_product(request.problem)):
        return False
    direct = _cycles(request, None) * (1 - warpgroup_choice.MARGIN)
    return _cycles(request, ALIGNED) < direct


def _product(problem: Problem) -> GemmOp:
    (op,) = (o for o in problem_module(problem).walk() if isinstance(o, GemmOp))
    return op


def _expect_aligning(request: Request) -> None:
    machine, dtype = request.machine, request.problem.dtype
    if machine.name != CHIP or not multiplies(machine, dtype):
        does_not = f"{machine.name} does not multiply {dtype} by warpgroups"
        message = f"algorithm '{ALIGNED}' copies for what warpgroups read, and {does_not}"
        raise Diagnostic(
            message, hint=f"leave the algorithm out; {CHIP} does tf32 and types of 16 and 8 bits"
        )
    if not aligned_rows.aligned_operands(_product(request.problem)):
        message = f"algorithm '{ALIGNED}' has nothing to copy: {aligned_rows.ALREADY}"
        raise Diagnostic(message, hint="leave the algorithm out, and they are read where they are")


def _convolution(problem: Problem) -> ConvOp:
    (op,) = (o for o in problem_module(problem).walk() if isinstance(o, ConvOp))
    return op


def _expect(asked: str, op: ConvOp, request: Request) -> None:
    """A Diagnostic where an algorithm does not serve a convolution."""
    machine, dtype, word = request.machine, request.problem.dtype, asked.partition(":")[0]
    if word == CHANNEL_VECTORS and not is_depthwise(op):
        message = f"algorithm '{asked}' is for forward and backward data, one channel and one filter a group"
        raise Diagnostic(message, hint="leave the algorithm out")
    if word not in (CHANNELS_LAST, WINDOW_ROWS, MERGED_GROUPS):
        return
    if not multiplies(machine, dtype):
        message = f"algorithm '{asked}' packs for matrix instructions, and {machine.name} has none"
        hint = f"leave the algorithm out, or name a GPU that multiplies {dtype}, see 'imbrex explain mma'"
        raise Diagnostic(f"{message} that multiplies {dtype}", hint=hint)
    hint = "leave the algorithm out, and they are read where they are"
    if word == WINDOW_ROWS and rows_of(op) is None:
        raise Diagnostic(f"algorithm '{asked}': {NOT_SERVED}", hint="leave the algorithm out")
    if word == CHANNELS_LAST and not packed_arrays(op):
        message = f"algorithm '{asked}' has nothing to pack: {ALREADY}"
        raise Diagnostic(message, hint=hint)
    if word == MERGED_GROUPS:
        _expect_groups(asked, request.problem)


def _expect_groups(asked: str, problem: Problem) -> None:
    assert isinstance(problem, Conv2d), problem
    count = asked.partition(":")[2]
    if not count.isdecimal() or int(count) < 1 or problem.groups % int(count):
        message = f"algorithm '{asked}' says how many of the {problem.groups} groups are computed as one"
        raise Diagnostic(
            message, hint=f"write '{MERGED_GROUPS}:COUNT' with a COUNT that divides {problem.groups}"
        )
