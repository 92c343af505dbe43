"""The hot loop: of the innermost natural loops, the one with the most matrix instructions.

A natural loop belongs to a back edge n -> h, where h dominates n: it is h and all that reaches n without
passing h (Aho, Lam, Sethi, Ullman, section 9.6).  Back edges to the same header make one loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from imbrex.build.amd.hot_loop.kind import unit_of
from imbrex.build.amd.hot_loop.text import Code, Inst

__all__ = ["hot_loop_of", "loops"]


def hot_loop_of(code: Code) -> tuple[Inst, ...]:
    """Instructions of the hot loop in the text's order; empty where no loop holds a matrix instruction."""
    found = loops(code)
    inner = [loop for loop in found if not any(other < loop for other in found)]
    counts = {loop: sum(unit_of(code.insts[i]) == "matrix" for i in loop) for loop in inner}
    best = max(inner, key=lambda loop: (counts[loop], -len(loop)), default=frozenset[int]())
    return tuple(code.insts[i] for i in sorted(best)) if counts.get(best) else ()


def loops(code: Code) -> list[frozenset[int]]:
    """Every natural loop, as indices of its instructions."""
    starts = _block_starts(code)
    next_of = _successors(code, starts)
    before: dict[int, list[int]] = {b: [] for b in starts}
    for block, following in next_of.items():
        for after in following:
            before[after].append(block)
    dominators = _dominators(starts, before)
    bodies: dict[int, set[int]] = {}
    for block, following in next_of.items():
        for head in following:
            if head in dominators[block]:
                bodies.setdefault(head, {head}).update(_reaching(block, head, before))
    ends = dict(zip(starts, [*starts[1:], len(code.insts)], strict=True))
    return [frozenset(i for b in body for i in range(b, ends[b])) for body in bodies.values()]


def _block_starts(code: Code) -> list[int]:
    starts = {0, *code.labels.values()}
    starts |= {i + 1 for i, inst in enumerate(code.insts) if inst.target or inst.name.startswith("s_endpgm")}
    return sorted(s for s in starts if s < len(code.insts))


def _successors(code: Code, starts: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for start, end in zip(starts, [*starts[1:], len(code.insts)], strict=True):
        last = code.insts[end - 1]
        following: list[int] = []
        branched_to = code.labels.get(last.target) if last.target is not None else None
        if branched_to is not None and branched_to in starts:
            following.append(branched_to)
        falls = not last.name.startswith(("s_branch", "s_endpgm", "s_setpc"))
        if falls and end < len(code.insts):
            following.append(end)
        found[start] = following
    return found


def _dominators(starts: Sequence[int], before: Mapping[int, Sequence[int]]) -> dict[int, frozenset[int]]:
    """The blocks on every way from the entry to each block, itself among them."""
    everything = frozenset(starts)
    found = dict.fromkeys(starts, everything) | {0: frozenset({0})}
    changed = True
    while changed:
        changed = False
        for block in starts[1:]:
            ways = [found[b] for b in before[block]]
            shared = frozenset[int].intersection(*ways) if ways else frozenset[int]()
            now = shared | {block}
            changed |= now != found[block]
            found[block] = now
    return found


def _reaching(block: int, head: int, before: Mapping[int, Sequence[int]]) -> set[int]:
    seen = {head}
    waiting = [block]
    while waiting:
        here = waiting.pop()
        if here not in seen:
            seen.add(here)
            waiting += before[here]
    return seen
