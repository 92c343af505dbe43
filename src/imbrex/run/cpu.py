"""A built CPU kernel: loaded, and called with NumPy arrays.

The library exports `int symbol(const void *, const void *, void *, int threads)`, the arrays in the order of
the problem's roles; it returns 0, or 1 when memory for its panels ran out. Law: the kernel is reached only
with arrays of the very dtype, shape and order that it was compiled for.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import numpy as np

from imbrex.argument import whole as expect_whole
from imbrex.diagnostic import Diagnostic
from imbrex.numeral import counted, whole
from imbrex.problem.operand import reach
from imbrex.problem.run_time import RunTime
from imbrex.run.arrays import Array, as_array, check, new_array, same_kind, share_memory
from imbrex.run.guarded_call import exported
from imbrex.run.host_machine import usable_cores
from imbrex.run.launcher import Call, Entry, Launcher, launcher

if TYPE_CHECKING:
    from imbrex.run.guarded_request import Answer, GuardedRequest

__all__ = [
    "CpuKernel", "Parameter", "Shaped", "allocated", "expect_done", "load", "parameters_at",
    "run_time_size", "short_way", "thread_count",
]  # fmt: skip

_OK, _OUT_OF_MEMORY, _NO_TILES = 0, 1, 3
MOST_THREADS: Final = 99_999
_MOST_CALLS: Final = 4096


@dataclass(frozen=True, slots=True)
class Parameter:
    """One array that a kernel takes, row-major over `shape`.  is_zeroed: a workspace that starts as zeros.

    strides: in elements, where there are gaps.  is_open: its outermost size is told in every call, and
    shape has the greatest one.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_written: bool = False
    is_zeroed: bool = False
    strides: tuple[int, ...] | None = None
    is_open: bool = False

    def at(self, count: int) -> Parameter:
        """The array of a call."""
        return replace(self, shape=(count, *self.shape[1:]), is_open=False) if self.is_open else self

    @property
    def bytes(self) -> int:
        """Bytes from the first element to the last, gaps and all."""
        return reach(self.shape, self.strides) * self.dtype.itemsize


def parameters_at(parameters: Sequence[Parameter], size: RunTime, count: int) -> tuple[Parameter, ...]:
    """The arrays of a call of a run-time size; ValueError where it is not in the range."""
    if count not in size:
        of = next(p.name for p in parameters if p.is_open)
        message = f"'{of}' should have an outermost size from {size.least} to {size.most}, got {count}"
        raise ValueError(message)
    return tuple(p.at(count) for p in parameters)


class Shaped(Protocol):
    """An array, as far as its sizes."""

    @property
    def shape(self) -> tuple[int, ...]: ...


def run_time_size(parameters: Sequence[Parameter], arrays: Sequence[Shaped]) -> int:
    """The run-time size that a call's arrays have, as the first one of it says; 0 where it has no sizes."""
    position = next(i for i, p in enumerate(parameters) if p.is_open)
    return arrays[position].shape[0] if len(arrays) > position and arrays[position].shape else 0


_UNNOTICED_BYTES: Final = 1 << 15
"""Bytes of the arrays of a call that is over before another thread would have begun to run Python."""


class _Known:
    """What a kernel has learnt from calls.  calls: on arrays that were checked, by what `describe` says."""

    def __init__(self) -> None:
        self.describe: Callable[[tuple[Any, ...]], bytes | None] | None = None
        self.calls: dict[bytes, Call] = {}


