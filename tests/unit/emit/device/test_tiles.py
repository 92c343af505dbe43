"""Tiles of AMX as Linux lets a process have them, and as they are configured: by number, on any machine."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

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


LAYOUT = """
#include "device/cpu/amx/tile.h"
using imbrex::amx::configuration;
static_assert(sizeof(configuration) == 64 && alignof(configuration) == 64);
static_assert(__builtin_offsetof(configuration, palette) == 0);
static_assert(__builtin_offsetof(configuration, start_row) == 1);
static_assert(__builtin_offsetof(configuration, row_bytes) == 16);
static_assert(__builtin_offsetof(configuration, rows) == 48);
"""
"""Bytes as LDTILECFG reads them, one line of the cache (Intel SDM, volume 2)."""


def test_a_configuration_has_its_places() -> None:
    sources = {"layout.cpp": LAYOUT, **device_headers("cpu")}
    assert build_shared(sources, isa=target_of("amx").isa).path.exists()


def defined(header: str, name: str) -> int:
    """What the headers of Linux have that come with the compiler."""
    ziglang = find_spec("ziglang")
    assert ziglang is not None and ziglang.origin is not None
    text = (Path(ziglang.origin).parent / "lib/libc/include/x86-linux-any/asm" / header).read_text("utf-8")
    (number,) = re.findall(rf"^#define {name}\s+(\w+)", text, re.M)
    return int(number, 0)
