"""Products over packed arrays: the tile kernel of a type on a chip, and the tuning that goes with it."""

from __future__ import annotations

from typing import Final

from imbrex.chip import VECTOR_BYTES, GpuMachine, Machine
from imbrex.config.xdlops import mfma
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.view.swizzle import TileKernel, kernel_name

__all__ = ["ALGORITHM", "data_tiled_tuning", "in_full", "usual_kernel"]

ALGORITHM: Final = "data_tiled"
EDGE: Final = 16


def in_full(algorithm: str, dtype: DType, machine: Machine) -> str:
    """`data_tiled:NAME`, the name filled in where the algorithm leaves it to the type and the machine.

    A Diagnostic for machines without matrix instructions of the type.
    """
    _, _, name = algorithm.partition(":")
    assert isinstance(machine, GpuMachine), "the table wants waves"
    return f"{ALGORITHM}:{name or kernel_name(usual_kernel(dtype, machine.chip))}"


def usual_kernel(dtype: DType, chip: str) -> TileKernel:
    """The seeds' tile of 8 x 8 instructions of 16 x 16, shared by four waves, with the chip's fastest
    instruction for the type; unrolled along k until a lane loads 16 bytes at once.  A Diagnostic where the
    chip has none.
    """
    found = [i for i in mfma.eligible(dtype, chip) if i.blocks == 1 and i.m == i.n == EDGE]
    if not found:
        raise Diagnostic(f"no matrix instruction of {chip} multiplies {dtype.name} in tiles of {EDGE}x{EDGE}")
    fastest = max(found, key=lambda i: i.flops / i.cycles[chip])
    unroll_k = max(1, VECTOR_BYTES // (fastest.a_elements * dtype.bytes))
    return TileKernel(fastest, (4, 4, unroll_k), (2, 2, 1))


def data_tiled_tuning(kernel: TileKernel) -> XdlopsTuning:
    """Tiles, waves and instruction of the kernel; LDS holds its packed tiles as they come from memory.

    A pack is what a lane has side by side in k of a packed tile, so that a step takes one tile of k.  One
    buffer an operand, since the next tile waits in registers: then more workgroups share a compute unit.
    """
    m, n, k = kernel.tile
    pack = 1
    for part in reversed(kernel.swizzle("a").packed):
        if part.kind == "lane" or part.dim != "k":
            break
        pack *= part.size
    return XdlopsTuning(
        m_per_block=m,
        n_per_block=n,
        k_per_block=k // pack,
        m_per_wave=m // kernel.waves[0],
        n_per_wave=n // kernel.waves[1],
        kpack=pack,
        instruction=kernel.instruction.name,
        lds="tiled",
        buffers=1,
    )
