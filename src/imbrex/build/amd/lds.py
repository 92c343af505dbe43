"""LDS cost: how much longer a kernel's accesses to LDS take than without bank conflicts.

It is counted from the kernel's statements, lane by lane (`lower.lds_traffic`), and goes with the code object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["LdsCost", "from_json", "to_json"]


@dataclass(frozen=True, slots=True)
class LdsCost:
    """read, write: factors, 1.0 without conflicts.  extra_cycles: that one workgroup loses to conflicts."""

    read: float
    write: float
    extra_cycles: int


def to_json(costs: Mapping[str, LdsCost]) -> dict[str, Any]:
    """Costs by kernel."""
    return {kernel: asdict(cost) for kernel, cost in costs.items()}


def from_json(data: Mapping[str, Mapping[str, Any]]) -> dict[str, LdsCost]:
    """What `to_json` wrote."""
    return {kernel: LdsCost(**cost) for kernel, cost in data.items()}
