"""Parameters: what models ask of a machine and a calibration may fit to another one, a row each.

A name is the path of a field: `prices.stream.l2`, `warpgroup_rates.product.row`.  Bounds are those of a fit:
so many times less, or more, than the machine's row says.

Law: a machine with the defaults of its own parameters is that machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Final

from imbrex.chip.machine import CpuMachine, Machine
from imbrex.diagnostic import Diagnostic

__all__ = ["SIZES", "Parameter", "parameters", "with_parameters"]

SIZES: Final = ("l1_bytes", "l2_bytes", "l3_bytes")
"""What one core may count on of a CPU's caches: a calibration measures it by itself, and fits it not."""

_CPU: Final = (
    ("vectors a cycle", 2.0, "fma_per_cycle"),
    (
        "cycles a vector",
        4.0,
        "prices.copy prices.transpose prices.turned prices.gather prices.store prices.store_piece "
        "prices.store_transpose prices.scatter prices.column prices.load prices.read_in_place "
        "prices.store_in_place",
    ),
    ("cycles an element", 4.0, "prices.broadcast"),
    ("cycles an accumulator", 4.0, "prices.sum"),
    ("cycles a row", 4.0, "prices.piece prices.coordinate prices.placed"),
    ("cycles a run", 4.0, "prices.pointer"),
    ("cycles a call", 4.0, "prices.call"),
    ("cycles", 2.0, "prices.fma_latency"),
    (
        "cycles a byte",
        4.0,
        "prices.stream.l2 prices.stream.l3 prices.stream.memory prices.flow.l2 prices.flow.l3 "
        "prices.flow.memory prices.feed prices.tile.l2 prices.tile.l3 prices.tile.memory",
    ),
    ("cycles a byte", 36.0, "prices.apart.l2 prices.apart.l3 prices.apart.memory"),
)
_PRODUCT: Final = "warpgroup_rates.product."
_WARPGROUPS: Final = (
    ("cycles", 3.0, "start answer cluster turn handing meeting each follow gathering shared_stage launch"),
    ("cycles an instruction", 1.5, "matrix power product"),
    ("cycles a row", 2.0, "row"),
    ("rows a cycle", 3.0, "l2_rows each_row"),
    (
        "bytes a cycle",
        3.0,
        "memory_bytes stored_bytes sent_bytes first_bytes transposed_bytes",
    ),
    ("bytes", 3.0, "cached_bytes"),
)


@dataclass(frozen=True)
class Parameter:
    """default: what the machine's row says.  low, high: bounds of a fit, in proportion as far from it."""

    name: str
    unit: str
    default: float
    low: float
    high: float


def parameters(machine: Machine) -> tuple[Parameter, ...]:
    """What may be fitted to another machine of the kind; none where its models are not of times."""
    if isinstance(machine, CpuMachine):
        rows = [(unit, factor, names.split()) for unit, factor, names in _CPU]
    elif machine.warpgroup_rates is not None:
        rows = [(unit, factor, [_PRODUCT + n for n in names.split()]) for unit, factor, names in _WARPGROUPS]
    else:
        rows = []
    return tuple(
        Parameter(name, unit, value, value / factor, value * factor)
        for unit, factor, names in rows
        for name in names
        for value in (float(reduce(getattr, name.split("."), machine)),)
    )


def with_parameters(machine: Machine, values: Iterable[tuple[str, float]]) -> Machine:
    """The machine with other values; a Diagnostic for what is no parameter of it."""
    known = {parameter.name for parameter in parameters(machine)}
    known |= set(SIZES) if isinstance(machine, CpuMachine) else set()
    changed: dict[str, Any] = {}
    for name, value in values:
        if name not in known:
            raise Diagnostic(f"'{name}' is no parameter of the model of {machine.name}")
        *path, last = name.split(".")
        record = changed
        for step in path:
            record = record.setdefault(step, {})
        record[last] = value
    return _with(machine, changed)


def _with(of: Any, changed: Mapping[str, Any]) -> Any:
    """A record with other values of fields; a mapping changes a field's fields."""
    there = {name: getattr(of, name) for name in changed}
    new = {
        name: _with(was, changed[name]) if isinstance(changed[name], dict) else type(was)(changed[name])
        for name, was in there.items()
    }
    return replace(of, **new)
