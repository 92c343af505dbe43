"""A linked code object: its memory image, its symbols, its metadata.

Source: System V ABI, "Object Files" (ELF-64); LLVM, "User Guide for AMDGPU Backend", sections "ELF Code
Object" and "Relocation Records".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from imbrex.cdna.generation import machines
from imbrex.cdna.msgpack import unpacked
from imbrex.diagnostic import Diagnostic

__all__ = ["Elf", "Relocation", "Section", "read_elf"]

_AMDGPU = 224
_RELA, _NOTE, _DYNAMIC_SYMBOLS, _LOAD, _CODE = 4, 7, 11, 1, 4
_METADATA = 32
_ABSOLUTE_64, _RELATIVE_64 = 3, 13


@dataclass(frozen=True, slots=True)
class Section:
    """address: in the image.  kind, flags: sh_type and sh_flags."""

    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True, slots=True)
class Relocation:
    """The 8 bytes at `address` become base + `value`."""

    address: int
    value: int


@dataclass(frozen=True)
class Elf:
    """image: memory as the loader lays it out, before relocation.  symbols: name -> address in it."""

    chip: str
    image: bytes
    symbols: Mapping[str, int]
    relocations: tuple[Relocation, ...]
    code: Section
    metadata: Mapping[str, Any]


def read_elf(data: bytes) -> Elf:
    """What a code object holds; a Diagnostic where it is none, or of no known chip."""
    if data[:4] != b"\x7fELF" or len(data) < 64 or struct.unpack_from("<H", data, 18)[0] != _AMDGPU:
        raise Diagnostic("this is no code object of an AMD GPU")
    flags = struct.unpack_from("<I", data, 48)[0]
    if flags & 0xFF not in machines():
        known = ", ".join(machines().values())
        raise Diagnostic(f"the code object is for machine 0x{flags & 0xFF:x}, which is none of {known}")
    sections = _sections(data)
    symbols = dict(_symbols(data, sections))
    by_number = list(symbols.values())
    code = next(s for s in sections if s.flags & _CODE)
    return Elf(
        machines()[flags & 0xFF],
        _image(data),
        {name: address for name, address in by_number if name},
        tuple(_relocations(data, sections, by_number)),
        code,
        _metadata(data, sections),
    )


def _sections(data: bytes) -> list[Section]:
    start, (size, count) = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<HH", data, 58)
    found: list[Section] = []
    for k in range(count):
        row = struct.unpack_from("<IIQQQQIIQQ", data, start + k * size)
        found.append(Section(row[1], row[2], row[3], row[4], row[5], row[6]))
    return found


def _image(data: bytes) -> bytes:
    start, (size, count) = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<HH", data, 54)
    rows = [struct.unpack_from("<IIQQQQQQ", data, start + k * size) for k in range(count)]
    loaded = [row for row in rows if row[0] == _LOAD]
    image = bytearray(max(row[3] + row[6] for row in loaded))
    for _, _, offset, address, _, in_file, _, _ in loaded:
        image[address : address + in_file] = data[offset : offset + in_file]
    return bytes(image)


def _symbols(data: bytes, sections: list[Section]) -> Iterator[tuple[int, tuple[str, int]]]:
    """Number, name and address of each dynamic symbol."""
    table = next(s for s in sections if s.kind == _DYNAMIC_SYMBOLS)
    names = sections[table.link].offset
    for k in range(table.size // 24):
        name, _, _, _, address, _ = struct.unpack_from("<IBBHQQ", data, table.offset + 24 * k)
        text = data[names + name : data.index(b"\0", names + name)].decode()
        yield k, (text, address)


def _relocations(
    data: bytes, sections: list[Section], symbols: list[tuple[str, int]]
) -> Iterator[Relocation]:
    for section in sections:
        for k in range(section.size // 24 if section.kind == _RELA else 0):
            address, info, addend = struct.unpack_from("<QQq", data, section.offset + 24 * k)
            kind = info & 0xFFFFFFFF
            assert kind in (_ABSOLUTE_64, _RELATIVE_64), f"relocation {kind} at 0x{address:x}"
            start = symbols[info >> 32][1] if kind == _ABSOLUTE_64 else 0
            yield Relocation(address, start + addend)


def _metadata(data: bytes, sections: list[Section]) -> Mapping[str, Any]:
    for section in sections:
        at, end = section.offset, section.offset + section.size
        while section.kind == _NOTE and at < end:
            name, size, kind = struct.unpack_from("<III", data, at)
            at += 12 + (name + 3 & ~3)
            if kind == _METADATA:
                return unpacked(data[at : at + size])
            at += size + 3 & ~3
    raise Diagnostic("the code object says nothing of its kernels")
