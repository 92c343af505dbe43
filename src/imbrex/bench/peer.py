"""Peers: what else on this machine computes a problem, on equal arrays and as many threads.

Law: a peer reads arrays where they lie, in the layout of the problem; one that would need another problem, or
a copy, does not take part, nor does one that would need several calls, as for an epilogue.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from imbrex.bench.contest import Call
from imbrex.cached import cached_property
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.dtype import BF16, F32, F64, I8
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.run.arrays import Array
from imbrex.run.guarded_call import exported

__all__ = [
    "PEERS", "Call", "NumPy", "Peer", "Torch", "expect_installed", "first_line", "one_blas_thread", "peers",
    "uninstalled",
]  # fmt: skip


class Peer(Protocol):
    """Somebody to be compared with."""

    name: str
    version: str

    def set_threads(self, threads: int) -> None:
        """Threads of all calls from now on."""
        ...

    def call(self, problem: Problem, arrays: Mapping[str, Array]) -> Call | None:
        """A call that computes the problem; None where this peer has no way to."""
        ...


class NumPy:
    """Products by matmul; a forward convolution as one product for each position of the window."""

    name = "numpy"
    version = np.__version__

    def set_threads(self, threads: int) -> None:
        for function in _openblas(_SET_THREADS):
            function(threads)

    def call(self, problem: Problem, arrays: Mapping[str, Array]) -> Call | None:
        if problem.dtype not in (F32, F64) or problem.epilogue is not None:
            return None  # it has no fast arithmetic for the others
        if isinstance(problem, Gemm):
            return _numpy_gemm(problem, arrays)
        return _numpy_conv(problem, arrays) if problem.direction == "forward" else None


class Torch:
    """oneDNN and its own kernels, through PyTorch."""

    name = "torch"

    def __init__(self) -> None:
        self.version = metadata.version(self.name)

    @cached_property
    def _torch(self) -> Any:
        return import_module(self.name)

    def set_threads(self, threads: int) -> None:
        self._torch.set_num_threads(threads)

    def call(self, problem: Problem, arrays: Mapping[str, Array]) -> Call | None:
        if problem.epilogue is not None or not (problem.dtype.is_float or _is_int_mm(problem)):
            return None
        tensors = {role: self._tensor(array) for role, array in arrays.items()}
        if isinstance(problem, Gemm):
            return self._gemm(problem, tensors)
        return self._conv(problem, tensors)

    def _tensor(self, array: Array) -> Any:
        if array.dtype == BF16.numpy:
            return self._torch.from_numpy(array.view(np.int16)).view(self._torch.bfloat16)
        return self._torch.from_numpy(array)

    def _gemm(self, gemm: Gemm, tensors: Mapping[str, Any]) -> Call | None:
        if (gemm.alpha, gemm.beta) != (1.0, 0.0):
            return None
        a = tensors["a"].mT if gemm.transpose_a else tensors["a"]
        b = tensors["b"].mT if gemm.transpose_b else tensors["b"]
        product = self._torch.matmul if gemm.dtype.is_float else self._torch._int_mm
        return lambda: product(a, b, out=tensors["c"])

    def _conv(self, conv: Conv2d, tensors: Mapping[str, Any]) -> Call | None:
        order = {"nchwnkhowokcyx": "NCHW", "nhwcnhowokkyxc": "NHWC"}.get(_letters(conv))
        if order is None or conv.pad_h[0] != conv.pad_h[1] or conv.pad_w[0] != conv.pad_w[1]:
            return None
        filter_, input_, output = (
            tensors[role].permute(0, 3, 1, 2) if order == "NHWC" else tensors[role] for role in conv.roles
        )
        torch, pads = self._torch, (conv.pad_h[0], conv.pad_w[0])
        if conv.direction == "forward":
            return lambda: torch.conv2d(input_, filter_, None, conv.stride, pads, conv.dilation, conv.groups)
        mask = [conv.direction == "backward_data", conv.direction == "backward_weight", False]
        return lambda: torch.ops.aten.convolution_backward(
            output, input_, filter_, None, conv.stride, pads, conv.dilation, False, (0, 0), conv.groups, mask
        )


def _is_int_mm(problem: Problem) -> bool:
    """A product of i8 to i32, of matrices: torch's only function of whole numbers that sums in more bits."""
    return isinstance(problem, Gemm) and problem.dtype == I8 and problem.batch == 1


PEERS = ("numpy", "torch")
PACKAGES = {"torch": ("torch", "torch"), "lt": ("nvmath", "nvmath-python"), "triton": ("triton", "triton")}
"""The module that a peer is imported from, and what brings it."""

