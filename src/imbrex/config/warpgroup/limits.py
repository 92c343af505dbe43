"""Rules that all tunings of warpgroups keep to, whatever their tiles are: each reason says what would work.

A rule of a tuning's own that asks for more yields from these first.  Sources: the PTX ISA, sections on wgmma,
mbarrier and tensor maps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from imbrex.chip import WARPGROUPS, GpuMachine
from imbrex.config.finishing import Finishing
from imbrex.config.rules import Reasons, listed
from imbrex.config.warpgroup.consumers import ConsumersPlan, Held, OfBoxes, TakesTurns, Tiled
from imbrex.config.warpgroup.instruction import columns_of, multiplied_types
from imbrex.config.warpgroup.plan import LEAST_STAGES
from imbrex.dtype import DType
from imbrex.view.mma.hopper import WARPGROUP
from imbrex.view.stage.shared_tile import SWIZZLES
from imbrex.view.tensor.limit import MOST_BOX

__all__ = [
    "MOST_CONSUMERS",
    "MOST_STAGES",
    "boxes",
    "columns",
    "consumers",
    "few_consumers",
    "hold",
    "lds_bytes",
    "matrix_unit",
    "may_hold",
    "registers",
    "stages",
    "stages_that_fit",
    "warpgroups",
    "whole_rows",
]

MOST_CONSUMERS: Final = 3
MOST_ACCUMULATORS: Final[Mapping[int, int]] = {1: 128, 2: 128, 3: 96}
"""Consumers -> sums of a thread: of 64 x 256 of a consumer, or of 64 x 192 where four warpgroups leave 128
registers a thread; with more, the registers that remain do not hold all else."""
MOST_FINISHED: Final[Mapping[Finishing, int]] = {
    Finishing.NONE: 192,
    Finishing.VECTORS: 176,
    Finishing.MATRIX: 144,
}
"""The same of two consumers for whom the copy engine loads.  Of what an epilogue by vectors wants a few
registers spill at 176, hundreds of bytes at 192; of a residual, where the kernel sees the matrices
exchanged, 160 to 600 at 168 and 176."""
MOST_STAGES: Final = 16


def hold(consumers: int, sums: int) -> bool:
    """Do the registers of one of so many consumers hold so many sums beside all that a kernel may want?"""
    return sums <= MOST_ACCUMULATORS[consumers] * WARPGROUP


def may_hold(consumers: int, sums: int, finishing: Finishing) -> bool:
    """Do they where the copy engine loads?"""
    return sums <= _most(consumers, True, finishing) * WARPGROUP


def _most(consumers: int, is_copied: bool, finishing: Finishing) -> int:
    return MOST_FINISHED[finishing] if is_copied and consumers == 2 else MOST_ACCUMULATORS[consumers]


def warpgroups(plan: object, machine: GpuMachine) -> Reasons:
    """The machine has wgmma, tensor maps and clusters."""
    if not machine.has_warpgroups:
        yield f"{machine.name} has no warpgroup instructions, {WARPGROUPS.name} has"


def matrix_unit(plan: ConsumersPlan[Held], machine: GpuMachine) -> Reasons:
    """wgmma takes this type."""
    name = plan.context.dtype.name
    if machine.has_warpgroups and not columns_of(plan.context.dtype, machine):
        takes = listed(multiplied_types(machine))
        yield f"wgmma does not multiply {name}; it takes {takes}; a general tuning would do"


def few_consumers(tuning: Tiled) -> Reasons:
    """One to three warpgroups multiply."""
    if tuning.consumers > MOST_CONSUMERS:
        most = f"{MOST_CONSUMERS}: with the producer they are at most 4 warpgroups"
        yield f"consumers {tuning.consumers} > {most}"


def stages(plan: ConsumersPlan[Held], machine: GpuMachine) -> Reasons:
    """The producer is a stage ahead, and pingpong consumers are apart by one."""
    if not LEAST_STAGES <= plan.tuning.stages <= MOST_STAGES:
        yield f"stages {plan.tuning.stages} is outside {LEAST_STAGES}..{MOST_STAGES}"


def consumers(plan: ConsumersPlan[TakesTurns], machine: GpuMachine) -> Reasons:
    """One to three warpgroups multiply; two in turn."""
    yield from few_consumers(plan.tuning)
    if plan.tuning.pingpong and plan.tuning.consumers != 2:
        yield f"pingpong takes 2 consumers, got {plan.tuning.consumers}"


def stages_that_fit(plan: ConsumersPlan[Held], machine: GpuMachine, pieces: int = 0) -> int:
    """Stages of a ring, as many as shared memory has room for beside so many more bytes of pieces."""
    layout = plan.layout
    free_bytes = machine.lds_bytes - layout.bytes - pieces
    each = layout.all_stages // layout.stages * layout.stage_bytes
    return min(MOST_STAGES, layout.stages + free_bytes // each)


def lds_bytes(plan: ConsumersPlan[Held], machine: GpuMachine) -> Reasons:
    """All stages, the pieces of C and the barriers fit."""
    if plan.layout.bytes > machine.lds_bytes:
        found = stages_that_fit(plan, machine)
        fewer = f"; {found} stages would fit" if found >= LEAST_STAGES else ""
        yield f"lds_bytes {plan.layout.bytes} > {machine.lds_bytes} on {machine.name}{fewer}"


def boxes(tuning: OfBoxes) -> Reasons:
    """A box of a stage is of one image, and has no more lines and columns than a tensor map has."""
    if tuning.images > 1:
        yield f"a box of {tuning.images} images is not of one"
    if not tuning.rows <= tuning.loaded <= MOST_BOX or tuning.width > MOST_BOX:
        most = f"{tuning.rows} to {MOST_BOX} lines of {MOST_BOX}"
        yield f"a box of {tuning.loaded} lines of {tuning.width} pixels is not one of {most}"


def columns(count: int, dtype: DType, machine: GpuMachine, subject: str = "") -> Reasons:
    """So many columns are those of one instruction.  subject: how a reason begins, where they are not all."""
    legal = columns_of(dtype, machine)
    if legal and count not in legal:  # where there are none, `matrix_unit` says why
        near = [c for c in legal if c < count][-1:] + [c for c in legal if c > count][:1]
        instead = " or ".join(map(str, near))
        yield f"{subject or f'n_per_block {count} is'} not wgmma's for {dtype.name}; {instead} would do"


def whole_rows(subject: str, count: int, dtype: DType) -> Reasons:
    """So many elements are whole rows of shared memory: of 32 or 64 bytes, or of a multiple of 128.

    subject: how a reason begins, such as `channels 24 are`.
    """
    size = count * dtype.bytes
    if size not in SWIZZLES and size % SWIZZLES[0]:
        sizes = listed(tuple(s // dtype.bytes for s in reversed(SWIZZLES)))
        yield f"{subject} not one of {sizes} or a multiple of the last"


def registers(plan: ConsumersPlan[Held], machine: GpuMachine) -> Reasons:
    """The sums of a consumer stay in registers."""
    t = plan.tuning
    most = _most(t.consumers, plan.is_copied, plan.context.finishing)
    if plan.accumulators > most:
        (rows, columns), count = t.held, plan.context.summed
        phases = f", {count} phases" if count > 1 else ""
        tile = f"{rows}x{columns} of each of {t.consumers} consumers{phases}"
        yield f"accumulators {plan.accumulators} > {most} of a thread ({tile})"
