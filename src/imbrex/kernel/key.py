"""Keys of the cache: what decides a kernel's code, and nothing else.

Law: orders of one key have one code.  A GPU's code is the same on every host: the instructions of this CPU
are in keys of what runs on it, its threads and caches where the model chooses for it.
"""

from __future__ import annotations

from imbrex.build.nvidia.cubin import compiler_version
from imbrex.build.shared import recipe_key
from imbrex.build.toolchain import find_compiler
from imbrex.kernel.order import Order
from imbrex.problem import problem_text
from imbrex.run.machine import machine

__all__ = ["key_of"]


def key_of(order: Order) -> str:
    """The key under which the cache remembers what an order became."""
    return recipe_key(problem_text(order.problem), f"{order.text}{_host(order)}", builder=_builder(order))


def _host(order: Order) -> str:
    """The numbers of this machine that the model of a CPU chooses by, where it does."""
    if order.goal.target != "cpu" or order.config is not None:
        return ""
    here = machine()
    return f" threads={order.threads} l2={here.l2_bytes} l3={here.l3_bytes}"


def _builder(order: Order) -> tuple[str, ...] | None:
    """The compiler of a GPU's code; None for the C++ compiler and the instructions of this CPU."""
    if order.goal.is_native:
        return None
    return (compiler_version() if order.goal.is_cuda else find_compiler("zig").version,)
