"""What an algorithm that is asked for wants of its problem; a Diagnostic where it does not serve."""

from __future__ import annotations

from imbrex.algorithm.name import (
    ALIGNED,
    ALL_LAST,
    CHANNEL_VECTORS,
    HALO,
    INTERLEAVED,
    MERGED_GROUPS,
    SHARED_PHASES,
    SHARED_PHASES_LAST,
    WHOLE_IMAGES,
    WINDOW_ROWS,
    word_of,
)
from imbrex.algorithm.operation import product_op
from imbrex.algorithm.request import Request, multiplies
from imbrex.config.warpgroup.plan import CHIP, WarpgroupTuning
from imbrex.diagnostic import Diagnostic
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.passes import aligned_rows
from imbrex.ir.passes.channel_vectors import is_depthwise
from imbrex.ir.passes.channels_last import ALREADY, KEYS, RESULT_STAYS, packed_arrays
from imbrex.ir.passes.halo import refused
from imbrex.ir.passes.interleave import leaves_gaps
from imbrex.ir.passes.phase_products import shares_phases
from imbrex.ir.passes.whole_images import expect_images
from imbrex.ir.passes.window_rows import NOT_SERVED, rows_of
from imbrex.numeral import whole
from imbrex.problem import Conv2d, Problem

__all__ = ["expect_aligning", "expect_convolution", "expect_served"]


def expect_served(request: Request) -> None:
    """A type of which products read a part only is for machines whose matrix instructions do that."""
    machine, dtype = request.machine, request.problem.dtype
    if dtype.read_bits is not None and not multiplies(machine, dtype):
        message = f"{machine.name} has no matrix instruction that multiplies {dtype}"
        raise Diagnostic(message, hint="say f32, whose products read all of its bits")


def expect_convolution(asked: str, op: ConvOp, request: Request) -> None:
    """A Diagnostic where an algorithm does not serve a convolution."""
    machine, dtype, word = request.machine, request.problem.dtype, word_of(asked)
    if word == CHANNEL_VECTORS and not is_depthwise(op):
        message = f"algorithm '{asked}' is for one channel and one filter a group, and no large windows"
        raise Diagnostic(message, hint="leave the algorithm out")
    others = (WINDOW_ROWS, MERGED_GROUPS, HALO, WHOLE_IMAGES, INTERLEAVED)
    if word not in (*KEYS, *others, SHARED_PHASES, SHARED_PHASES_LAST):
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
    if word in (SHARED_PHASES, SHARED_PHASES_LAST):
        _expect_phases(asked, op, request)
    if word == WINDOW_ROWS and rows_of(op) is None:
        raise Diagnostic(f"algorithm '{asked}': {NOT_SERVED}", hint="leave the algorithm out")
    if (word in KEYS and not KEYS[word](op)) or (word == SHARED_PHASES_LAST and not packed_arrays(op)):
        message = f"algorithm '{asked}' has nothing to pack: {RESULT_STAYS if word == ALL_LAST else ALREADY}"
        raise Diagnostic(message, hint=hint)
    if word in (MERGED_GROUPS, HALO):
        _expect_groups(asked, request.problem)
    if word == HALO and (reason := refused(op, int(asked.partition(":")[2]), machine.name)):
        raise Diagnostic(f"algorithm '{asked}': {reason}", hint="leave the algorithm out")


def _expect_phases(asked: str, op: ConvOp, request: Request) -> None:
    if reason := shares_phases(op):
        raise Diagnostic(f"algorithm '{asked}': {reason}", hint="leave the algorithm out")
    if request.machine.name != CHIP or not isinstance(request.tuning, WarpgroupTuning | None):
        message = f"algorithm '{asked}': phases share tiles of warpgroups, on {CHIP}"
        raise Diagnostic(message, hint="leave the algorithm out, or name a tuning of warpgroups")


def _expect_groups(asked: str, problem: Problem) -> None:
    assert isinstance(problem, Conv2d), problem
    word, _, count = asked.partition(":")
    if word == MERGED_GROUPS and problem.groups == 1:
        raise Diagnostic(f"algorithm '{asked}' has no groups to merge", hint="leave the algorithm out")
    if (merged := whole(count, 1)) is None or problem.groups % merged:
        message = f"algorithm '{asked}' says how many of the {problem.groups} groups are computed as one"
        raise Diagnostic(message, hint=f"write '{word}:COUNT' with a COUNT that divides {problem.groups}")


def expect_aligning(request: Request) -> None:
    """A Diagnostic where a product has nothing that copies would align, or no warpgroups to read them."""
    machine, dtype = request.machine, request.problem.dtype
    if machine.name != CHIP or not multiplies(machine, dtype):
        does_not = f"{machine.name} does not multiply {dtype} by warpgroups"
        message = f"algorithm '{ALIGNED}' copies for what warpgroups read, and {does_not}"
        raise Diagnostic(
            message, hint=f"leave the algorithm out; {CHIP} does tf32 and types of 16 and 8 bits"
        )
    if not aligned_rows.aligned_operands(product_op(request.problem)):
        message = f"algorithm '{ALIGNED}' has nothing to copy: {aligned_rows.ALREADY}"
        raise Diagnostic(message, hint="leave the algorithm out, and they are read where they are")