_SET_THREADS = (
    "scipy_openblas_set_num_threads64_",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
)

_GET_THREADS = tuple(name.replace("_set_", "_get_") for name in _SET_THREADS)


def peers(names: tuple[str, ...] = PEERS) -> list[Peer]:
    """Peers of these names that can be imported; a Diagnostic for a name that is nobody's."""
    found: list[Peer] = []
    for name in names:
        if name not in PEERS:
            raise Diagnostic(f"unknown peer '{name}'", hint=did_you_mean(name, PEERS) or f"known: {PEERS}")
        if name == "numpy":
            found.append(NumPy())
        elif importlib.util.find_spec("torch") is not None:
            found.append(Torch())
    return found


def uninstalled(names: Iterable[str]) -> dict[str, str]:
    """Peers among these that cannot be imported, each with the package that brings it."""
    needed = {name: PACKAGES[name] for name in names if name in PACKAGES}
    return {
        name: package
        for name, (module, package) in needed.items()
        if importlib.util.find_spec(module) is None
    }


def expect_installed(names: Sequence[str]) -> None:
    """A Diagnostic where one of these, which a user names, would be left out for want of its package."""
    for name, package in uninstalled(names).items():
        hint = f"pip install {package}, or name others"
        raise Diagnostic(f"the peer '{name}' needs {package}, which is not installed", hint=hint)


@contextmanager
def one_blas_thread() -> Generator[None]:
    """Keep NumPy's OpenBLAS at one thread in the block: others would wait, busily, beside what is timed."""
    before = [count() for count in _openblas(_GET_THREADS)]
    NumPy().set_threads(1)
    try:
        yield
    finally:
        for function, count in zip(_openblas(_SET_THREADS), before, strict=False):
            function(count)


def first_line(error: Exception) -> str:
    """What a peer said when it refused."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _letters(conv: Conv2d) -> str:
    """The layouts of input, output and filter in one word."""
    words = (conv.layout(role) for role in ("input", "output", "filter"))
    return "".join("".join(names).replace("hi", "h").replace("wi", "w") for names in words)


def _numpy_gemm(gemm: Gemm, arrays: Mapping[str, Array]) -> Call | None:
    if (gemm.alpha, gemm.beta) != (1.0, 0.0):
        return None
    a = arrays["a"].swapaxes(-1, -2) if gemm.transpose_a else arrays["a"]
    b = arrays["b"].swapaxes(-1, -2) if gemm.transpose_b else arrays["b"]
    return lambda: np.matmul(a, b, out=arrays["c"])


def _numpy_conv(conv: Conv2d, arrays: Mapping[str, Array]) -> Call | None:
    if conv.groups != 1 or _letters(conv) != "nchwnkhowokcyx":
        return None
    (sh, sw), (dh, dw), pads = conv.stride, conv.dilation, (conv.pad_h, conv.pad_w)
    filter_, input_, output = (arrays[role] for role in conv.roles)

    def call() -> None:
        padded = np.pad(input_, ((0, 0), (0, 0), *pads)) if any(map(any, pads)) else input_
        flat = output.reshape(conv.n, conv.k, -1)
        flat.fill(0)
        for y in range(conv.y):
            for x in range(conv.x):
                rows = slice(y * dh, y * dh + (conv.ho - 1) * sh + 1, sh)
                columns = slice(x * dw, x * dw + (conv.wo - 1) * sw + 1, sw)
                flat += filter_[:, :, y, x] @ padded[:, :, rows, columns].reshape(conv.n, conv.c, -1)

    return call


def _openblas(names: tuple[str, ...]) -> list[Callable[..., int]]:
    """The first of these functions in each OpenBLAS of this process; NumPy's wheels bring one."""
    try:
        maps = os.fsdecode(Path("/proc/self/maps").read_bytes())
    except OSError:
        return []
    found = [
        [function for name in names if (function := exported(ctypes.CDLL(path), name)) is not None]
        for path in mapped(maps, "openblas")
    ]
    return [functions[0] for functions in found if functions]


def mapped(maps: str, name: str) -> list[str]:
    """Paths of files that a process has mapped and that have `name` in theirs (proc_pid_maps(5)): what
    stands after five words, whatever spaces it has.
    """
    words = (line.split(maxsplit=5) for line in maps.splitlines())
    paths = {found[5] for found in words if len(found) == 6}
    return sorted(path for path in paths if name in path.rpartition("/")[2])
