"""Units of device code, compiled once: the same library, one object for all kernels of a target."""

from __future__ import annotations

from pathlib import Path

from imbrex.build.cache import Cache
from imbrex.build.device_units import device_objects
from imbrex.build.isa import host_isa
from imbrex.build.shared_library import build_shared
from imbrex.build.toolchain import compile_shared, find_compiler

DEVICE = {
    "device/machine.cpp": '#include "device/turn.h"\nint turn(int x) { return x + TURN; }\n',
    "device/turn.h": "#define TURN 3\nint turn(int x);\n",
}


def kernel(number: int) -> dict[str, str]:
    return {
        "kernel.cpp": f'#include "device/turn.h"\nextern "C" int f() {{ return turn({number}); }}\n'
    } | DEVICE


def test_the_library_is_the_same_and_the_unit_is_compiled_once(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        whole = compile_shared(kernel(number), tmp_path / str(number))
        assert build_shared(kernel(number), cache=cache).path.read_bytes() == whole.read_bytes()
    assert len(cache.entries()) == 3, "two libraries and one object"


def test_another_header_or_flag_makes_another_object(tmp_path: Path) -> None:
    words = (find_compiler(), host_isa(), Cache(tmp_path / "cache"))
    other = DEVICE | {"device/turn.h": DEVICE["device/turn.h"].replace("3", "4")}
    made = [device_objects(sources, flags, *words) for sources, flags in
            ((DEVICE, ()), (other, ()), (DEVICE, ("-O1",)), (kernel(5), ()))]  # fmt: skip
    assert [set(objects) for objects in made] == [{"device/machine.cpp"}] * 4
    paths = [objects["device/machine.cpp"] for objects in made]
    assert len(set(paths)) == 3 and paths[0] == paths[3]


def test_who_has_no_such_unit_gets_none(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    sources = {"kernel.cpp": "int f;", "device/turn.h": DEVICE["device/turn.h"]}
    assert device_objects(sources, (), find_compiler(), host_isa(), cache) == {}
    assert cache.entries() == []
