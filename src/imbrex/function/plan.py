"""Plans: calls that were made before, by all that their kernel depends on: on NumPy's arrays and torch's
tensors of the host, and on torch's tensors on a GPU.

Law: a call that finds its plan looks at nothing but where its arrays lie, and launches; what has no plan, or
does not fit it, goes the long way, where whatever is wrong with it is said.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from imbrex.database.news import verdicts
from imbrex.kernel import CPU, Kernel
from imbrex.problem.operand import reach
from imbrex.run.arrays import dense_order, empty
from imbrex.run.cpu import CpuKernel, short_way
from imbrex.run.stream import current_stream
from imbrex.run.traced import is_in_forward_mode, is_readable

if TYPE_CHECKING:  # a call on the CPU goes without
    from imbrex.run.cuda.kernel import CudaKernel
    from imbrex.run.launcher import Call

__all__ = ["NOTES", "Note", "Plan", "clear", "planned", "remember"]

CallOptions: TypeAlias = tuple[Any, ...]
"""What a function is told beside arrays; the first one tells the function."""

_MOST = 4096
_plans: dict[Any, Plan] = {}


@dataclass(frozen=True, slots=True)
class _OnHost:
    """call: of the kernel.  empty: makes results, where calls bring none; count: of results."""

    loaded: CpuKernel
    call: Call
    empty: Callable[[], tuple[Any, ...]]
    count: int

    def run(self, arrays: tuple[Any, ...], threads: int | None) -> Any | None:
        """The results, new arrays where the call brings none; None where the call does not fit."""
        if arrays[-1] is None:
            arrays = (*arrays[:-1], *self.empty())
        status = self.call(threads, arrays)
        if status > 0:
            self.loaded.expect_done(status)
        return None if status else _returned(arrays, self.count)


@dataclass(frozen=True, slots=True)
class _OnGpu:
    """positions: of the kernel's arrays among the call's, results last.  reaches: bytes of each of the call's
    arrays, gaps and all.  empty, count: as of `_OnHost`.
    """

    loaded: CudaKernel
    positions: tuple[int, ...]
    reaches: tuple[int, ...]
    device: int
    empty: Callable[[], tuple[Any, ...]]
    count: int
    stream_of: Callable[[int], int]
    device_now: Callable[[], int] | None

    def run(self, arrays: tuple[Any, ...], threads: int | None) -> Any | None:
        """The results, new tensors where the call brings none; None where the call does not fit."""
        del threads
        if self.device_now is not None and self.device_now() != self.device:
            return None
        if arrays[-1] is None:
            arrays = (*arrays[:-1], *self.empty())
        elif self._may_overlap(arrays):
            return None
        addresses = tuple([arrays[position].data_ptr() for position in self.positions])
        is_done = self.loaded.at(addresses, self.device, self.stream_of(self.device))
        return _returned(arrays, self.count) if is_done else None

    def _may_overlap(self, arrays: tuple[Any, ...]) -> bool:
        """Does a result reach into what another array reaches over?"""
        spans = [(at := x.data_ptr(), at + bytes) for x, bytes in zip(arrays, self.reaches, strict=True)]
        first_result = len(spans) - self.count
        return any(
            one[0] < other[1] and other[0] < one[1]
            for position, one in enumerate(spans[first_result:], first_result)
            for other in spans[:position]
        )


Plan: TypeAlias = _OnHost | _OnGpu
Note: TypeAlias = tuple[Plan, tuple[Any, ...]]
NOTES: ContextVar[list[Note] | None] = ContextVar("plans", default=None)
"""Where calls write the plans by which they were served, and the arrays of each."""


def _returned(arrays: tuple[Any, ...], count: int) -> Any:
    """The results, the last `count` of all arrays."""
    return arrays[-1] if count == 1 else arrays[-count:]


def planned(options: CallOptions, arrays: tuple[Any, ...], threads: int | None) -> Any | None:
    """The result of a call that has a plan, which has then been launched; None for one that has not.

    arrays: those that are read, then what `out` has, or None.
    """
    if is_in_forward_mode():  # where a tensor may have a tangent
        return None
    try:
        plan = _plans.get(_key(options, arrays, threads))
    except (AttributeError, TypeError):  # arrays of others, or options that are lists
        return None
    if plan is None:
        return None
    if (notes := NOTES.get()) is not None:
        notes.append((plan, arrays))
    return plan.run(arrays, threads)


class Served(NamedTuple):
    """How a call was served: the kernel, what it was given in its order, and positions of each among the
    call's arrays.
    """

    kernel: Kernel
    used: Sequence[Any]
    positions: tuple[int, ...]


def remember(
    options: CallOptions, arrays: tuple[Any, ...], threads: int | None, served: Served, result: Any
) -> None:
    """Makes a plan of a call that went the long way, if none of its arrays had to be copied.

    result: what the caller gets, two arrays where there is a pre-activation.
    """
    kernel = served.kernel
    results = cast("tuple[Any, ...]", result) if isinstance(result, tuple) else (result,)
    is_new = arrays[-1] is None
    given = (*(arrays[:-1] if is_new else arrays[: -len(results)]), *results)
    if kernel.target == CPU:
        plan = _host_plan(given, served, results, is_new=is_new)
    elif kernel.target.is_cuda:
        plan = _gpu_plan(given, served, results)
    else:
        plan = None
    if plan is None:
        return
    if len(_plans) >= _MOST:
        _plans.clear()
    try:
        _plans[_key(options, arrays, threads)] = plan
    except (AttributeError, TypeError):  # as in `planned`
        return


def clear() -> None:
    """Forgets every plan."""
    _plans.clear()


def _key(options: CallOptions, arrays: tuple[Any, ...], threads: int | None) -> Any:
    """All of a call but where its arrays lie."""
    if (short := short_way()) is not None and (described := short.describe(arrays)) is not None:
        return options, verdicts(), threads, described
    return options, verdicts(), *map(_facts, arrays)


def _facts(tensor: Any) -> Any:
    """All of a tensor but where it lies; None of no tensor."""
    if tensor is None:
        return None
    return tensor.dtype, tensor.shape, tensor.stride(), tensor.get_device(), is_readable(tensor)


def _host_plan(
    given: tuple[Any, ...], served: Served, results: tuple[Any, ...], *, is_new: bool
) -> Plan | None:
    """is_new: the last of `given`, the results, are arrays that the call made."""
    short, loaded = short_way(), served.kernel.loaded
    assert isinstance(loaded, CpuKernel)
    if short is None:
        return None
    short.learn(given)
    if short.describe(given) is None or not _are_in_place(given, served):
        return None
    call = loaded.short_call(served.positions)
    made = _empties(results) if is_new else _no_result
    return None if call is None else _OnHost(loaded, call, made, len(results))


def _empties(results: tuple[Any, ...]) -> Callable[[], tuple[Any, ...]]:
    """Makes arrays like these."""
    if len(results) == 1:
        make = _empty(results[0])
        return lambda: (make(),)
    each = tuple(map(_empty, results))
    return lambda: tuple([make() for make in each])


def _no_result() -> tuple[Any, ...]:
    raise AssertionError("a call that brings its result needs none")


def _empty(result: Any) -> Callable[[], Any]:
    """Makes arrays like this one, of the host."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(result, torch.Tensor):
        strides, of = result.stride(), {"dtype": result.dtype}
        return partial(torch.empty_strided, tuple(result.shape), strides, **of)
    order = dense_order(result)
    assert order is not None, "a new result has no gaps"
    if order == tuple(range(result.ndim)):
        return partial(empty, result.shape, result.dtype)
    shape, kind = tuple(result.shape[i] for i in order), result.dtype
    back = tuple(int(i) for i in np.argsort(order))
    return lambda: empty(shape, kind).transpose(back)


