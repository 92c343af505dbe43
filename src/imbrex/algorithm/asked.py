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
from imbrex.chip import WARPGROUPS, Target
from imbrex.config.algorithm.aligned import ALREADY as ALIGNED_ALREADY
from imbrex.config.algorithm.aligned import aligned_operands_of
from imbrex.config.algorithm.channels_last import ALREADY, COPIED, RESULT_STAYS, packed_arrays
from imbrex.config.algorithm.depthwise import is_depthwise
from imbrex.config.algorithm.few_channels import NOT_SERVED, rows_of
from imbrex.config.algorithm.phases import are_apart, shares_phases
from imbrex.config.algorithm.pointwise import ROW_BYTES, is_served
from imbrex.config.algorithm.task import ConvTask
from imbrex.config.algorithm.windows import refused
from imbrex.config.request import Request, multiplies
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.diagnostic import Diagnostic
from imbrex.numeral import whole
from imbrex.problem import Conv2d, Problem
from imbrex.view.conv.whole_images import NOT_SERVED as NO_IMAGES

__all__ = ["expect_aligning", "expect_convolution", "expect_served"]


def expect_served(request: Request) -> None:
    """A type of which products read a part only is for machines whose matrix instructions do that."""
    machine, dtype = request.machine, request.problem.dtype
    if dtype.read_bits is not None and not multiplies(machine, dtype):
        message = f"{machine.name} has no matrix instruction that multiplies {dtype}"
        raise Diagnostic(message, hint="say f32, whose products read all of its bits")


def expect_convolution(asked: str, task: ConvTask, request: Request) -> None:
    """A Diagnostic where an algorithm does not serve a convolution."""
    machine, dtype, word = request.machine, request.problem.dtype, word_of(asked)
    if word == CHANNEL_VECTORS and not is_depthwise(task):
        message = f"algorithm '{asked}' is for one channel and one filter a group, and no large windows"
        raise Diagnostic(message, hint="leave the algorithm out")
    others = (WINDOW_ROWS, MERGED_GROUPS, HALO, WHOLE_IMAGES, INTERLEAVED)
    if word not in (*COPIED, *others, SHARED_PHASES, SHARED_PHASES_LAST):
        return
    if not multiplies(machine, dtype):
        message = f"algorithm '{asked}' packs for matrix instructions, and {machine.name} has none"
        hint = f"leave the algorithm out, or name a GPU that multiplies {dtype}, see 'imbrex explain mma'"
        raise Diagnostic(f"{message} that multiplies {dtype}", hint=hint)
    hint = "leave the algorithm out, and they are read where they are"
    if word == WHOLE_IMAGES:
        _expect_images(asked, task, machine)
    if word == INTERLEAVED and not (machine.has_warpgroups and are_apart(task)):
        message = f"algorithm '{asked}': phases leave no gaps that {machine.name} had better fill at once"
        raise Diagnostic(message, hint="leave the algorithm out")
    if word in (SHARED_PHASES, SHARED_PHASES_LAST):
        _expect_phases(asked, task, request)
    if word == WINDOW_ROWS and rows_of(task) is None:
        raise Diagnostic(f"algorithm '{asked}': {NOT_SERVED}", hint="leave the algorithm out")
    if (word in COPIED and not COPIED[word](task)) or (
        word == SHARED_PHASES_LAST and not packed_arrays(task)
    ):
        message = f"algorithm '{asked}' has nothing to pack: {RESULT_STAYS if word == ALL_LAST else ALREADY}"
        raise Diagnostic(message, hint=hint)
    if word in (MERGED_GROUPS, HALO):
        _expect_groups(asked, request.problem)
    if word == HALO and (reason := _refused(task, int(asked.partition(":")[2]), machine)):
        raise Diagnostic(f"algorithm '{asked}': {reason}", hint="leave the algorithm out")


def _refused(task: ConvTask, merged: int, machine: Target) -> str | None:
    if not machine.has_warpgroups:
        return f"{machine.name} has no warpgroups, {WARPGROUPS.name} has"
    return refused(task, merged)


def _expect_images(asked: str, task: ConvTask, machine: Target) -> None:
    """A Diagnostic where it is not served, or the count is of no row of shared memory."""
    if not machine.has_warpgroups or not is_served(task):
        message = f"algorithm '{asked}': {NO_IMAGES}"
        raise Diagnostic(message, hint=f"leave the algorithm out; it is for {WARPGROUPS.name}")
    rows = [str(row // task.dtype_of("filter").bytes) for row in ROW_BYTES]
    word, _, count = asked.partition(":")
    if count not in rows:
        message = f"algorithm '{asked}' says how many positions of an image a row of shared memory holds"
        raise Diagnostic(message, hint=f"write '{word}:COUNT' with a COUNT of {', '.join(rows)}")


def _expect_phases(asked: str, task: ConvTask, request: Request) -> None:
    if reason := shares_phases(task):
        raise Diagnostic(f"algorithm '{asked}': {reason}", hint="leave the algorithm out")
    if not request.machine.has_warpgroups or not isinstance(request.tuning, WarpgroupTuning | None):
        message = f"algorithm '{asked}': phases share tiles of warpgroups, on {WARPGROUPS.name}"
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
    if not machine.has_warpgroups or not multiplies(machine, dtype):
        does_not = f"{machine.name} does not multiply {dtype} by warpgroups"
        message = f"algorithm '{ALIGNED}' copies for what warpgroups read, and {does_not}"
        raise Diagnostic(
            message, hint=f"leave the algorithm out; {WARPGROUPS.name} does tf32 and types of 16 and 8 bits"
        )
    if not aligned_operands_of(request.problem):
        message = f"algorithm '{ALIGNED}' has nothing to copy: {ALIGNED_ALREADY}"
        raise Diagnostic(message, hint="leave the algorithm out, and they are read where they are")
