"""Memory that a call's arrays lie in."""

from __future__ import annotations

from imbrex.chip import gpus
from imbrex.function.host import HOST
from imbrex.function.memory import Memory
from imbrex.run.device import is_on_nvidia

__all__ = ["memory_of"]


def memory_of(value: object, target: str | None) -> Memory:
    """Where a call's first array lies, which its others must share.

    target: what the caller asks for; a GPU of NVIDIA's reads memory of its own, or copies the host's.
    """
    if target not in (None, *gpus("NVIDIA")) or not is_on_nvidia(value):
        return HOST
    from imbrex.function.gpu import gpu_memory

    return gpu_memory(value)
