"""The core: C++ that executes instructions, compiled once and kept like a kernel; its structs by field.

Law: the fields stand in the order of `core/state.h`; sizes are compared when the library is loaded.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from imbrex.build.shared_library import build_shared

__all__ = [
    "FAULTS",
    "FaultStruct",
    "InstructionStruct",
    "LaunchStruct",
    "OperandStruct",
    "OutcomeStruct",
    "RegionStruct",
    "SettingsStruct",
    "core",
    "row_number",
]

FLAGS = ("-ffp-contract=off", "-fmath-errno", "-fvisibility=hidden")
"""Each operation rounds as the instruction does; ldexp is a call, as clang 22 ends with a trap where it makes
instructions of it on CPUs that have AVX512-FP16.
"""

FAULTS = (
    "nothing", "memory", "lds", "scratch", "unknown", "too long", "jump", "trap", "operand",
    "hang", "alignment", "lanes", "read after write", "write after write", "write after read",
)  # fmt: skip
"""Machines by number."""

_I, _U, _L, _Q = ctypes.c_int32, ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64


def _fields(of: type, names: str) -> list[tuple[str, type]]:
    return [(name, of) for name in names.split()]


class OperandStruct(ctypes.Structure):
    _fields_ = [
        *_fields(_I, "kind index count negative absolute is_signed select unused"),
        ("integer", _L),
        ("real", ctypes.c_double),
    ]


class InstructionStruct(ctypes.Structure):
    _fields_ = [
        *_fields(_I, "row operands"),
        ("o", OperandStruct * 7),
        *_fields(_I, "offset offset0 offset1 clamp omod op_sel op_sel_hi neg_lo neg_hi"),
        *_fields(_I, "sdwa dst_sel dst_unused dpp dpp_argument row_mask bank_mask bound_ctrl"),
        *_fields(_I, "cbsz abid blgp flags simm"),
        *_fields(_I, "target bitop3 m n k a_type b_type c_type byte_sel first"),
        ("address", _L),
    ]


class RegionStruct(ctypes.Structure):
    _fields_ = _fields(_Q, "low high")


class SettingsStruct(ctypes.Structure):
    _fields_ = [
        *_fields(_Q, "scratch scratch_bytes code_base seed"),
        *_fields(_L, "code_low code_words most_steps"),
        *_fields(_I, "chip lds_bytes is_deferred finds_races flushes regions seats"),
        ("region", ctypes.POINTER(RegionStruct)),
        ("at", ctypes.c_void_p),
    ]


class LaunchStruct(ctypes.Structure):
    _fields_ = [
        ("grid", _I * 3),
        ("block", _I * 3),
        ("users", _I),
        ("user", _I * 64),
        *_fields(_I, "group_x group_y group_z group_info scratch_offset flat_scratch entry"),
    ]


class FaultStruct(ctypes.Structure):
    kind: int
    wave: int
    lane: int
    bytes: int
    other: int
    instruction: int
    group: Sequence[int]
    address: int
    _fields_ = [
        *_fields(_I, "kind wave lane bytes other instruction"),
        ("group", _I * 3),
        ("unused", _I),
        ("address", _Q),
    ]


class OutcomeStruct(ctypes.Structure):
    _fields_ = [("steps", _L), ("race_bytes", _L), ("fault", FaultStruct), ("race", FaultStruct)]


@cache
def core() -> ctypes.CDLL:
    """The library, compiled where the cache has none."""
    folder = files("imbrex.cdna") / "core"
    sources = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
    library = ctypes.CDLL(str(build_shared(sources, flags=FLAGS).path))
    library.imbrex_cdna_bytes.restype = _L
    library.imbrex_cdna_bytes.argtypes = [_I, _L, _L]
    library.imbrex_cdna_row.argtypes = [ctypes.c_char_p]
    structs: Sequence[type[ctypes.Structure]] = (
        OperandStruct, InstructionStruct, SettingsStruct, LaunchStruct, OutcomeStruct,
    )  # fmt: skip
    for number, struct in enumerate(structs):
        size = library.imbrex_cdna_bytes(number, 0, 0)
        assert size == ctypes.sizeof(struct), (
            f"{struct.__name__} has {ctypes.sizeof(struct)} bytes, not {size}"
        )
    return library


@cache
def row_number(name: str) -> int:
    """Number in the core of what is to be done; -1 where nobody knows how."""
    return core().imbrex_cdna_row(name.encode())
