"""Launches: what a host does, in order, to run a kernel's code on a device; with a plain JSON form.

Law: `from_json` undoes `to_json`.  Each launch sees what those before it wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:  # a launch without tensor maps goes without
    from imbrex.view.tensor.form import TensorMap

__all__ = ["Launch", "RunTimeGrid", "Step", "Zero", "from_json", "to_json"]

ALONE_BYTES: Final = 48 * 1024
"""Shared memory with which workgroups that wait for others do so in the order in which they started."""


@dataclass(frozen=True, slots=True)
class RunTimeGrid:
    """The sizes that a launch is for, of a kernel that is told one, and how many workgroups it then has.

    tile: rows or columns of a result, of which there are `rows` for each one of the size, and which `each`
    workgroups compute; more than `most` of them have several.
    """

    least: int
    greatest: int
    tile: int
    each: int
    most: int
    rows: int = 1

    def at(self, count: int) -> int:
        """Workgroups of a size."""
        return min(self.most, -(-count * self.rows // self.tile) * self.each)


@dataclass(frozen=True, slots=True)
class Launch:
    """`grid_size` workgroups of `block_size` work items run `kernel`, along one dimension each.

    arguments: positions among the arrays of the problem and, after them, of the workspace, one pointer each.
    Of a CUDA kernel besides: shared_bytes: dynamic shared memory of a workgroup; cluster: workgroups of a
    cluster, which divide the grid; tensors: tensor maps, the kernel's first parameters, each of the array
    whose number among `arguments` it names; is_early: may begin before what is ahead of it in the stream has
    ended, for it waits for that itself; has_flags: workgroups wait for each other's sums.  run_time: of a
    run-time size, which is the kernel's last parameter and is told in `count`; grid_size is the most, then.
    """

    kernel: str
    grid_size: int
    block_size: int
    arguments: tuple[int, ...]
    shared_bytes: int = 0
    cluster: int = 1
    tensors: tuple[TensorMap, ...] = ()
    is_early: bool = False
    run_time: RunTimeGrid | None = None
    count: int | None = None
    has_flags: bool = False

    @property
    def meets(self) -> bool:
        """Must all workgroups run at once, since any of them may wait for any other?"""
        return self.has_flags and self.shared_bytes > ALONE_BYTES

    def at(self, count: int) -> Launch | None:
        """The launch of this run-time size; None where another one is for it."""
        of = self.run_time
        if of is None:
            return self
        if not of.least <= count <= of.greatest:
            return None
        tensors = tuple(tensor.at(count) for tensor in self.tensors)
        return replace(self, grid_size=of.at(count), tensors=tensors, run_time=None, count=count)


@dataclass(frozen=True, slots=True)
class Zero:
    """Every byte of the array at this position becomes zero."""

    argument: int


Step: TypeAlias = Launch | Zero


def to_json(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """One object a step, its fields by name."""
    return [_object(step) for step in steps]


def from_json(data: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    """The steps of what `to_json` wrote."""
    return tuple(_step(entry) for entry in data)


def _object(step: Step) -> dict[str, Any]:
    if isinstance(step, Zero):
        return {"argument": step.argument}
    plain = {name: getattr(step, name) for name in ("kernel", "grid_size", "block_size", "arguments")}
    more = {"shared_bytes": step.shared_bytes, "cluster": step.cluster, "is_early": step.is_early}
    more["has_flags"] = step.has_flags
    run_time = None if step.run_time is None else astuple(step.run_time)
    return {**plain, **more, "tensors": [tensor.to_json() for tensor in step.tensors], "run_time": run_time}


def _step(entry: Mapping[str, Any]) -> Step:
    if "kernel" not in entry:
        return Zero(entry["argument"])
    return Launch(
        entry["kernel"],
        entry["grid_size"],
        entry["block_size"],
        tuple(entry["arguments"]),
        entry["shared_bytes"],
        entry["cluster"],
        _tensors(entry["tensors"]),
        entry["is_early"],
        None if entry["run_time"] is None else RunTimeGrid(*entry["run_time"]),
        has_flags=entry["has_flags"],
    )


def _tensors(data: Sequence[Mapping[str, Any]]) -> tuple[TensorMap, ...]:
    if not data:
        return ()
    from imbrex.view.tensor.form import TensorMap

    return tuple(TensorMap.from_json(entry) for entry in data)
