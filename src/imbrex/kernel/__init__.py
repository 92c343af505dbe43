"""Kernel: a problem compiled for a target, ready to be called on arrays.

goal      what a kernel is built for
options   a problem and all that may be chosen about its kernel, checked
key       what decides a kernel's code, as a key of the cache
recipe    what a problem became, as the cache keeps it
built     how its library was built
compiled  the kernel: its files, its report, and calls on arrays
make      `compile`: from the cache, or by the whole compiler
"""

from imbrex.kernel.compiled import Kernel
from imbrex.kernel.goal import CPU, Emulate, Goal, goal, targets
from imbrex.kernel.make import compile
from imbrex.kernel.options import default_name

__all__ = [
    "CPU",
    "Emulate",
    "Goal",
    "Kernel",
    "compile",
    "default_name",
    "goal",
    "targets",
]
