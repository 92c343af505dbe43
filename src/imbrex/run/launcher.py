"""The short way of a call on arrays of this machine: a small extension of Python, built and kept as kernels.

Law: it does nothing that the long way does not do, and is done without where it cannot be built or loaded, or
where NumPy's arrays do not lie as it reads them.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from imbrex.build.cache import Cache
from imbrex.build.shared_library import build_shared, find_shared, recipe_key
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DTYPES
from imbrex.run.guarded_call import exported

__all__ = ["Call", "Entry", "Launcher", "launcher", "openmp_of"]

Call: TypeAlias = Callable[["int | None", tuple[Any, ...]], int]
"""`call(threads, arrays)`: the kernel's status, or -1 where the long way has to look at them."""

_MOST: Final = 8
"""Arrays, and workspaces, as in launcher.cpp."""
_TENSORS: Final = ("torch.Tensor", "torch.nn.parameter.Parameter")


class _Call(ctypes.Structure):
    """Call of launcher.cpp."""

    _fields_ = [
        ("entry", ctypes.c_void_p),
        ("arrays", ctypes.c_int64),
        ("places", ctypes.c_int64 * _MOST),
        ("bytes", ctypes.c_int64 * _MOST),
        ("written", ctypes.c_int64),
        ("workspaces", ctypes.c_int64),
        ("sizes", ctypes.c_int64 * _MOST),
        ("zeroed", ctypes.c_int64 * _MOST),
        ("is_alone", ctypes.c_int64),
        ("is_long", ctypes.c_int64),
        ("has_count", ctypes.c_int64),
        ("count", ctypes.c_int64),
    ]


@dataclass(frozen=True, slots=True)
class Entry:
    """What is to be called, at `address`.  places: of the kernel's arrays among those of a call.  sizes: in
    bytes, of their elements.  written: the one that is.  workspaces: bytes of each, and whether it starts as
    zeros.  is_alone: it never has use for a second thread.  is_long: others may run Python meanwhile.
    count: the run-time size, that it takes after all arrays.
    """

    address: int
    positions: Sequence[int]
    sizes: Sequence[int]
    written: int
    workspaces: Sequence[tuple[int, bool]]
    is_alone: bool
    is_long: bool
    count: int | None = None


@dataclass(frozen=True)
class Launcher:
    """describe: all of a tuple of arrays but where they lie, as bytes; None where one is not plain.  same:
    have two tuples of tensors the same bits in the same order?  False where that is not plain to see.
    """

    describe: Callable[[tuple[Any, ...]], bytes | None]
    same: Callable[[tuple[Any, ...], tuple[Any, ...]], bool]
    _library: ctypes.PyDLL = field(repr=False)
    _known: set[type] = field(default_factory=lambda: set[type](), repr=False)

    def call(self, entry: Entry) -> Call | None:
        """A call of the entry; None where it takes too many arrays."""
        if max(len(entry.positions), len(entry.workspaces)) > _MOST or len(entry.positions) < 2:
            return None
        sizes, zeroed = zip(*entry.workspaces, strict=True) if entry.workspaces else ((), ())
        of = _Call(
            entry.address, len(entry.positions), tuple(entry.positions), tuple(entry.sizes), entry.written,
            len(entry.workspaces), tuple(sizes), tuple(zeroed), entry.is_alone, entry.is_long,
            entry.count is not None, entry.count or 0,
        )  # fmt: skip
        made: Call | None = self._library.imbrex_launcher_call(ctypes.byref(of))
        return made

    def lend(self, library: ctypes.CDLL) -> None:
        """Kernels of the library share this process' threads and scratch memory, where they can."""
        if (use_threads := exported(library, "imbrex_use_threads")) is not None:
            use_threads(self._library.imbrex_launcher_share)
            memory = ctypes.c_byte.in_dll(self._library, "imbrex_launcher_memory")
            library.imbrex_use_memory(ctypes.byref(memory))

    def join(self, openmp: tuple[int, int]) -> None:
        """Kernels of this process run on the threads of this OpenMP from now on; of none where it is (0, 0).

        openmp: addresses of its GOMP_parallel and its omp_get_max_threads.
        """
        self._library.imbrex_launcher_team(*openmp)

    def learn(self, arrays: Sequence[Any]) -> None:
        """Tensors of torch's are described from now on, where it has DLPack's exchange functions, and kernels
        run on the threads of torch's OpenMP, where it has one.
        """
        torch: Any = sys.modules.get("torch")
        kinds: set[type] = {type(array) for array in arrays}
        for kind in kinds - self._known:
            self._known.add(kind)
            if f"{kind.__module__}.{kind.__qualname__}" in _TENSORS:
                self.join(openmp_of(torch))
                exchange = getattr(kind, "__dlpack_c_exchange_api__", None)
                if torch is not None and exchange is not None:
                    self._library.imbrex_launcher_add(kind, exchange, torch.is_grad_enabled)


