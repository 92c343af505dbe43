"""Packs of device/common/packed.h have the bytes of their elements, those of the other matrix too."""

from __future__ import annotations

import ctypes
import re

from imbrex.build.shared_library import build_shared
from imbrex.dtype import DTYPES, dtype
from imbrex.emit.bundle import device_headers

HEADER = "device/common/packed.h"


def test_packs_have_the_bytes_of_their_elements() -> None:
    text = device_headers("gfx950")[HEADER]
    names = re.findall(r"using (\w+)_x(\d+) =", text)
    assert {(str(row.operands[0]), str(row.pack)) for row in DTYPES.values() if row.pack > 1} <= set(names)
    declared = " ".join(f"struct {single};" for single in {single for single, _ in names})
    lines = [
        f'extern "C" int {single}_x{count}() {{ return sizeof(imbrex::{single}_x{count}); }}'
        for single, count in names
    ]
    head = ["#include <stdint.h>", f"namespace imbrex {{ {declared} }}", f'#include "{HEADER}"']
    library = build_shared({HEADER: text, "unit.cpp": "\n".join([*head, *lines, ""])})
    found = ctypes.CDLL(str(library.path))
    for single, count in names:
        assert found[f"{single}_x{count}"]() * 8 == dtype(single).bits * int(count), (single, count)
