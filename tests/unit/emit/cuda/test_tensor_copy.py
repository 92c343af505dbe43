"""Copies of boxes in every number of dimensions: PTX's instruction for it, with each operand in its place.

The syntax is that of cp.async.bulk.tensor in NVIDIA's PTX ISA, 8.0.
"""

from __future__ import annotations

import re

import pytest

from imbrex.build.nvidia.nvrtc import in_memory
from imbrex.emit.bundle import device_headers

nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC compiles for NVIDIA GPUs")

COPY, BYTES = "cp.async.bulk.tensor", "mbarrier::complete_tx::bytes"
TILES, IMAGES = range(1, 6), range(3, 6)
KERNEL = """extern "C" __global__ void {name}({parameters}) {{
  const imbrex::coordinates<{rank}> c = {{{c}}};
  {offsets}
  imbrex::{call};
}}
"""


def listed(letter: str, count: int) -> str:
    return ", ".join(f"{letter}{i}" for i in range(count))


def instructions() -> dict[str, tuple[str, str]]:
    """By kernel: the call, and what PTX has for it."""
    found: dict[str, tuple[str, str]] = {}
    for rank in TILES:
        array = f"[map, {{{listed('c', rank)}}}]"
        load = f"{COPY}.{rank}d.shared::cluster.global.tile.{BYTES}"
        store = f"{COPY}.{rank}d.global.shared::cta.tile.bulk_group"
        found |= {
            f"load_{rank}": ("load(to, map, barrier, c)", f"{load} [to], {array}, [barrier];"),
            f"load_shared_{rank}": (
                "load(to, map, barrier, c, mask)",
                f"{load}.multicast::cluster [to], {array}, [barrier], mask;",
            ),
            f"store_{rank}": ("store(map, to, c)", f"{store} {array}, [to];"),
        }
    for rank in IMAGES:
        walk = f"{COPY}.{rank}d.shared::cluster.global.im2col.{BYTES}"
        places = f"[map, {{{listed('c', rank)}}}], [barrier], {{{listed('o', rank - 2)}}}"
        found |= {
            f"walk_{rank}": ("walk(to, map, barrier, c, o)", f"{walk} [to], {places};"),
            f"walk_shared_{rank}": (
                "walk(to, map, barrier, c, o, mask)",
                f"{walk}.multicast::cluster [to], {places}, mask;",
            ),
        }
    return found


PARAMETERS = {
    "to": "uint32_t",
    "map": "const imbrex::tensor_map *",
    "barrier": "uint32_t",
    "mask": "uint16_t",
}
PARAMETERS |= {f"c{i}": "int32_t" for i in range(5)} | {f"o{i}": "uint16_t" for i in range(3)}


def kernel(name: str, call: str) -> str:
    rank = int(name[-1])
    offsets = f"const imbrex::offsets<{rank - 2}> o = {{{listed('o', rank - 2)}}};" if "walk" in name else ""
    parameters = ", ".join(f"{kind} {word}" for word, kind in PARAMETERS.items())
    return KERNEL.format(
        name=name, parameters=parameters, rank=rank, c=listed("c", rank), offsets=offsets, call=call
    )


@pytest.fixture(scope="module")
def ptx() -> dict[str, str]:
    """The text of each kernel's assembly, its registers by the names of the arguments that they hold."""
    text = "".join(kernel(name, call) for name, (call, _) in instructions().items())
    unit = f'#include "device/cuda/ptx/tensor_copy.h"\n{text}'
    sources = in_memory({**device_headers("sm_90a"), "all.cu": unit})
    headers = {name: source for name, source in sources.items() if name != "all.cu"}
    _, program = nvrtc.nvrtcCreateProgram(
        sources["all.cu"].encode(), b"all.cu", len(headers),
        [source.encode() for source in headers.values()], [name.encode() for name in headers],
    )  # fmt: skip
    flags = [b"--gpu-architecture=compute_90a", b"-std=c++17", b"-no-source-include", b"-default-device"]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), flags)
    assert int(status) == 0
    _, size = nvrtc.nvrtcGetPTXSize(program)
    data = bytes(size)
    nvrtc.nvrtcGetPTX(program, data)
    nvrtc.nvrtcDestroyProgram(program)
    bodies = re.findall(r"\.entry (\w+)\((.*?)\n}", data.decode(), re.S)
    return {name: _named(body) for name, body in bodies}


def _named(body: str) -> str:
    arguments = [*PARAMETERS]
    held = {
        r: arguments[int(i)] for r, i in re.findall(r"ld\.param\.\w+\s+(%\w+), \[\w+_param_(\d+)\]", body)
    }
    inline = "".join(re.findall(r"// begin inline asm\n(.*?)// end inline asm", body, re.S))
    return " ".join(re.sub(r"%\w+", lambda register: held[register[0]], inline).split())


@pytest.mark.parametrize("name", instructions())
def test_operands_are_in_their_places(name: str, ptx: dict[str, str]) -> None:
    _, want = instructions()[name]
    assert ptx[name] == want
