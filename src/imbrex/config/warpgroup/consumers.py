"""What all tunings of warpgroups have in common: one warpgroup that produces, and consumers."""

from __future__ import annotations

from imbrex.view.mma.hopper import WARPGROUP

__all__ = ["OfConsumers"]


class OfConsumers:
    """A frozen dataclass whose numbers are at least 1; consumers: warpgroups that multiply."""

    consumers: int

    def __post_init__(self) -> None:
        numbers = [v for v in vars(self).values() if not isinstance(v, bool)]
        assert min(numbers) >= 1, f"a tuning's numbers are at least 1: {self}"

    @property
    def block_size(self) -> int:
        """Threads of a workgroup: the consumers and the producer."""
        return WARPGROUP * (self.consumers + 1)
