"""Triton as a peer: the best configuration of its matrix products for a problem, and calls of it.

Imported only where Triton is installed.  `best` measures every configuration that is worth a try as the
contest does, recorded into CUDA graphs over the same rotating arrays and replayed in turn, and keeps the
fastest.
"""

# pyright: basic
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib import import_module
from math import gcd
from os import cpu_count
from typing import Any

import triton  # pyright: ignore
from triton.tools.tensor_descriptor import TensorDescriptor  # pyright: ignore

from imbrex.bench.gpu.replay import Replay, recorded, replay_contest
from imbrex.bench.gpu.triton_peer import kernels
from imbrex.bench.gpu.triton_peer.configs import Config, configs
from imbrex.chip import VECTOR_BYTES

__all__ = ["Sides", "best", "calls", "measured"]

torch: Any = import_module("torch")

KERNELS: dict[str, Any] = {
    "tiles": kernels.tiles,
    "persistent": kernels.persistent,
    "parts": kernels.parts,
    "pointers": kernels.pointers,
}
GROUP = 8
SECONDS = 0.05
"""Time of the rounds of all configurations together; there are a few rounds at least."""
REFUSALS = (
    triton.runtime.errors.OutOfResources,
    triton.runtime.errors.PTXASError,
    triton.compiler.errors.CompilationError,
)

Call = Callable[[], object]
Sides = tuple[Any, Any, Any]
"""a, b and c; b may be transposed, a and c are not."""


def best(sets: Sequence[Sides]) -> Config:
    """The fastest configuration on this GPU, going through these arrays in turn."""
    found = measured(sets, _worth_a_try(*sets[0]))
    return min(found, key=lambda config: found[config])


def measured(sets: Sequence[Sides], tried: Sequence[Config]) -> dict[Config, float]:
    """Nanoseconds of a call, by configuration, without those that the GPU or the compiler refuses."""
    _compile(sets[0], tried)
    made: dict[str, list[Call]] = {}
    replays: dict[str, Replay] = {}
    for config in tried:
        made[str(config)] = calls(sets, config)
        with suppress(*REFUSALS):
            replays[str(config)] = recorded(made[str(config)])
    if not replays:
        raise RuntimeError(f"none of {len(tried)} configurations runs here")
    timings = replay_contest(replays, SECONDS)
    return {config: timings[str(config)].median_ns for config in tried if str(config) in timings}


def calls(sets: Sequence[Sides], config: Config) -> list[Call]:
    """c = a b for each set.  They have to run in order: the room for parts of sums is one for all."""
    c = sets[0][2]
    tiles = config.tiles(*c.shape)
    workspace: list[Any] = []
    if config.way == "parts":
        sums = tiles * config.parts * config.rows * config.columns
        workspace.append(torch.empty(sums, dtype=torch.float32, device=c.device))
        workspace.append(torch.zeros(tiles, dtype=torch.int32, device=c.device))
    programs = min(tiles, _processors()) if config.way == "persistent" else tiles
    kernel = KERNELS[config.way][(programs, config.parts)]
    return [partial(kernel, *_arguments(sides, config, workspace), **_named(sides, config)) for sides in sets]


def _processors() -> int:
    return int(torch.cuda.get_device_properties("cuda").multi_processor_count)


def _worth_a_try(a: Any, b: Any, c: Any) -> tuple[Config, ...]:
    """A descriptor takes arrays and rows that start at multiples of 16 bytes."""
    starts = [x.data_ptr() for x in (a, b, c)]
    rows = [x.stride(0) * x.element_size() for x in (a, _stored(b), c)]
    described = all(place % VECTOR_BYTES == 0 for place in (*starts, *rows))
    (m, k), n = a.shape, c.shape[1]
    return configs(m, n, k, _processors(), described=described)


def _compile(sides: Sides, found: Iterable[Config]) -> None:
    """Many at once, and what was compiled before not again.  What cannot be says so when it is called."""
    with ThreadPoolExecutor(cpu_count()) as workers, triton.AsyncCompileMode(workers, ignore_errors=True):
        for config in found:
            workspace = [torch.float32, torch.int32] if config.way == "parts" else []
            arguments = _arguments(sides, config, workspace)
            KERNELS[config.way].warmup(*arguments, grid=(1,), **_named(sides, config))


def _is_transposed(b: Any) -> bool:
    return b.stride(1) != 1


def _stored(b: Any) -> Any:
    """B as memory has it, rows of neighbours."""
    return b.mT if _is_transposed(b) else b


def _arguments(sides: Sides, config: Config, workspace: Sequence[Any]) -> list[Any]:
    """workspace: what parts leave for each other, arrays or their types."""
    a, b, c = sides
    sizes = [*c.shape, a.shape[1]]
    b = _stored(b)
    if config.way == "pointers":
        return [a, b, c, *sizes, *(x.stride(0) for x in (a, b, c))]
    rows, columns, depth = config.rows, config.columns, config.depth
    stored = columns // 2 if config.way == "persistent" else columns
    blocks = ([rows, depth], [columns, depth] if b is not sides[1] else [depth, columns], [rows, stored])
    described = [TensorDescriptor.from_tensor(x, of) for x, of in zip((a, b, c), blocks, strict=True)]
    return [*described, *workspace, *sizes, *([config.parts] if config.way == "parts" else [])]


def _named(sides: Sides, config: Config) -> dict[str, Any]:
    """Named arguments of a launch: what the kernel is compiled for."""
    named: dict[str, Any] = {
        "ROWS": config.rows,
        "COLUMNS": config.columns,
        "DEPTH": config.depth,
        "GROUPED": GROUP,
        "TRANSPOSED": _is_transposed(sides[1]),
        "num_stages": config.stages,
        "num_warps": config.warps,
    }
    if config.way != "pointers":
        return {**named, "EARLY": config.is_early, "launch_pdl": True}
    a, b, c = sides
    along_k, along_n = [a.shape[1], a.stride(0)], [c.shape[1], c.stride(0)]
    (along_k if _is_transposed(b) else along_n).append(_stored(b).stride(0))
    widest = VECTOR_BYTES // a.element_size()
    return {**named, "K_VECTOR": gcd(widest, *along_k), "N_VECTOR": gcd(widest, *along_n)}
