"""CallTarget: what the kernel of a call is built for, and with how many threads it runs."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from imbrex.diagnostic import Diagnostic
from imbrex.kernel import CPU, Emulate, Target, target_of

__all__ = ["CallTarget", "call_target"]

EMULATED: Final = "emulate"
"""The target of lane-level builds where no GPU is named."""


class CallTarget(NamedTuple):
    """target: what the kernel is built for.  threads: number of a CPU's."""

    target: Target
    threads: int | None


@lru_cache(maxsize=64)
def call_target(target: str | None, emulate: Emulate, threads: int | None, own: str = CPU.kind) -> CallTarget:
    """Target of a call; ValueError for a target that there is not.  own: where the arrays lie, which
    counts where no target is named.
    """
    default = EMULATED if emulate and own == CPU.kind else own
    try:
        return CallTarget(target_of(default if target is None else target, emulate), threads)
    except Diagnostic as error:
        raise ValueError(f"{error.message}; {error.hint}") from None
