"""Trials: a layer with what follows it, by a kernel and by torch, on tensors such as the example's."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from imbrex.torch.candidate import Candidate, Met
from imbrex.torch.clock import sampler
from imbrex.torch.fusion import Chain
from imbrex.torch.layer import plain

__all__ = ["Trial", "ask_for_kernels", "timed"]

torch: Any = import_module("torch")

ROUNDS: Final = 7
BUDGET_S: Final = 0.1
"""Seconds of one trial's rounds; three are made in any case."""


@dataclass(frozen=True)
class Trial:
    """chain: what is computed at once.  with_gradients: the layer alone, forward and backward."""

    candidate: Candidate
    chain: Chain
    with_gradients: bool

    @property
    def text(self) -> str:
        """What is fused."""
        options = ("norm" * (self.chain.norm is not None), "residual" * self.chain.has_residual)
        return " + ".join(word for word in (*options, self.chain.activation) if word)

    def calls(self, like: Met) -> tuple[Callable[[], Any], Callable[[], Any]]:
        """Results by a kernel, and by torch."""
        layer, chain = self.candidate.module, self.chain
        x = _random(like, self.with_gradients and like.needs_grad)
        given = (x,) if like.output_size is None else (x, like.output_size)

        def theirs() -> Any:
            return plain(layer, x, None, None, "", *given[1:])

        if self.with_gradients:
            needed = [tensor for tensor in (x, *layer.parameters()) if tensor.requires_grad]
            if not needed:
                return lambda: layer(*given), theirs
            dy = torch.randn_like(theirs())
            return (
                _recorded(lambda: torch.autograd.grad(layer(*given), needed, dy)),
                _recorded(lambda: torch.autograd.grad(theirs(), needed, dy)),
            )
        if chain == Chain(chain.layer):
            return _quiet(lambda: layer(*given)), _quiet(theirs)
        norm = None if chain.norm is None else _norm(layer)
        with torch.no_grad():
            sums = theirs()
        residual = torch.randn_like(sums) if chain.has_residual else None
        options = (x, norm, residual, chain.activation)
        return _quiet(lambda: layer.fused(*options)), _quiet(lambda: plain(layer, *options))


def ask_for_kernels(trial: Trial) -> None:
    """Calls a layer once on each of its tensors, so that its kernels are asked for."""
    for like in trial.candidate.met:
        trial.calls(like)[0]()


def timed(trials: Sequence[Trial], as_graph: bool = False) -> dict[str, tuple[float, float]]:
    """Seconds by kernels, and by torch, of a layer's calls in one run of the example, by its name; those of
    layers that are the same are measured once.  as_graph: of replays of CUDA graphs.
    """
    known: dict[Any, tuple[float, float]] = {}
    found: dict[str, tuple[float, float]] = {}
    for trial in trials:
        every = (0.0, 0.0)
        for like in trial.candidate.met:
            key = _signature(trial, like)
            if key not in known:
                known[key] = _contest(trial.calls(like), like.device, as_graph and not trial.with_gradients)
            ours, theirs = known[key]
            every = (every[0] + like.times * ours, every[1] + like.times * theirs)
        found[trial.candidate.name] = every
    return found


def _contest(
    calls: tuple[Callable[[], Any], Callable[[], Any]], device: Any, as_graph: bool
) -> tuple[float, float]:
    """Medians, in turn."""
    samples: tuple[list[float], list[float]] = ([], [])
    for call in calls:
        call()
    contenders = [sampler(call, device, as_graph) for call in calls]
    began = time.perf_counter()
    while len(samples[0]) < 3 or (len(samples[0]) < ROUNDS and time.perf_counter() - began < BUDGET_S):
        for sample, into in zip(contenders, samples, strict=True):
            into.append(sample())
    return statistics.median(samples[0]), statistics.median(samples[1])


def _quiet(call: Callable[[], Any]) -> Callable[[], Any]:
    def without_gradients() -> Any:
        with torch.no_grad():
            return call()

    return without_gradients


def _recorded(call: Callable[[], Any]) -> Callable[[], Any]:
    """The call while gradients are recorded, also where the caller of all has them switched off."""

    def with_gradients() -> Any:
        with torch.enable_grad():
            return call()

    return with_gradients


def _random(like: Met, needs_grad: bool) -> Any:
    """Random numbers that lie as this, also where several elements are one in memory."""
    last = sum((size - 1) * step for size, step in zip(like.shape, like.stride, strict=True))
    count = last + 1 if all(like.shape) else 0
    memory = torch.empty(count, dtype=like.dtype, device=like.device).normal_()
    return memory.as_strided(like.shape, like.stride).requires_grad_(needs_grad)


def _norm(layer: Any) -> Any:
    """A norm such as follows the layer."""
    made = torch.nn.BatchNorm2d(layer.out_channels, device=layer.weight.device, dtype=layer.weight.dtype)
    return made.eval()


def _signature(trial: Trial, like: Met) -> Any:
    """What a time depends on."""
    layer: Any = trial.candidate.module
    chain = trial.chain
    tied = [getattr(layer, name, None) for name in ("stride", "padding", "dilation", "groups")]
    weight = trial.candidate.kind, tuple(layer.weight.shape), layer.weight.stride(), layer.bias is None
    fused = chain.norm is None, chain.has_residual, chain.activation
    needed = [like.needs_grad, *(p.requires_grad for p in layer.parameters())]
    lies = like.shape, like.stride, like.dtype, like.output_size
    return weight, *tied, fused, trial.with_gradients, *needed, *lies
