"""Launches: what a host does, in order, to run a kernel's code on a device; with a plain JSON form.

Law: `from_json` undoes `to_json`.  Each launch sees what those before it wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:  # a launch without tensor maps goes without
    from imbrex.view.tensor.form import TensorMap

__all__ = ["Launch", "Step", "Zero", "from_json", "to_json"]


@dataclass(frozen=True, slots=True)
class Launch:
    """`grid_size` workgroups of `block_size` work items run `kernel`, along one dimension each.

    arguments: places among the arrays of the problem and, after them, of the workspace, one pointer each.
    Of a CUDA kernel besides: shared_bytes: dynamic shared memory of a workgroup; cluster: workgroups of a
    cluster, which divide the grid; tensors: tensor maps, the kernel's first parameters, each of the array
    whose number among `arguments` it names; is_early: may begin before what is ahead of it in the stream has
    ended, for it waits for that itself.
    """

    kernel: str
    grid_size: int
    block_size: int
    arguments: tuple[int, ...]
    shared_bytes: int = 0
    cluster: int = 1
    tensors: tuple[TensorMap, ...] = ()
    is_early: bool = False


@dataclass(frozen=True, slots=True)
class Zero:
    """Every byte of the array at this place becomes zero."""

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
    return {**plain, **more, "tensors": [tensor.to_json() for tensor in step.tensors]}


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
    )


def _tensors(data: Sequence[Mapping[str, Any]]) -> tuple[TensorMap, ...]:
    if not data:
        return ()
    from imbrex.view.tensor.form import TensorMap

    return tuple(TensorMap.from_json(entry) for entry in data)
