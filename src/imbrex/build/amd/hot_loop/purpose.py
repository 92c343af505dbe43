"""What the vector arithmetic of a loop is for: addresses and guards, or the elements themselves.

An instruction is index arithmetic where its result reaches an address, a lane mask, a branch or a scalar
register, in this trip or a later one; it moves or converts elements where its result reaches only stored
values and matrix operands.  What reaches nothing counts as index arithmetic, so that the count is never too
small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from imbrex.build.amd.hot_loop.kind import access_of, unit_of
from imbrex.build.amd.hot_loop.text import Inst, registers

__all__ = ["Purpose", "purposes"]

Purpose = Literal["index", "data"]


def purposes(loop: Sequence[Inst]) -> dict[int, Purpose]:
    """Purpose of every vector instruction that is not a matrix instruction, by its position in the loop."""
    valu = [i for i, inst in enumerate(loop) if unit_of(inst) == "valu"]
    users = _users(loop)
    index = {i for i in valu if loop[i].name.startswith(("v_cmp", "v_readfirstlane", "v_readlane"))}
    data: set[int] = set()
    changed = True
    while changed:
        changed = False
        for i in valu:
            for user, read in users[i]:
                side = index if _is_address(loop[user], read) or user in index else data
                if (side is index or _is_element(loop[user], read) or user in data) and i not in side:
                    side.add(i)
                    changed = True
    return {i: "data" if i in data and i not in index else "index" for i in valu}


def _users(loop: Sequence[Inst]) -> dict[int, list[tuple[int, frozenset[str]]]]:
    """Where each result is read next, round the loop: (position, registers)."""
    found: dict[int, list[tuple[int, frozenset[str]]]] = {}
    for i, inst in enumerate(loop):
        live = inst.writes
        uses: list[tuple[int, frozenset[str]]] = []
        for j in (*range(i + 1, len(loop)), *range(i + 1)):
            if read := loop[j].reads & live:
                uses.append((j, read))
            live -= loop[j].writes
            if not live:
                break
        found[i] = uses
    return found


def _is_address(user: Inst, read: frozenset[str]) -> bool:
    """Does it take one of them as an address, a mask, a scalar or a condition?"""
    unit = unit_of(user)
    if unit in ("salu", "smem", "branch"):
        return True
    access = access_of(user)
    if access is not None:
        return bool(read & _address_registers(user, access.way))
    return unit == "lds"


def _is_element(user: Inst, read: frozenset[str]) -> bool:
    if unit_of(user) == "matrix":
        return True
    access = access_of(user)
    return access is not None and bool(read - _address_registers(user, access.way))


def _address_registers(user: Inst, way: str) -> frozenset[str]:
    """All its operands but the stored value: the second of ds_write and global_store, the first of
    buffer_store.
    """
    value = 0 if user.name.startswith(("buffer_", "scratch_store")) else 1
    values: set[str] = set()
    if way != "read":
        rest = user.operands[value:] if user.name.startswith("ds_") else user.operands[value : value + 1]
        values = {r for operand in rest for r in registers(operand)}
    return frozenset(r for operand in user.operands for r in registers(operand)) - values
