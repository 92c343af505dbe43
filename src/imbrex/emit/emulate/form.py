"""Targets whose source is another machine's own, with a second form of a folder of its headers."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["emulated"]


def emulated(target: str, machines: Collection[str]) -> str | None:
    """The machine of these whose kernels source for `emulate_MACHINE` is of; None of other targets."""
    machine = target.removeprefix("emulate_")
    return machine if machine != target and machine in machines else None
