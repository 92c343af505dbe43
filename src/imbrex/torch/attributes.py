"""Attributes: what a forward may read of its module beside parameters, buffers and children, as a flag.

Law: a traced graph has such values as constants, so that it stands for the forward while they are the same:
plain values that are equal, and else the same objects, which hold the same objects.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

__all__ = ["Attributes"]

torch: Any = import_module("torch")

PLAIN: Final = (bool, int, float, complex, str, bytes, type(None))
"""Types whose values are compared, and not the objects."""
_HELD: Final = (list, dict, set, deque)
_PROGRAM: Final = "_imbrex_program"
"""What a fused container keeps of this, from its first call on."""
_OF_TORCH: Final = frozenset(torch.nn.Module().__dict__) | {"imbrex_chains", _PROGRAM}


class Attributes:
    """Attributes of a module as they were when this was made."""

    def __init__(self, module: Any) -> None:
        self.now: Mapping[str, Any] = module.__dict__
        self.of: Any = type(module)
        then = {name: value for name, value in self.now.items() if name not in _OF_TORCH}
        self.plain = tuple((name, value) for name, value in then.items() if type(value) in PLAIN)
        others = [(name, value) for name, value in then.items() if type(value) not in PLAIN]
        self.others: Sequence[tuple[str, Any, Sequence[Any]]] = tuple(
            (name, value, _held(value)) for name, value in others
        )
        self.names = frozenset(then)
        self.count = len(self.now) + (_PROGRAM not in self.now)

    def is_same(self) -> bool:
        """Would the module's forward read the same?  Of torch.compile, which asks for plain values anew."""
        now = self.now
        for name, value in self.plain:
            if name not in now or type(now[name]) is not type(value) or now[name] != value:
                return False
        if torch.compiler.is_compiling():
            return True
        for name, value, held in self.others:
            if now.get(name) is not value:
                return False
            inner = _held(value)
            if len(inner) != len(held) or any(a is not b for a, b in zip(inner, held, strict=True)):
                return False
        if len(now) == self.count:
            return True
        return not any(hasattr(self.of, name) for name in now.keys() - _OF_TORCH - self.names)


def _held(value: Any) -> list[Any]:
    """What an object holds: elements, keys and values, or attributes."""
    if isinstance(value, torch.Tensor | torch.nn.Module | type):
        return []
    if isinstance(value, _HELD):
        return [*value, *(value.values() if isinstance(value, dict) else ())]
    attributes: dict[str, Any] = getattr(value, "__dict__", {})
    return [*attributes, *attributes.values()]