@functools.cache
def launcher(count_threads: Callable[[], int]) -> Launcher | None:
    """The extension, built where the cache has none; None where it cannot serve.  count_threads: gives the
    number of threads of a call that says none.
    """
    if sys.implementation.name != "cpython" or sys.platform != "linux":
        return None
    object_, whole = ctypes.py_object, ctypes.c_ssize_t
    try:
        library = ctypes.PyDLL(_path())
        for name, result, arguments in (
            ("begin", None, [whole, object_, object_, object_]),
            ("add", ctypes.c_bool, [object_, object_, object_]),
            ("take", None, [object_]),
            ("read", None, [object_, ctypes.POINTER(ctypes.c_int64)]),
            ("describe", object_, []),
            ("same", object_, []),
            ("call", object_, [ctypes.POINTER(_Call)]),
            ("team", None, [ctypes.c_void_p, ctypes.c_void_p]),
        ):
            function = getattr(library, f"imbrex_launcher_{name}")
            function.restype, function.argtypes = result, arguments
    except (Diagnostic, OSError, AttributeError):  # not built, not loaded, or not what a compiler was to make
        return None
    library.imbrex_launcher_begin(object.__basicsize__, None, np.ndarray, count_threads)
    if not _reads_rightly(library):
        return None
    for kind in {element.numpy.name: element.numpy for element in DTYPES.values()}.values():
        library.imbrex_launcher_take(kind)
    return Launcher(library.imbrex_launcher_describe(), library.imbrex_launcher_same(), library)


def openmp_of(torch: Any) -> tuple[int, int]:
    """What `Launcher.join` takes, of the OpenMP that torch computes with; zeros where it has none.

    GNU's has both names, and so has LLVM's.
    """
    if torch is None or not torch.backends.openmp.is_available():
        return 0, 0
    try:
        library = ctypes.CDLL(torch._C.__file__)  # finds what it depends on, too
        found = library.GOMP_parallel, library.omp_get_max_threads
    except (OSError, AttributeError):
        return 0, 0
    parallel, most = (ctypes.cast(function, ctypes.c_void_p).value or 0 for function in found)
    return parallel, most


def _reads_rightly(library: ctypes.PyDLL) -> bool:
    """Does it see what NumPy says of an array?"""
    for array in (np.zeros((3, 5), np.float32)[:, 1:4], np.zeros((2, 7)).T):
        array.flags.writeable = array.itemsize == 4
        numbers = (ctypes.c_int64 * 9)()
        library.imbrex_launcher_read(array, numbers)
        says = (
            1,
            array.ctypes.data,
            array.ndim,
            id(array.dtype),
            array.flags.num,
            *array.shape,
            *array.strides,
        )
        if tuple(numbers) != says:
            return False
    return True


def _path() -> str:
    """The library, from the cache when it is there."""
    cache, key = Cache(), recipe_key("launcher")
    recipe = cache.recall(key)
    found = find_shared(str(recipe.get("object")), cache) if recipe is not None else None
    if found is None:
        from importlib.resources import files  # here: where it was built before nobody waits for them

        from imbrex.emit.bundle import device_headers

        text = (files("imbrex.run") / "launcher.cpp").read_text(encoding="utf-8")
        found = build_shared({"launcher.cpp": text, **device_headers("cpu")}, cache=cache)
        cache.remember(key, {"object": found.key})
    return str(found.path)
