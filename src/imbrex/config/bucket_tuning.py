"""Bucket tuning: which tunings the parts of a run-time size's range have on a CPU.

Law: of all tunings that a bucket could have, its own loses hardly more than the best, by the model, at the
worst of its numbers; buckets that can have the same one are one.  A block may be larger than what there is,
but not by much, for a thread has memory for all of it; of tunings that are alike the one of smaller blocks is
taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Final

from imbrex.chip import CpuMachine
from imbrex.config.configuration import TunedProduct
from imbrex.config.context import GemmContext
from imbrex.config.cpu.cost import cycles
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.legal import check

__all__ = ["Bucket", "joined"]

HARDLY: Final = 0.03
"""Share of the best tuning's time that another one may lose."""
SAMPLES: Final = 4
"""Numbers of a bucket that are looked at, its ends among them."""
LARGER: Final = 16
"""How many times a block may be as large as all that the least number of a bucket has."""
WIDE: Final = 8
"""Register tiles along the size that a block has at least where the best one has: with three, 8 and 16 images
of a layer took a tenth longer, which the model does not see (Zen 4, two threads, 24 November 2026).
"""


@dataclass(frozen=True)
class Bucket:
    """Numbers from `least` to `end`.  best: what is chosen for the greatest."""

    least: int
    end: int
    best: TunedProduct

    @property
    def tuning(self) -> CpuTuning:
        """The best one for the greatest."""
        assert isinstance(self.best.tuning, CpuTuning), self
        return self.best.tuning

    @property
    def samples(self) -> list[int]:
        """Some numbers of it, both ends among them."""
        least, steps = self.least, min(SAMPLES, self.end - self.least + 1) - 1
        if steps < 1:
            return [self.end]
        return [least + (self.end - least) * step // steps for step in range(steps + 1)]


def joined(
    buckets: Sequence[Bucket],
    along: Callable[[CpuTuning], str],
    each: int,
    context_of: Callable[[int], GemmContext],
    machine: CpuMachine,
) -> tuple[TunedProduct, ...]:
    """Products of as few buckets as do, the last without an end.

    along: the field of a tuning that is the block along the size, of which a number has `each`.  context_of:
    the product of a number.
    """
    tries = list(dict.fromkeys(_tries(buckets, along)))
    made: list[TunedProduct] = []
    run: dict[CpuTuning, tuple[float, ...]] = {}  # what all buckets of the last one can have, and its losses
    for bucket in buckets:
        most = max(LARGER * each * bucket.least, min(getattr(one, along(one)) for one in tries))
        least = min(WIDE, _tiles(bucket.tuning, along(bucket.tuning)))
        fitting = [
            one for one in tries if _tiles(one, along(one)) >= least and getattr(one, along(one)) <= most
        ]
        losses = _losses(fitting, [context_of(number) for number in bucket.samples], machine)
        both = {one: (*run[one], loss) for one, loss in losses.items() if one in run}
        if made and both:
            made.pop()
        run = both or {one: (loss,) for one, loss in losses.items()}
        taken = min(run, key=lambda one: (round(mean(run[one]), 2), getattr(one, along(one))))
        made.append(replace(bucket.best, tuning=taken, upto=bucket.end))
    return (*made[:-1], replace(made[-1], upto=None))


def _tries(buckets: Sequence[Bucket], along: Callable[[CpuTuning], str]) -> Iterator[CpuTuning]:
    """The best tunings of all buckets, each with the blocks of all, as whole register tiles."""
    own = [bucket.tuning for bucket in buckets]
    yield from own
    for one in own:
        for other in (tuning for tuning in own if tuning.swapped == one.swapped):
            key, tile = along(one), _tile(one, along(one))
            yield replace(one, **{key: -(-getattr(other, key) // tile) * tile})


def _tile(tuning: CpuTuning, key: str) -> int:
    """Rows, or columns, of a register tile."""
    return tuning.m_per_thread if key == "m_per_block" else tuning.n_per_thread


def _tiles(tuning: CpuTuning, key: str) -> int:
    """The same of a block, in register tiles."""
    return -(-getattr(tuning, key) // _tile(tuning, key))


def _losses(
    tries: Sequence[CpuTuning], contexts: Sequence[GemmContext], machine: CpuMachine
) -> dict[CpuTuning, float]:
    """The legal ones that lose hardly more than the one that loses least, and the most that each loses."""
    legal = [one for one in tries if not any(check(one, context, machine) for context in contexts)]
    times = [[cycles(one, context, machine) for context in contexts] for one in legal]
    best = [min(of) for of in zip(*times, strict=True)]
    worst = [max(time / least for time, least in zip(of, best, strict=True)) for of in times]
    return {one: loss for one, loss in zip(legal, worst, strict=True) if loss <= min(worst) + HARDLY}
