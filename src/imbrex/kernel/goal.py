"""Goal: what a kernel is built for: this CPU, a GPU, or this CPU running a GPU's schedule lane by lane."""

from __future__ import annotations

import re
from dataclasses import dataclass

from imbrex.build.amd import CHIPS
from imbrex.diagnostic import Diagnostic, did_you_mean

__all__ = ["CHIPS", "CPU", "PLANNED", "TARGETS", "Goal", "goal"]

TARGETS = ("cpu", "emulate", *CHIPS)
"""What kernels are built for."""

PLANNED = ("sm_90a",)
"""Targets of the design that no source is written for yet."""

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
    def is_native(self) -> bool:
        """Does it run on this machine's CPU?"""
        return self.target in ("cpu", "emulate")


CPU = Goal("cpu")


def goal(target: str = "cpu", emulate: bool = False) -> Goal:
    """The goal of these words; a Diagnostic for an unknown target, or one that has no lane-level form."""
    if target not in TARGETS:
        raise _unknown(target)
    if target == "emulate":
        return Goal("emulate", EMULATED)
    if emulate and target == "cpu":
        message = "target 'cpu' has no lane-level form; --emulate is of a GPU's schedule"
        raise Diagnostic(message, hint=f"name one of {', '.join(CHIPS)}, or none for {EMULATED}")
    if target == "cpu":
        return CPU
    return Goal("emulate" if emulate else target, target)


def _unknown(target: str) -> Diagnostic:
    if target in PLANNED or re.fullmatch(r"gfx[0-9a-f]+|sm_[0-9]+a?", target):
        return Diagnostic(
            f"target '{target}' cannot be built; this Imbrex builds {', '.join(TARGETS)}",
            hint="'emulate' runs a GPU's schedule, with its work items, waves, LDS and barriers, on this CPU",
        )
    hint = did_you_mean(target, TARGETS) or f"known: {', '.join(TARGETS)}"
    return Diagnostic(f"unknown target '{target}'", hint=hint)
