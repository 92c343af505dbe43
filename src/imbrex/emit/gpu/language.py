"""Language: how one language for GPUs writes and launches kernels, as a table of texts and functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from imbrex.lower.stmt import Kernel, Program


@dataclass(frozen=True)
class Extra:
    """A parameter of a kernel before its arrays, which the host makes.

    kernel, function: its declarations, in the kernel and in the function that holds the kernel's body.
    """

    name: str
    kernel: str
    function: str


def no_extras(kernel: Kernel) -> Sequence[Extra]:
    """Where arrays are all that a kernel takes."""
    return ()


@dataclass(frozen=True)
class Language:
    """api: what the names of the host's functions start with, as in `hipMemsetAsync`.

    unit: the end of the name of the file with the kernels.
    has_runtime: the preprocessor's line that asks whether these functions are there.
    workgroup, workitem: their numbers.  pointer: the qualifier of arrays, with a space after it.
    knows_workitem: that the work item's number is one of the block's.
    extra_type: of the host's array of what kernels take besides arrays.
    headers: what the kernels include.  preamble: what stands before all kernels, and before one.
    statements: the body of a kernel.  attributes: of a kernel, after `__global__ void`.
    geometry: what a launch needs, by the names of the solver's functions.
    launch: the lines of the host that launch a kernel with these arguments.
    """

    api: str
    unit: str
    has_runtime: str
    workgroup: str
    workitem: str
    headers: Callable[[Program], Sequence[str]]
    preamble: Callable[[Program], Sequence[str]]
    statements: Callable[[Kernel], Sequence[str]]
    attributes: Callable[[Kernel], str]
    geometry: Callable[[Kernel], Mapping[str, int]]
    launch: Callable[[Kernel, str], Sequence[str]]
    definitions: Callable[[Kernel], Sequence[str]]
    extras: Callable[[Kernel], Sequence[Extra]] = no_extras
    extra_type: str = ""
    knows_workitem: bool = False
    pointer: str = ""
