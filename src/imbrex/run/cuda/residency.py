"""How many workgroups of a launch a GPU runs at once.

Law: workgroups that share a tile may wait for each other, which ends only where all of them run; a launch
that has more of them than the GPU runs at once is refused, and does not hang.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from imbrex.diagnostic import Diagnostic
from imbrex.run.answer import done
from imbrex.run.cuda.call import configuration
from imbrex.run.launch import Launch

__all__ = ["expect_resident"]

_WHAT = "asking how many workgroups run at once"


def expect_resident(cuda: Any, step: Launch, function: Any, device: int) -> None:
    """A Diagnostic where the launch's workgroups do not all run at once.  The GPU's context is current."""
    resident = _resident(cuda, step, function, device)
    if step.grid_size > resident:
        message = f"'{step.kernel}' has {step.grid_size} workgroups that wait for each other"
        hint = f"a smaller number, as in --schedule stream_k:{max(1, resident)}, or data_parallel would do"
        raise Diagnostic(f"{message}, and GPU {device} runs {resident} at once", hint=hint)


def _resident(cuda: Any, step: Launch, function: Any, device: int) -> int:
    if step.cluster > 1:
        shape = configuration(cuda, replace(step, is_early=False), 0)
        return int(done(cuda.cuOccupancyMaxActiveClusters(function, shape), _WHAT)[0]) * step.cluster
    kind = cuda.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    (processors,) = done(cuda.cuDeviceGetAttribute(kind, device), _WHAT)
    answer = cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(function, step.block_size, step.shared_bytes)
    return int(done(answer, _WHAT)[0]) * int(processors)
