"""References into buffers as C: pointers, elements, and whether they exist."""

from __future__ import annotations

from imbrex.emit import c
from imbrex.lower.stmt import Ref


def pointer(ref: Ref) -> str:
    """The address of the first element."""
    at = c.index(ref.offset)
    if at == "0":
        return ref.buffer.name
    return f"{ref.buffer.name} + {at if at.isalnum() else f'({at})'}"


def element(ref: Ref) -> str:
    return f"{ref.buffer.name}[{c.index(ref.offset)}]"


def guarded_pointer(ref: Ref) -> str:
    """Two arguments: a pointer, and whether there is something."""
    exists = [c.guard(g) for g in ref.guards]
    if ref.missing is not None:
        word = element(Ref(ref.missing.buffer, ref.missing.offset))
        exists.append(f"!({word} >> ({c.index(ref.missing.bit)}) & 1)")
    return f"{pointer(ref)}, {' && '.join(exists) or 'true'}"
