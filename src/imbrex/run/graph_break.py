"""Graph break: what torch.compile does at a call of a function that is none of its ops.

Law: torch is not imported here.  Its compiler looks for marks on a function, and ends its graph there, or
says why it cannot; whatever the function calls then runs as it would without a compiler.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

__all__ = ["outside_graphs"]

P = ParamSpec("P")
R = TypeVar("R")
LOADED: Final = sys.modules
COMPILER: Final = "torch._dynamo"
FRAMES: Final = "torch._C._dynamo.eval_frame"
REASON: Final = "no graph holds calls of kernels by arrays; the ops of imbrex.torch may stand in one"


def outside_graphs(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose frames torch.compile does not trace."""
    untraced: list[Callable[P, R]] = []
    quickly: Any = function  # without words by name, of which there mostly are none

    @wraps(function)
    def call(*given: P.args, **named: P.kwargs) -> R:
        if COMPILER not in LOADED or not (
            LOADED[COMPILER].is_compiling()  # first, since the tracer knows that it is
            or _hook() is not None
        ):
            return function(*given, **named) if named else quickly(*given)
        if not untraced:
            untraced.append(LOADED[COMPILER].disable(function))
        return untraced[0](*given, **named)

    call.__dict__.update(_torchdynamo_disable=True, _torchdynamo_disable_msg=REASON)
    return call


def _hook() -> Any:
    """What torch.compile sets where it looks at each frame; an object where torch does not say."""
    return getattr(LOADED[FRAMES], "get_eval_frame_callback", object)()
