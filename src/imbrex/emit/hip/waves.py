"""A work item as a lane of a wave: what depends on the wave alone is the same in all its lanes.

Law: workitem = wave * (lanes of a wave) + lane.  A variable varies if it may differ between two lanes of one
wave; the others need no vector register.
"""

from __future__ import annotations

from dataclasses import replace

from imbrex.index.expr import var
from imbrex.lower.stmt import Kernel, Let, walk
from imbrex.lower.substitute import substituted

WAVE, LANE = "wave", "lane"


def by_wave(kernel: Kernel) -> Kernel:
    """The kernel with its work item taken apart; itself where it is not of whole waves, or of one."""
    size, rest = divmod(kernel.block_size, kernel.wave)
    if rest or size == 1:
        return kernel
    item = var(kernel.workitem, kernel.block_size)
    env = {kernel.workitem: var(WAVE, size) * kernel.wave + var(LANE, kernel.wave)}
    ids = (Let(WAVE, item // kernel.wave), Let(LANE, item % kernel.wave))
    return replace(kernel, body=(*ids, *(substituted(s, env) for s in kernel.body)))


def varying(kernel: Kernel) -> frozenset[str]:
    """The variables that vary; names are given before they are used."""
    lane = var("lane'", kernel.wave)
    item = {kernel.workitem: var("wave'", -(-kernel.block_size // kernel.wave)) * kernel.wave + lane}
    found = {kernel.workitem, "lane'"}
    for stmt in walk(kernel.body):
        if isinstance(stmt, Let) and stmt.index.subs(item).variables & found:
            found.add(stmt.name)
    return frozenset(found)