def _gpu_plan(given: tuple[Any, ...], served: Served, results: tuple[Any, ...]) -> Plan | None:
    torch: Any = sys.modules.get("torch")
    if torch is None or not all(isinstance(array, torch.Tensor) for array in given):
        return None
    if not _are_in_place(given, served):
        return None
    first = results[0]
    made = [(tuple(r.shape), r.stride(), {"dtype": r.dtype, "device": r.device}) for r in results]
    return _OnGpu(
        cast("CudaKernel", served.kernel.loaded),
        served.positions,
        tuple([_reach(tensor) for tensor in given]),
        first.get_device(),
        lambda: tuple([torch.empty_strided(shape, strides, **of) for shape, strides, of in made]),
        len(results),
        current_stream(torch),
        torch.cuda.current_device if torch.cuda.device_count() > 1 else None,
    )


def _reach(tensor: Any) -> int:
    """Bytes from the first element to the last."""
    return reach(tuple(tensor.shape), tuple(tensor.stride())) * tensor.element_size()


def _are_in_place(given: tuple[Any, ...], served: Served) -> bool:
    """Was the kernel given the caller's own memory?"""
    return all(
        _address(one) == _address(given[at]) for one, at in zip(served.used, served.positions, strict=True)
    )


def _address(array: Any) -> int:
    return int(array.data_ptr() if hasattr(array, "data_ptr") else array.ctypes.data)
