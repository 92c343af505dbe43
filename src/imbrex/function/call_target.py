"""CallTarget: what the kernel of a call is built for, and with how many threads it runs."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from imbrex.argument import text
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import CPU, Emulate, Target, target_of
from imbrex.kernel.target import emulation
from imbrex.run.cpu import thread_count

__all__ = ["CallTarget", "call_target", "expect_named"]

EMULATED: Final = "emulate"
"""The target of lane-level builds where no GPU is named."""


class CallTarget(NamedTuple):
    """target: what the kernel is built for.  threads: number of a CPU's."""

    target: Target
    threads: int | None


def expect_named(target: object) -> None:
    """TypeError for a target that is no name, nor None."""
    if target is not None:
        text("target", target, "a name")


def call_target(target: str | None, emulate: Emulate, threads: int | None, own: str = CPU.kind) -> CallTarget:
    """Target of a call; ValueError for a target that there is not.  own: where the arrays lie, which
    counts where no target is named.
    """
    expect_named(target)
    count = None if threads is None else thread_count(threads)
    return _call_target(target, emulation(emulate), count, own)


@lru_cache(maxsize=64)
def _call_target(target: str | None, emulate: Emulate, threads: int | None, own: str) -> CallTarget:
    default = EMULATED if emulate and own == CPU.kind else own
    try:
        return CallTarget(target_of(default if target is None else target, emulate), threads)
    except Diagnostic as error:
        raise ValueError(f"{error.message}; {error.hint}") from None
