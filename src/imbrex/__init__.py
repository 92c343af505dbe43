"""Imbrex: convolutions and matrix products as readable, verified kernel source.

Each name is imported when it is first used, so that `import imbrex` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imbrex.version import __version__

if TYPE_CHECKING:
    from imbrex.diagnostic import Diagnostic
    from imbrex.function.conv import conv2d, conv2d_backward_data, conv2d_backward_weight
    from imbrex.function.gemm import gemm
    from imbrex.kernel import Kernel
    from imbrex.kernel.warm import warm
    from imbrex.problem import Conv2d, Gemm, parse_problem, problem_text
    from imbrex.tuner.interface import compile, tune

__all__ = [
    "Conv2d",
    "Diagnostic",
    "Gemm",
    "Kernel",
    "__version__",
    "compile",
    "conv2d",
    "conv2d_backward_data",
    "conv2d_backward_weight",
    "gemm",
    "parse_problem",
    "problem_text",
    "tune",
    "warm",
]

_HOMES = {
    "imbrex.diagnostic": ("Diagnostic",),
    "imbrex.function.conv": ("conv2d", "conv2d_backward_data", "conv2d_backward_weight"),
    "imbrex.function.gemm": ("gemm",),
    "imbrex.kernel": ("Kernel",),
    "imbrex.kernel.warm": ("warm",),
    "imbrex.problem": ("Conv2d", "Gemm", "parse_problem", "problem_text"),
    "imbrex.tuner.interface": ("compile", "tune"),
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(home), name)
            return value
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
