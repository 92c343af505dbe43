"""The algorithm of a problem: what is copied or seen in another way before it becomes matrix products.

    convolution     v4r4, v4r1 or v1r1      nothing
                    channels_last           arrays that are read are copied, their channels fastest
                    input_last, output_last of backward weight, this array alone
                    interleaved             the phases of backward data, to where they belong
                    window_rows             those of few channels, so that a row of a window is one stretch
                    merged_groups:COUNT     so many groups are computed as one, with zeros between
                    whole_images:COUNT      nothing; images have a multiple of so many positions
                    halo:COUNT              pixels come into shared memory once for all taps; groups as above
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
from imbrex.ir.dialect import context
from imbrex.ir.ops.grid import GridwiseGemmOp, LaunchOp
from imbrex.ir.ops.memory import FillOp
from imbrex.ir.ops.problem import ConvOp, GemmOp
from imbrex.ir.ops.workspace import WorkspaceOp
from imbrex.ir.passes import aligned_rows
from imbrex.ir.passes.affix_tuning import gemm_context
from imbrex.ir.passes.aligned_rows import AlignedRows
from imbrex.ir.passes.channel_vectors import ChannelVectors, is_depthwise
from imbrex.ir.passes.channels_last import ALREADY, KEYS, ChannelsLastPass, pays
from imbrex.ir.passes.conv_to_gemm import ConvToGemm, convolution_of
from imbrex.ir.passes.halo import Halo, groups_of, halo_tuning, refused
from imbrex.ir.passes.interleave import gaps, leaves_gaps
from imbrex.ir.passes.merge_groups import MergeGroups
from imbrex.ir.passes.unfold import UnfoldContiguous
from imbrex.ir.passes.whole_images import WholeImagesPass, expect_images, is_served
from imbrex.ir.passes.window_rows import NOT_SERVED, WindowRowsPass, rows_of
from imbrex.ir.problem_module import problem_module
from imbrex.ir.shape import shape_of
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.schedule.channel_cost import channel_cycles
from imbrex.schedule.context import round_up
from imbrex.schedule.halo.cost import halo_cycles
from imbrex.schedule.halo.plan import HaloTuning
from imbrex.schedule.strips import Shape
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
HALO: Final = "halo"
WHOLE_IMAGES: Final = "whole_images"
INTERLEAVED: Final = "interleaved"
WHOLE_ROWS: Final = 0.9
"""What rows of shared memory that end with an image save: 12 to 20 % were seen on an H200."""
ALIGNED: Final = "aligned"
DIRECT: Final = "direct"
LANE_TYPES: Final = ("f16", "bf16", "f32")
"""Whose depthwise convolutions lanes multiply."""
ROW_BYTES: Final = (32, 64, 128)
"""Of merged channels, or of an image's positions: what a row of shared memory holds."""
ToProduct: TypeAlias = (
    AlignedRows
    | ChannelVectors
    | MergeGroups
    | Halo
    | WholeImagesPass
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
    algorithm: of a convolution, "channels_last", of backward weight also "input_last" and "output_last",
    "window_rows", "merged_groups:COUNT", or "v4r4", which packs nothing, of backward data "v4r1" or "v1r1";
    of a product, "aligned", "direct", which copies nothing, "data_tiled" or "data_tiled:TILE_KERNEL".
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
        **dict.fromkeys(KEYS, (ChannelsLastPass(),)),
        MERGED_GROUPS: (MergeGroups(), ChannelsLastPass()),
        WINDOW_ROWS: (WindowRowsPass(),),
        ALIGNED: (AlignedRows(),),
    }
    word = (algorithm or "").partition(":")[0]
    if word == CHANNEL_VECTORS:
        return ChannelVectors(), ConvToGemm(True), UnfoldContiguous()
    if word == WHOLE_IMAGES:
        return WholeImagesPass(), UnfoldContiguous()
    if word == HALO:
        return MergeGroups(), ChannelsLastPass(), Halo.of(request.tuning), UnfoldContiguous()
    return (
        *packing.get(word, ()),
        ConvToGemm(
            _has_matrix_instructions(request),
            _channel_multiple(request, algorithm),
            phases_apart=request.machine.name == CHIP and word in (INTERLEAVED, CHANNELS_LAST),
        ),
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
        return isinstance(request.tuning, XdlopsTuning | WarpgroupTuning | HaloTuning)
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
    if isinstance(request.tuning, HaloTuning):
        asked = f"{HALO}:{groups_of(request.tuning, op)}"
        _expect(asked, op, request)
        return asked
    if request.machine.name != CHIP or request.tuning is not None:
        return CHANNELS_LAST if pays(op) else plain
    shares = isinstance(request.schedule, TileSchedule) and request.schedule.is_shared
    others = [a for a in _alternatives(op, problem) if not (shares and a.startswith(HALO))]
    return min((plain, *others), key=lambda a: _cycles(request, a)) if others else plain


def _alternatives(op: ConvOp, problem: Conv2d) -> Iterator[str]:
    """The algorithms of a convolution for warpgroups that copy something."""
    if is_depthwise(op) and problem.dtype.name in LANE_TYPES:
        yield CHANNEL_VECTORS
    yield from (word for word, copied in KEYS.items() if copied(op))
    if leaves_gaps(op):
        yield INTERLEAVED
    if rows_of(op) is not None:
        yield WINDOW_ROWS
    groups, size = problem.groups, problem.dtype.bytes
    if problem.stride == (1, 1) and is_served(op):  # others, and shorter rows, were not seen to be faster
        yield f"{WHOLE_IMAGES}:{ROW_BYTES[-1] // size}"
    narrow, wide = (of(problem.c // groups, problem.k // groups) * size for of in (min, max))
    for row in ROW_BYTES:
        count = row // narrow
        if count > 1 and groups % count == 0 and count * wide <= ROW_BYTES[-1]:
            yield f"{MERGED_GROUPS}:{count}"
    yield from (f"{HALO}:{n}" for n in {1, *(r // narrow for r in ROW_BYTES)} if refused(op, n) is None)


def _cycles(request: Request, algorithm: str | None) -> float:
    """What the model says of a problem's products and of the copies before them, which read about as much as
    they write.
    """
    machine = request.machine
    assert isinstance(machine, GpuTarget), machine
    if algorithm == CHANNEL_VECTORS:
        return _lane_cycles(request.problem, machine)
    module = problem_module(request.problem, request.name, algorithm)
    for step in to_product(request, algorithm):
        step.apply(context(), module)
    ops = list(module.walk())
    copies = [prod(size or 1 for size in shape_of(op.result)) for op in ops if isinstance(op, WorkspaceOp)]
    launches = sum(isinstance(op, LaunchOp) for op in ops)
    filled = sum(prod(size or 1 for size in shape_of(op.buffer)) for op in ops if isinstance(op, FillOp))
    moved = 2 * sum(copies) + gaps(ops) + filled
    moving = copy_cycles(moved * request.problem.dtype.bytes, launches)
    products = [op for op in ops if isinstance(op, GridwiseGemmOp)]
    whole = WHOLE_ROWS if (algorithm or "").startswith(WHOLE_IMAGES) else 1.0
    return moving + whole * sum(_product_cycles(op, algorithm, machine) for op in products)


def _lane_cycles(problem: Problem, machine: GpuTarget) -> float:
    assert isinstance(problem, Conv2d), problem
    shape = convolution_of(_convolution(problem))
    return channel_cycles(Shape(shape, problem.direction, problem.dtype.bytes), machine)


def _product_cycles(op: GridwiseGemmOp, algorithm: str | None, machine: GpuTarget) -> float:
    context = gemm_context(op)
    if own := halo_tuning(op):
        return halo_cycles(own.plan(context, machine))
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
        message = f"algorithm '{asked}' is for one channel and one filter a group, and no large windows"
        raise Diagnostic(message, hint="leave the algorithm out")
    if word not in (*KEYS, WINDOW_ROWS, MERGED_GROUPS, HALO, WHOLE_IMAGES, INTERLEAVED):
        return
    if not multiplies(machine, dtype):
        message = f"algorithm '{asked}' packs for matrix instructions, and {machine.name} has none"
        hint = f"leave the algorithm out, or name a GPU that multiplies {dtype}, see 'imbrex explain mma'"
        raise Diagnostic(f"{message} that multiplies {dtype}", hint=hint)
    hint = "leave the algorithm out, and they are read where they are"
    if word == WHOLE_IMAGES:
        expect_images(asked, op, machine.name)
    if word == INTERLEAVED and not (machine.name == CHIP and leaves_gaps(op)):
        message = f"algorithm '{asked}': phases leave no gaps that {machine.name} had better fill at once"
        raise Diagnostic(message, hint="leave the algorithm out")
    if word == WINDOW_ROWS and rows_of(op) is None:
        raise Diagnostic(f"algorithm '{asked}': {NOT_SERVED}", hint="leave the algorithm out")
    if word in KEYS and not KEYS[word](op):
        message = f"algorithm '{asked}' has nothing to pack: {ALREADY}"
        raise Diagnostic(message, hint=hint)
    if word in (MERGED_GROUPS, HALO):
        _expect_groups(asked, request.problem)
    if word == HALO and (reason := refused(op, int(asked.partition(":")[2]), machine.name)):
        raise Diagnostic(f"algorithm '{asked}': {reason}", hint="leave the algorithm out")


def _expect_groups(asked: str, problem: Problem) -> None:
    assert isinstance(problem, Conv2d), problem
    word, _, count = asked.partition(":")
    if not count.isdecimal() or int(count) < 1 or problem.groups % int(count):
        message = f"algorithm '{asked}' says how many of the {problem.groups} groups are computed as one"
        raise Diagnostic(message, hint=f"write '{word}:COUNT' with a COUNT that divides {problem.groups}")
