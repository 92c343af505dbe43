"""Launches: what a host does, in order, to run a kernel's code on a device; with a plain JSON form.

Law: `from_json` undoes `to_json`.  Each launch sees what those before it wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

__all__ = ["Launch", "Step", "Zero", "from_json", "to_json"]


@dataclass(frozen=True, slots=True)
class Launch:
    """`grid_size` workgroups of `block_size` work items run `kernel`, along one dimension each.

    arguments: places among the arrays of the problem and, after them, of the workspace, one pointer each.
    """

    kernel: str
    grid_size: int
    block_size: int
    arguments: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Zero:
    """Every byte of the array at this place becomes zero."""

    argument: int


Step: TypeAlias = Launch | Zero


def to_json(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """One object a step, its fields by name."""
    return [asdict(step) for step in steps]


def from_json(data: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    """The steps of what `to_json` wrote."""
    return tuple(_step(entry) for entry in data)


def _step(entry: Mapping[str, Any]) -> Step:
    if "kernel" not in entry:
        return Zero(entry["argument"])
    return Launch(entry["kernel"], entry["grid_size"], entry["block_size"], tuple(entry["arguments"]))
