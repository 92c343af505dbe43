"""Kernel: a problem compiled for a target, ready to be called on arrays.

target    what a kernel is built for
constraints  what a caller says of the configuration
options   what `compile` is told, and the request that it makes of the compiler
key       what decides a kernel's code, as a key of the cache
recipe    what a problem became, as the cache keeps it
built     how its library was built
compiled  the kernel: its files, its report, and calls on arrays
make      `compile`: from the cache, or by the whole compiler
warm      `warm`: many at once, in processes side by side
"""

from imbrex.kernel.compiled import Kernel
from imbrex.kernel.make import compile
from imbrex.kernel.options import default_name
from imbrex.kernel.target import CPU, Emulate, Target, target_of, targets

__all__ = [
    "CPU",
    "Emulate",
    "Kernel",
    "Target",
    "compile",
    "default_name",
    "target_of",
    "targets",
]
