"""Steps of a warpgroup kernel in time: stages that a producer fills and consumers multiply, by the model's
streams.

    a producer waits until a stage is empty (its empty barrier), then asks for both operands' rows
    rows come after the latency of memory, and not sooner behind one another than the slowest path gives them
    a consumer waits until a stage is full (its full barrier), then multiplies it, and lets it go
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from imbrex.explore.gantt import Gantt, Span
from imbrex.numeral import counted

__all__ = ["Ring", "stages_in_time"]

SHOWN: Final = 12
"""Steps that are drawn."""


@dataclass(frozen=True)
class Ring:
    """Cycles: asking for a stage's rows; of the slowest path of what comes, from one step to the next; until
    the first of it is there; multiplying.  epilogue: C's way to memory; is_in_turn: does another consumer
    multiply meanwhile?
    """

    stages: int
    steps: int
    asking: float
    path: float
    latency: float
    multiply: float
    epilogue: float
    is_in_turn: bool

    def times(self) -> Iterator[tuple[float, float, float, float]]:
        """Times of each step: asked for, there, begun, done."""
        done: list[float] = []
        free = came = ended = 0.0
        for step in range(min(self.steps, SHOWN)):
            issued = max(free, done[step - self.stages] if step >= self.stages else 0.0)
            free = issued + self.asking
            came = max(issued + self.latency, came + self.path)
            begun = max(came, ended)
            ended = begun + self.multiply
            done.append(ended)
            yield issued, came, begun, ended


def stages_in_time(ring: Ring) -> Gantt:
    """Rows of the producer, of each stage and of the consumer."""
    times = list(ring.times())
    producer: list[Span] = []
    consumer: list[Span] = []
    stages: list[list[Span]] = [[] for _ in range(min(ring.stages, len(times)))]
    free = ended = 0.0
    for step, (issued, came, begun, done) in enumerate(times):
        stage, tokens = step % ring.stages, f"step:{step}"
        if issued > free:
            producer.append(Span(free, issued, "none", f"waits until stage {stage} is empty", tokens))
        tooltip = f"asks for step {step} into stage {stage}"
        producer.append(Span(issued, issued + ring.asking, "g3", tooltip, tokens, str(step)))
        row = stages[stage]
        row.append(Span(issued, came, "g3", f"step {step} on its way, {came - issued:,.0f} cycles", tokens))
        if begun > came:
            row.append(Span(came, begun, "g7", f"step {step} is there, and waits", tokens))
        row.append(Span(begun, done, "g0", f"step {step} is multiplied", tokens, str(step)))
        if begun > ended:
            consumer.append(Span(ended, begun, "none", f"waits until stage {stage} is full", tokens))
        tooltip = f"multiplies step {step}, {done - begun:,.0f} cycles"
        consumer.append(Span(begun, done, "g0", tooltip, tokens, str(step)))
        free, ended = issued + ring.asking, done
    rows = [("producer", producer), *((f"stage {i}", row) for i, row in enumerate(stages))]
    rows.append(("consumer", consumer))
    signs = [("g3", "asked for, on its way"), ("g7", "full, waits"), ("g0", "multiplied"), ("none", "waits")]
    if ring.epilogue and len(times) == ring.steps:
        tooltip = f"C on its way to memory, {ring.epilogue:,.0f} cycles"
        tooltip += ", while the other consumer multiplies" if ring.is_in_turn else ""
        rows.append(("epilogue", [Span(ended, ended + ring.epilogue, "g5", tooltip)]))
        signs.append(("g5", "C stored"))
    which = "all" if len(times) == ring.steps else f"the first {len(times)} of"
    return Gantt(f"{which} {counted(ring.steps, 'step')} of a tile, by the streams' cycles", rows, signs)
