"""Cached: a property that an object computes once.

Law: no thread waits for another one.  functools' own, before Python 3.12, holds a lock of the class while it
computes, so that two threads whose values ask for each other's waited for good.  Two threads may compute a
value at the same time: it follows from what does not change, and either one's is as good.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:
        """What functools has since Python 3.12."""

        def __init__(self, func: Callable[[Any], Any]) -> None:
            self.func, self.__doc__ = func, func.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.name] = self.func(instance)
            return value
