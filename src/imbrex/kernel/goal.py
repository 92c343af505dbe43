"""Goal: what a kernel is built for: this CPU, a GPU, or this CPU running a GPU's schedule lane by lane."""

from __future__ import annotations

import re
from dataclasses import dataclass

from imbrex.build.amd.code_object import CHIPS
from imbrex.build.nvidia.cubin import ARCHITECTURES
from imbrex.diagnostic import Diagnostic, did_you_mean

__all__ = ["ARCHITECTURES", "CHIPS", "CPU", "TARGETS", "Goal", "goal"]

TARGETS = ("cpu", "emulate", *CHIPS, *ARCHITECTURES)
"""What kernels are built for."""

EMULATED = "gfx942"
"""Whose schedule `emulate` runs where no chip is named."""


@dataclass(frozen=True, slots=True)
class Goal:
    """target: how source is written, one of TARGETS.  chip: the GPU whose schedule it is, None for none."""

    target: str
    chip: str | None = None

    def __str__(self) -> str:
        return f"emulate ({self.chip})" if self.target == "emulate" else self.target

    @property
    def is_cuda(self) -> bool:
        """Does it run on a GPU of NVIDIA's?"""
        return self.target in ARCHITECTURES

    @property
    def is_native(self) -> bool:
        """Does it run on this machine's CPU?"""
        return self.target in ("cpu", "emulate")


CPU = Goal("cpu")


def goal(target: str = "cpu", emulate: bool = False) -> Goal:
    """The goal of these words; a Diagnostic for an unknown target, or one that has no lane-level form."""
    if not isinstance(target, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"'target' should be a name, got {type(target).__name__}")
    if target not in TARGETS:
        raise _unknown(target)
    if target == "emulate":
        return Goal("emulate", EMULATED)
    if emulate and target in ("cpu", *ARCHITECTURES):
        message = f"target '{target}' has no lane-level form; --emulate is of an AMD GPU's schedule"
        raise Diagnostic(message, hint=f"name one of {', '.join(CHIPS)}, or 'emulate' for {EMULATED}'s")
    if target == "cpu":
        return CPU
    return Goal("emulate" if emulate else target, target)


def _unknown(target: str) -> Diagnostic:
    if re.fullmatch(r"gfx[0-9a-f]+|sm_[0-9]+a?", target):
        return Diagnostic(
            f"target '{target}' cannot be built; this Imbrex builds {', '.join(TARGETS)}",
            hint="'emulate' runs a GPU's schedule, with its work items, waves, LDS and barriers, on this CPU",
        )
    hint = did_you_mean(target, TARGETS) or f"known: {', '.join(TARGETS)}"
    return Diagnostic(f"unknown target '{target}'", hint=hint)
