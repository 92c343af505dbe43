"""Plans: calls on torch's tensors on a GPU that were made before, by all that their kernel depends on.

Law: a call that finds its plan looks at nothing but where its tensors lie, and launches; what has no plan, or
does not fit it, goes the long way, where whatever is wrong with it is said.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from imbrex.database.news import verdicts
from imbrex.kernel import Kernel
from imbrex.run.stream import current_stream
from imbrex.run.traced import is_recorded

if TYPE_CHECKING:  # a call on the CPU goes without
    from imbrex.run.cuda.kernel import CudaKernel

__all__ = ["clear", "planned", "remember"]

Words: TypeAlias = tuple[Any, ...]
"""What a function is told beside arrays; the first one tells the function."""

_MOST = 4096
_plans: dict[Any, _Plan] = {}


@dataclass(frozen=True, slots=True)
class _Plan:
    """places: of the kernel's arrays among the call's, the result last.  empty: makes a result."""

    loaded: CudaKernel
    places: tuple[int, ...]
    device: int
    empty: Callable[[], Any]
    stream_of: Callable[[int], int]
    device_now: Callable[[], int] | None

    def run(self, arrays: tuple[Any, ...]) -> Any | None:
        """The result, a new tensor where the call brings none; None where the call does not fit."""
        if self.device_now is not None and self.device_now() != self.device:
            return None
        if arrays[-1] is None:
            arrays = (*arrays[:-1], self.empty())
        addresses = tuple([arrays[place].data_ptr() for place in self.places])
        is_done = self.loaded.at(addresses, self.device, self.stream_of(self.device))
        return arrays[-1] if is_done else None


def planned(words: Words, arrays: tuple[Any, ...]) -> Any | None:
    """The result of a call that has a plan, which has then been launched; None for one that has not.

    arrays: those that are read, then `out`, or None.
    """
    try:
        plan = _plans.get((words, verdicts(), *map(_facts, arrays)))
    except (AttributeError, TypeError):  # no tensors, or words that are lists
        return None
    return None if plan is None else plan.run(arrays)


def remember(words: Words, arrays: tuple[Any, ...], used: Sequence[Any], kernel: Kernel, result: Any) -> None:
    """Makes a plan of a call that went the long way on tensors of torch, none of which had to be copied.

    used: what the kernel was given, in its order; result: what the caller gets.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or not kernel.goal.is_cuda:
        return
    tensors = (*arrays[:-1], result)
    if not all(isinstance(array, torch.Tensor) for array in tensors):
        return
    pointers = [tensor.data_ptr() for tensor in tensors]
    if len(set(pointers)) < len(pointers) or any(array.data_ptr() not in pointers for array in used):
        return
    if len(_plans) >= _MOST:
        _plans.clear()
    shape, strides, kind, device = tuple(result.shape), result.stride(), result.dtype, result.device
    plan = _Plan(
        cast("CudaKernel", kernel.loaded),
        tuple(pointers.index(array.data_ptr()) for array in used),
        result.get_device(),
        lambda: torch.empty_strided(shape, strides, dtype=kind, device=device),
        current_stream(torch),
        torch.cuda.current_device if torch.cuda.device_count() > 1 else None,
    )
    try:
        _plans[(words, verdicts(), *map(_facts, arrays))] = plan
    except TypeError:  # words that are lists
        return


def _facts(tensor: Any) -> Any:
    """All of a tensor but where it lies; None of no tensor."""
    if tensor is None:
        return None
    return tensor.dtype, tensor.shape, tensor.stride(), tensor.get_device(), is_recorded(tensor)


def clear() -> None:
    """Forgets every plan."""
    _plans.clear()
