"""xdsl's finder of modules, which every import of this process asks once xdsl is there.

Law: it knows of a module or it does not.  It looks into the working directory, and where that was removed it
would raise FileNotFoundError out of any import of what is not there, those of Python's own modules as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from typing import Any

from xdsl.utils.dialect_loader import IRDLDialectFinder

__all__ = ["calm"]

_find_spec: Any = IRDLDialectFinder.find_spec


def calm() -> None:
    """Lets the finder know of nothing where there is no working directory."""
    IRDLDialectFinder.find_spec = _found


def _found(
    self: IRDLDialectFinder, fullname: str, path: Sequence[str] | None, target: Any = None
) -> ModuleSpec | None:
    try:
        found: ModuleSpec | None = _find_spec(self, fullname, path, target)
    except FileNotFoundError:
        return None
    return found
