"""Recipe: what a problem became: the key of the built object, and all that is needed to call it.

Law: `from_json` undoes `to_json`; of anything else it makes no recipe, whatever that is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from imbrex.build.amd import lds
from imbrex.build.amd.lds import LdsCost
from imbrex.dtype import dtype
from imbrex.kernel.choice import Choice
from imbrex.run import launch
from imbrex.run.cpu import Parameter

__all__ = ["Recipe"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """object: the key of the library.  steps: the launches of a GPU.  workspace: arrays beside the operands.

    tunings, algorithm, schedules, lds, configuration, choice: as `Kernel` has them.
    """

    object: str
    tunings: tuple[str, ...]
    algorithm: str | None
    steps: tuple[launch.Step, ...]
    workspace: tuple[Workspace, ...]
    schedules: tuple[str, ...]
    lds: Mapping[str, LdsCost]
    configuration: str
    choice: Choice

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "object": self.object,
            "tunings": list(self.tunings),
            "algorithm": self.algorithm,
            "steps": launch.to_json(self.steps),
            "workspace": [[w.name, w.elements, w.dtype, w.is_zeroed] for w in self.workspace],
            "schedules": list(self.schedules),
            "lds": lds.to_json(self.lds),
            "configuration": self.configuration,
            "choice": self.choice.to_json(),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any] | None) -> Recipe | None:
        """What `to_json` wrote; None for what it did not."""
        try:
            return None if data is None else _read(data)
        except Exception:  # whatever stands there, it can be made again
            return None


@dataclass(frozen=True, slots=True)
class Workspace:
    """One array that a kernel takes besides, by the name of its type."""

    name: str
    elements: int
    dtype: str
    is_zeroed: bool

    @property
    def parameter(self) -> Parameter:
        """The workspace as a call knows it."""
        element: np.dtype[Any] = dtype(self.dtype).numpy
        return Parameter(self.name, (self.elements,), element, True, self.is_zeroed)


def _read(data: Mapping[str, Any]) -> Recipe:
    workspace = tuple(Workspace(str(n), int(e), str(of), bool(z)) for n, e, of, z in data["workspace"])
    assert all(array.parameter.bytes >= 0 for array in workspace)
    return Recipe(
        str(data["object"]),
        tuple(map(str, data["tunings"])),
        None if data["algorithm"] is None else str(data["algorithm"]),
        launch.from_json(data["steps"]),
        workspace,
        tuple(map(str, data["schedules"])),
        lds.from_json(data["lds"]),
        str(data["configuration"]),
        Choice.from_json(data["choice"]),
    )
