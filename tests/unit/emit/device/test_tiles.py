"""Tiles of AMX as Linux lets a process have them, and as they are configured: by number, on any machine."""

from __future__ import annotations

import ctypes
import re
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from imbrex.build.isa import host_isa
from imbrex.build.shared_library import build_shared
from imbrex.emit.bundle import device_headers
from imbrex.kernel.target import target_of

XTILEDATA = 18
"""State component of the tiles' data (Intel SDM, volume 1, 13.1)."""


def test_the_system_call_has_linuxs_numbers() -> None:
    text = device_headers("cpu")["device/cpu/amx/tile.h"]
    (line,) = re.findall(r"constexpr long ask_for_state = .*", text)
    numbers = {name: int(number, 0) for name, number in re.findall(r"(\w+) = (\w+)", line)}
    assert numbers["tiles"] == XTILEDATA and numbers["never_asked"] > 0, "answers are 0 and negative ones"
    assert numbers["ask_for_state"] == defined("prctl.h", "ARCH_REQ_XCOMP_PERM")
    assert numbers["arch_prctl"] == defined("unistd_64.h", "__NR_arch_prctl")


TILES = """
#include "device/cpu/amx/tile.h"
using imbrex::amx::configuration;
static_assert(sizeof(configuration) == 64 && alignof(configuration) == 64);
static_assert(__builtin_offsetof(configuration, palette) == 0);
static_assert(__builtin_offsetof(configuration, start_row) == 1);
static_assert(__builtin_offsetof(configuration, row_bytes) == 16);
static_assert(__builtin_offsetof(configuration, rows) == 48);
extern "C" long refused() { return imbrex::amx::refused(); }
"""
"""A configuration's bytes as LDTILECFG reads them, one line of the cache (Intel SDM, volume 2)."""


@cache
def tiles() -> Path:
    return build_shared({"tiles.cpp": TILES, **device_headers("cpu")}, isa=target_of("amx").isa).path


def test_a_configuration_has_its_places() -> None:
    assert tiles().exists()


@pytest.mark.skipif(
    sys.platform != "linux" or host_isa().arch != "x86_64", reason="Linux on x86-64 alone is asked for tiles"
)
def test_the_answer_is_linuxs() -> None:
    refused, linux = ctypes.CDLL(str(tiles())).refused, ctypes.CDLL(None, use_errno=True)
    refused.restype = ctypes.c_long
    numbers = defined("unistd_64.h", "__NR_arch_prctl"), defined("prctl.h", "ARCH_REQ_XCOMP_PERM")
    was = linux.syscall(*numbers, XTILEDATA)
    assert [refused() for _ in range(2)] == [-ctypes.get_errno() if was else 0] * 2


def defined(header: str, name: str) -> int:
    """What the headers of Linux have that come with the compiler."""
    ziglang = find_spec("ziglang")
    assert ziglang is not None and ziglang.origin is not None
    text = (Path(ziglang.origin).parent / "lib/libc/include/x86-linux-any/asm" / header).read_text("utf-8")
    (number,) = re.findall(rf"^#define {name}\s+(\w+)", text, re.M)
    return int(number, 0)