@dataclass(frozen=True, slots=True)
class CpuKernel:
    """`kernel(a, b, c)` runs it over these arrays on `threads` threads; the written ones are overwritten in
    position.

    workspace: further arrays that the entry point takes, new ones in every call.  run_time: the size that it
    takes besides, after all arrays; count: the one that it is called with, None where arrays of a call tell.
    """

    path: Path
    symbol: str
    parameters: tuple[Parameter, ...]
    entry: Callable[..., int] = field(repr=False, compare=False)
    workspace: tuple[Parameter, ...] = ()
    run_time: RunTime | None = None
    count: int | None = None
    _known: _Known = field(default_factory=_Known, repr=False, compare=False)

    def of_size(self, count: int) -> Self:
        """The kernel of this run-time size, which knows of the same calls; ValueError where there is none."""
        if self.run_time is None or self.count == count:
            return self
        return replace(self, parameters=parameters_at(self.parameters, self.run_time, count), count=count)

    def sized(self, arrays: Sequence[Shaped]) -> Self:
        """The kernel of the run-time size that these arrays have."""
        if self.run_time is None or self.count is not None:
            return self
        return self.of_size(run_time_size(self.parameters, arrays))

    def __call__(self, *arrays: Array, threads: int | None = None) -> None:
        """Refuses what `check` refuses, and an output that shares memory with an input (ValueError).

        threads: default all usable cores.  MemoryError when the kernel could not allocate.
        """
        own = self.sized(arrays)
        own._check(arrays)
        own._call(arrays, [allocated(p) for p in own.workspace], threads)

    def quick(self, arrays: tuple[Any, ...], stream: object = None, threads: int | None = None) -> bool:
        """Runs on arrays like ones that were checked before; False where there were none, and nothing ran."""
        known = self._known
        if known.describe is None or stream is not None:
            return False
        described = known.describe(arrays)
        call = None if described is None else known.calls.get(described)
        if call is None:
            return False
        status = call(threads, arrays)
        if status > 0:
            self.expect_done(status)
        return status == 0

    def remember(self, arrays: tuple[Any, ...]) -> None:
        """Remember for `quick` that a call on these arrays, in the parameters' order, was checked."""
        short = short_way()
        if short is None or (call := self.short_call(tuple(range(len(arrays))))) is None:
            return
        short.learn(arrays)
        described, known = short.describe(arrays), self._known
        if described is not None:
            if len(known.calls) >= _MOST_CALLS:
                known.calls.clear()
            known.describe, known.calls[described] = short.describe, call

    def short_call(self, positions: tuple[int, ...]) -> Call | None:
        """The kernel on arrays whose addresses alone are not known; positions: of its own among a call's."""
        short, grids = short_way(), self.grid_sizes
        if short is None:
            return None
        return short.call(
            Entry(
                ctypes.cast(self.entry, ctypes.c_void_p).value or 0,  # type: ignore[arg-type]
                positions,
                [p.dtype.itemsize for p in self.parameters],
                sum(1 << i for i, p in enumerate(self.parameters) if p.is_written),
                [(p.bytes, p.is_zeroed) for p in self.workspace],
                is_alone=max(grids, default=0) <= 1,
                is_long=sum(p.bytes for p in self.parameters) > _UNNOTICED_BYTES,
                count=self.count,
            )
        )

    def _check(self, arrays: tuple[Array, ...]) -> None:
        if len(arrays) != len(self.parameters):
            raise TypeError(
                f"'{self.symbol}' takes {counted(len(self.parameters), 'array')}, got {len(arrays)}"
            )
        for array, p in zip(arrays, self.parameters, strict=True):
            if not isinstance(array, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"'{p.name}' should be a numpy array, got {type(array).__name__}")
            check(array, p.name, dtype=p.dtype, shape=p.shape, strides=p.strides, written=p.is_written)
        self._check_overlap(arrays)

    def _call(self, arrays: tuple[Array, ...], scratch: list[Array], threads: int | None) -> None:
        self.expect_done(self.entry(*self._arguments(arrays, scratch), thread_count(threads)))

    def _arguments(self, arrays: Sequence[Array], scratch: Sequence[Array]) -> Iterator[int]:
        """What the entry point takes before the number of threads."""
        yield from (array.ctypes.data for array in (*arrays, *scratch))
        yield from () if self.count is None else (self.count,)

    def expect_done(self, status: int, fault: str = "") -> None:
        """MemoryError where the entry point says that it could not allocate.  fault: what it says besides."""
        del fault
        expect_done(self.symbol, status)

    @property
    def grid_sizes(self) -> tuple[int, ...]:
        """Workgroups of each launch, in order, as the solver says."""
        return tuple(self._status("grid_size", i) for i in range(self._status("launch_count")))

    @property
    def workspace_bytes(self) -> int:
        """Memory that one thread allocates beside the arrays, in the launch that needs most."""
        counts = (self._status("workspace_bytes", i) for i in range(self._status("launch_count")))
        return max(counts, default=0)

    def in_process(self, request: GuardedRequest) -> Answer | int:
        """The answer of a process of its own, or the signal that ended it."""
        from imbrex.run.guarded_request import in_python  # starts processes, which most calls do not

        return in_python(request)

    def prepare(self) -> None:
        """A library that is loaded can run."""

    def accepted(self, value: object, name: str) -> Array:
        """`value` as a call takes it; what is wrong with an array of NumPy's own the call itself finds."""
        return value if type(value) is np.ndarray else as_array(value, name)

    def new_result(self, parameter: Parameter, like: object) -> Any:
        """An array for the output, of the kind of `like`."""
        return same_kind(new_array(parameter.shape, parameter.dtype, parameter.strides), like)

    @contextmanager
    def resident(self, *arrays: Array, threads: int | None = None) -> Generator[Callable[[], None]]:
        """A call that may be repeated, on these arrays and one workspace."""
        own = self.sized(arrays)
        own._check(arrays)
        scratch = [allocated(p) for p in own.workspace]
        yield lambda: own._call(arrays, scratch, threads)

    def _status(self, question: str, *arguments: int) -> int:
        """What the solver answers."""
        function = ctypes.CDLL(str(self.path))[f"{self.symbol}_{question}"]
        function.restype = ctypes.c_int64 if arguments else ctypes.c_int
        return int(function(*(ctypes.c_int(a) for a in arguments)))

    def _check_overlap(self, arrays: tuple[Array, ...]) -> None:
        for out, p in zip(arrays, self.parameters, strict=True):
            for other, q in zip(arrays, self.parameters, strict=True):
                if p.is_written and p is not q and share_memory(out, other):
                    raise ValueError(f"the output '{p.name}' shares memory with '{q.name}'")


