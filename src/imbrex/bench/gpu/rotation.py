"""Rotation: several sets of a problem's arrays on a GPU, so that a call in turn finds none of its own in L2.

Law: all sets together hold at least `BYTES`, twice and more what any L2 of these GPUs keeps, unless that
takes more than `MOST` sets; contenders read the same arrays.  Operands are random, uniform in [-1, 1),
because the power that a product draws, and with it the clock, depends on the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from imbrex.problem import Operand, Problem
from imbrex.verify.device.check import Tensor, drawn, operand_view

__all__ = ["Rotation", "rotation"]

BYTES = 256 << 20
MOST = 256
LEAST = 2
SHARE = 0.35
"""Largest share of the free memory that rotating arrays take."""


@dataclass(frozen=True)
class Rotation:
    """sets: arrays by role, one set for each call of a round."""

    problem: Problem
    sets: tuple[Mapping[str, Tensor], ...]

    @property
    def calls(self) -> int:
        return len(self.sets)


def rotation(problem: Problem, device: Any, seed: int = 1, free_bytes: int | None = None) -> Rotation:
    """As many sets as the law asks for and memory allows; at least one.

    The first is drawn; the others are copies of it, cut and joined elsewhere, which is as random.
    """
    torch: Any = import_module("torch")
    size = max(1, sum(o.reach * o.dtype.bytes for o in problem.operands))
    free = torch.cuda.mem_get_info()[0] if free_bytes is None else free_bytes
    count = max(LEAST, min(MOST, -(-BYTES // size)))
    count = max(1, min(count, int(free * SHARE) // size))
    first = drawn(problem, seed, "float", device)
    others = ({o.role: _rolled(first[o.role], o, i) for o in problem.operands} for i in range(1, count))
    return Rotation(problem, (first, *others))


def _rolled(tensor: Tensor, operand: Operand, index: int) -> Tensor:
    """Rolled as integers, for torch moves no 8-bit floats."""
    torch: Any = import_module("torch")
    bits = getattr(torch, f"int{8 * tensor.element_size()}")
    flat = tensor.contiguous().view(-1).view(bits)
    rolled = flat.roll(index * (flat.numel() // (MOST + 1)) + index).view(tensor.dtype).view(tensor.shape)
    if operand.strides is None:
        return rolled
    return operand_view(
        torch.zeros(operand.allocated_elements, dtype=tensor.dtype, device=tensor.device), operand, rolled
    )
