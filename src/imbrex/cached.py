"""Cached: a property that an object computes once, and the hash of one that is a key many times.

Law: no thread waits for another one.  functools' own, before Python 3.12, holds a lock of the class while it
computes, so that two threads whose values ask for each other's waited for good.  Two threads may compute a
value at the same time: it follows from what does not change, and either one's is as good.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["cached_property", "keeps_hash"]

T = TypeVar("T")
_KEPT = "_hash"


def keeps_hash(of: type[T]) -> type[T]:
    """The same frozen class, whose objects compute their hash once.  It does not go with them to another
    process, where texts have other hashes.
    """
    computed = of.__hash__

    def kept(self: T) -> int:
        known = self.__dict__
        found = known.get(_KEPT)
        if found is None:
            found = known[_KEPT] = computed(self)
        return found

    def state(self: T) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != _KEPT}

    setattr(of, "__hash__", kept)  # noqa: B010
    setattr(of, "__getstate__", state)  # noqa: B010
    return of


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
