"""The hot loop of a CPU kernel, counted: what a time would be, where there is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["HotLoop", "hot_loop", "loops"]

MULTIPLY = re.compile(r"(f?mla|fmlal2?|bfdot|bfmmla|sdot|smmla|tdp\w+)$")
LOAD, PREFETCH = re.compile(r"ld|tileload"), re.compile(r"prf|prefetch")
LABEL = re.compile(r"^(\.L\w+):")
BRANCH = re.compile(r"^\s+(?:b\.?\w*|cbn?z|tbn?z|j[a-z]+)\s.*?(\.L\w+)$")
INSTRUCTION = re.compile(r"^\s+([a-z]\w*)")


@dataclass(frozen=True)
class HotLoop:
    """Instructions of one turn.  multiply: the name of what multiplies.  stack: accesses to the stack."""

    multiply: str
    multiplies: int
    loads: int
    prefetches: int
    others: int
    stack: int


def hot_loop(assembly: str) -> HotLoop:
    """The innermost loop with the most instructions that multiply."""
    return max((_counted(body) for body in loops(assembly.splitlines())), key=lambda loop: loop.multiplies)


def loops(lines: list[str]) -> Iterator[list[str]]:
    """Lines from a label to a branch back to it, without another loop between."""
    begins: dict[str, int] = {}
    for number, line in enumerate(lines):
        if found := LABEL.match(line):
            begins[found[1]] = number
        elif (found := BRANCH.match(_code(line))) and found[1] in begins:
            body = lines[begins[found[1]] + 1 : number + 1]
            if sum(bool(BRANCH.match(_code(inner))) for inner in body) == 1:
                yield body


def _code(line: str) -> str:
    """Without its comment, of either architecture."""
    return re.split("//|#", line)[0].rstrip()


def _counted(body: list[str]) -> HotLoop:
    names = [found[1] for line in body if (found := INSTRUCTION.match(line))]
    multiplies = [name for name in names if MULTIPLY.match(name)]
    loads, prefetches = (sum(bool(kind.match(name)) for name in names) for kind in (LOAD, PREFETCH))
    return HotLoop(
        " ".join(dict.fromkeys(multiplies)),
        len(multiplies),
        loads,
        prefetches,
        len(names) - len(multiplies) - loads - prefetches,
        sum("[sp" in line or "(%rsp" in line or "(%rbp" in line for line in body),
    )
