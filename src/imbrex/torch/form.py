"""Forms of a model: which of its layers kernels compute, and how filters lie; the fastest is kept.

Law: filters lie otherwise only where nobody else reads their memory, and what the example gives lies as it
did; `contiguous` gives each its own place back.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

from imbrex.kernel.warm import CompileJob
from imbrex.torch.candidate import Candidate
from imbrex.torch.clock import sampler
from imbrex.torch.report import Row

__all__ = ["Form", "channels_last", "chosen", "contiguous", "fastest", "may_lie_last"]

torch: Any = import_module("torch")

ROUNDS: Final = 7
BUDGET_S: Final = 3.0
"""Seconds of all rounds; three are made in any case."""
RUNS: Final = 3
"""Runs of a form in a round; the first is not counted."""
MARGIN: Final = 0.02
"""Share of its time that a form has to gain over one that changes less."""
_CHANGED: Final = "imbrex_was_contiguous"


@dataclass(frozen=True)
class Form:
    """rows: one a layer; those without a reason are swapped.  is_last: filters lie channels_last.
    compile_jobs: the kernels that the example asks for.
    """

    rows: tuple[Row, ...]
    is_last: bool = False
    compile_jobs: tuple[CompileJob, ...] = field(default=(), compare=False)

    @property
    def swaps(self) -> bool:
        """Is any layer swapped?"""
        return any(row.reason is None for row in self.rows)


def fastest(
    forms: Sequence[Form],
    take: Callable[[Form], None],
    run: Callable[[], object],
    device: Any,
    as_graph: bool = False,
) -> list[float]:
    """Seconds of the model in each form, medians, in turn.  take: gives the model this form.  device: where
    it runs; as_graph: by replays of CUDA graphs.
    """
    samples: list[list[float]] = [[] for _ in forms]
    began, rounds = time.perf_counter(), 0
    while rounds < 3 or (rounds < ROUNDS and time.perf_counter() - began < BUDGET_S):
        rounds += 1
        for form, into in zip(forms, samples, strict=True):
            take(form)
            run()
            sample = sampler(run, device, as_graph)
            into.extend(sample() for _ in range(RUNS - 1))
    return [statistics.median(of) for of in samples]


def chosen(times: Sequence[float]) -> int:
    """Which of the forms is taken, the first ones changing least."""
    best = 0
    for at, seconds in enumerate(times):
        best = at if seconds < times[best] * (1 - MARGIN) else best
    return best


def may_lie_last(layers: Sequence[Candidate]) -> bool:
    """Are there filters that may lie channels_last, and none whose memory is somebody else's, too?"""
    filters = [one.module.weight for one in _convolutions(layers)]
    return len(filters) > 0 and all(map(_is_alone, filters))


def _is_alone(weight: Any) -> bool:
    is_whole = weight.untyped_storage().nbytes() == weight.numel() * weight.element_size()
    is_own = is_whole and not weight.is_shared() and not weight.is_inference()
    return bool(is_own and weight.device.type in ("cpu", "cuda") and weight.is_contiguous())


def channels_last(layers: Sequence[Candidate]) -> None:
    """Filters of convolutions lie as `model.to(memory_format=torch.channels_last)` has them."""
    for one in _convolutions(layers):
        if not hasattr(one.module, _CHANGED):
            setattr(one.module, _CHANGED, True)
            _lie(one.module.weight, torch.channels_last)


def contiguous(module: Any) -> None:
    """A filter that `channels_last` moved lies as it did."""
    if module.__dict__.pop(_CHANGED, False):
        _lie(module.weight, torch.contiguous_format)


def _lie(weight: Any, form: Any) -> None:
    with torch.inference_mode(False), torch.no_grad():
        weight.data = weight.data.contiguous(memory_format=form)


def _convolutions(layers: Sequence[Candidate]) -> Iterator[Candidate]:
    """Layers that have a convolution's filters."""
    return (one for one in layers if isinstance(one.module, torch.nn.Conv2d))