def load(
    path: Path,
    symbol: str,
    parameters: tuple[Parameter, ...],
    workspace: tuple[Parameter, ...] = (),
    run_time: RunTime | None = None,
) -> CpuKernel:
    """Opens the library and finds the symbol; a Diagnostic when either fails."""
    try:
        library = ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        raise Diagnostic(f"the kernel cannot be loaded: {error}", hint=_load_hint(str(error))) from None
    entry = exported(library, symbol)
    if entry is None:
        raise Diagnostic(f"the library {path} exports no '{symbol}'")
    if (short := short_way()) is not None:
        short.lend(library)
    sizes = [] if run_time is None else [ctypes.c_int64]
    entry.argtypes = [*(ctypes.c_void_p for _ in (*parameters, *workspace)), *sizes, ctypes.c_int]
    entry.restype = ctypes.c_int
    return CpuKernel(path, symbol, parameters, entry, workspace, run_time)


def short_way() -> Launcher | None:
    """What makes short calls; None where it cannot serve."""
    return launcher(thread_count)


def expect_done(symbol: str, status: int) -> None:
    """MemoryError where an entry point says that it could not allocate, a Diagnostic where the system keeps
    it from the registers that it needs.
    """
    if status == _NO_TILES:
        message = f"'{symbol}' multiplies by AMX's tiles, which the system does not let this process use"
        raise Diagnostic(message, hint="build for another level, with '--target avx512_bf16' say")
    if status == _OUT_OF_MEMORY:
        raise MemoryError(f"'{symbol}' could not allocate its packing panels")
    assert status == _OK, f"'{symbol}' returned {status}, which its ABI does not know"


def thread_count(threads: int | None = None) -> int:
    """`threads`, else the environment's IMBREX_THREADS, else all usable cores.

    TypeError and ValueError where `threads` is no count; a Diagnostic where the environment's is none.
    """
    if threads is None:
        given = os.environ.get("IMBREX_THREADS", "").strip()
        if not given:
            return usable_cores()
        found = whole(given, 1, MOST_THREADS)
        if found is None:
            raise Diagnostic(f"IMBREX_THREADS should be a positive number, got '{given}'")
        return found
    return expect_whole("threads", threads, 1, MOST_THREADS)


def allocated(p: Parameter) -> Array:
    """A new array of zeros, or of set bits, NaN in every type of floats: nobody may count on it."""
    if p.is_zeroed:
        return np.zeros(p.shape, p.dtype)
    return np.full(p.bytes, 0xFF, np.uint8).view(p.dtype)


def _load_hint(error: str) -> str | None:
    if missing := re.search(r"undefined symbol: (\S+)", error):
        return f"the source calls '{missing[1]}', which this process does not have"
    if "failed to map segment" in error or "Operation not permitted" in error:
        return "its directory may be mounted noexec; set IMBREX_CACHE_DIR to another one"
    return None
