"""MessagePack, as much of it as the metadata of code objects is written in: maps, lists, text, whole numbers.

Source: the MessagePack specification, section "Formats"; LLVM, "User Guide for AMDGPU Backend", section "Code
Object V3 and Above Metadata".
"""

from __future__ import annotations

from typing import Any

__all__ = ["unpacked"]

_LENGTH_BYTES = {0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}


def unpacked(data: bytes) -> Any:
    """The value that `data` begins with."""
    return _value(data, 0)[0]


def _value(data: bytes, at: int) -> tuple[Any, int]:
    """A value, and where the next one begins."""
    code = data[at]
    at += 1
    if code < 0x80:
        return code, at
    if code >= 0xE0:
        return code - 0x100, at
    if code in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[code], at
    if 0xCC <= code <= 0xD3:
        size = 1 << (code & 3)
        return int.from_bytes(data[at : at + size], "big", signed=code >= 0xD0), at + size
    if code < 0xC0:
        kind, count = ("map", code & 15) if code < 0x90 else ("list", code & 15)
        return _many("text" if code >= 0xA0 else kind, code & 31 if code >= 0xA0 else count, data, at)
    assert code in _LENGTH_BYTES, f"metadata has the type 0x{code:x}"
    size = _LENGTH_BYTES[code]
    kind = "text" if code <= 0xDB else "list" if code <= 0xDD else "map"
    return _many(kind, int.from_bytes(data[at : at + size], "big"), data, at + size)


def _many(kind: str, count: int, data: bytes, at: int) -> tuple[Any, int]:
    if kind == "text":
        return data[at : at + count].decode(), at + count
    found: list[Any] = []
    for _ in range(2 * count if kind == "map" else count):
        one, at = _value(data, at)
        found.append(one)
    return (dict(zip(found[::2], found[1::2], strict=True)) if kind == "map" else found), at
