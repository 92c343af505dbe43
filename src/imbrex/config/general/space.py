"""The general tunings: all; rocMLIR's list; and those looked at on Hopper, of up to 8 x 12 sums, and of steps
of 8 and of 16.

8 x 16 sums a work item (`256,256,128,8,4,4` and such) are legal and read less, but leave room for half as
many work items on a multiprocessor.  Measured, they were 1 to 12 % slower, but for `256,256,128,8,4,4` where
neither operand is turned, which was 8 % faster at 4096.  Steps of 16 of workgroups of 128 with 8 x 8 sums
were up to 38 % slower than those of 8: 128 registers have no room to read a whole k ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from imbrex.chip import GpuMachine
from imbrex.config.context import GemmContext
from imbrex.config.general.plan import GeneralTuning

__all__ = ["GENERAL_LIST", "HOPPER_SPACE", "general_list"]

TILES: Final = (
    ((256, 128, 128), (4, 4), (8, 16)),
    ((256, 64, 256), (4, 4), (16,)),
    ((256, 256, 64), (4, 4), (16,)),
    ((128, 128, 64), (4, 4), (8,)),
    ((128, 64, 128), (4, 4), (8,)),
    ((128, 64, 96), (4, 4), (16, 8)),
    ((64, 64, 64), (4, 4), (8,)),
    ((64, 96, 64), (4, 4), (8,)),
    ((64, 64, 96), (4, 4), (8,)),
    ((64, 32, 128), (4, 4), (8,)),
    ((128, 64, 64), (4, 2), (8, 16)),
    ((128, 64, 64), (2, 4), (8, 16)),
    ((64, 64, 32), (4, 2), (16, 8)),
    ((64, 32, 64), (2, 4), (16, 8)),
    ((64, 32, 32), (2, 2), (16, 8)),
)
"""Work items, m and n of a tile; m and n of a thread tile; numbers of k a step, the better ones first."""

HOPPER_SPACE: Final = tuple(
    GeneralTuning(*block, k, *thread) for block, thread, steps in TILES for k in steps
)

GENERAL_LIST: Final = tuple(
    GeneralTuning(*numbers)
    for numbers in (
        (256, 128, 128, 8, 4, 4),
        (128, 128, 64, 8, 4, 4),
        (128, 64, 128, 4, 4, 4),
        (64, 64, 64, 16, 4, 4),
        (64, 32, 64, 16, 2, 4),
        (64, 64, 32, 16, 4, 2),
        (64, 32, 32, 4, 2, 2),
        (256, 128, 128, 16, 4, 4),
        (256, 128, 128, 4, 4, 4),
        (128, 128, 64, 16, 4, 4),
        (128, 128, 64, 4, 4, 4),
        (128, 64, 128, 16, 4, 4),
        (128, 64, 128, 8, 4, 4),
        (64, 64, 64, 8, 4, 4),
        (64, 64, 64, 4, 4, 4),
        (64, 64, 32, 8, 4, 2),
        (64, 64, 32, 4, 4, 2),
        (64, 32, 64, 8, 2, 4),
        (64, 32, 64, 4, 2, 4),
        (64, 32, 32, 16, 2, 2),
        (64, 32, 32, 8, 2, 2),
    )
)
"""rocMLIR's (2020 to 2023): block_size, m, n, k per block, m, n per thread; 2020's list, then 2022's other
values of k.
"""


def general_list(context: GemmContext, machine: GpuMachine) -> Sequence[GeneralTuning]:
    """Tunings worth a try on a machine: Hopper's where multiprocessors are known."""
    return HOPPER_SPACE if machine.multiprocessor else GENERAL_LIST
