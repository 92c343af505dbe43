"""A printed CUDA kernel, run by a CPU: its own text, over the functions in fibers/shared.h."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

from imbrex.build.shared_library import build_shared
from imbrex.emit.bundle import device_headers
from imbrex.pipeline import Lowered, Request, lower
from imbrex.run.launch import Zero
from imbrex.verify.compare import Comparison, compare_results
from imbrex.verify.data import Values, random_operands
from imbrex.verify.poison import poison
from imbrex.verify.reference import reference

SHIM = (Path(__file__).parent / "fibers" / "shared.h").read_text(encoding="utf-8")
FLAGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-unused-parameter", "-O0")
KEPT = ("device/gpu", "device/cpu", "device/common", "device/cuda/product.h", "device/cuda/epilogue.h")


def ran(
    request: Request, seed: int = 0, values: Values = "integer", damage: tuple[str, str] = ("", "")
) -> Comparison:
    """One run on fresh data and a poisoned output, compared element by element.

    damage: what is put in place of a part of the algorithm.
    """
    problem, lowered = request.problem, lower(request)
    operands = random_operands(problem, seed, values)
    truth = reference(problem, {n: a.copy() for n, a in operands.arrays.items()})
    arrays: dict[str, np.ndarray[Any, Any]] = {n: a.copy() for n, a in operands.arrays.items()}
    written = [o.role for o in problem.operands if o.is_written]
    for role in written[1 if getattr(problem, "beta", 0) else 0 :]:
        poison(arrays[role])
    workspace = [np.zeros(b.elements, b.dtype.numpy) for b in lowered.workspace]
    for array, buffer in zip(workspace, lowered.workspace, strict=True):
        if buffer.name not in lowered.zeroed:
            poison(array)
    given = [*(arrays[o.role] for o in problem.operands), *workspace]
    library = ctypes.CDLL(str(build_shared(_files(lowered, given, damage), flags=FLAGS).path))
    library.run((ctypes.c_void_p * len(given))(*(a.ctypes.data for a in given)))
    left = [w for w, b in zip(workspace, lowered.workspace, strict=True) if b.name in lowered.zeroed]
    assert damage[0] or not any(w.any() for w in left), "what starts as zeros is left as zeros"
    return compare_results(problem, [arrays[role] for role in written], truth, operands)


def _files(lowered: Lowered, arrays: list[np.ndarray[Any, Any]], damage: tuple[str, str]) -> dict[str, str]:
    """The bundle with the shim in the place of CUDA's headers, and a function that runs every launch."""
    bundle = lowered.bundle
    _, entry, algorithm = bundle.units
    kept = {n: t for n, t in bundle.files.items() if n.startswith(KEPT)}
    lines = [f'#include "{entry}"', "static void **given;", 'extern "C" void run(void **arrays) {']
    lines.append("  given = arrays;")
    for step in lowered.steps:
        if isinstance(step, Zero):
            lines.append(f"  __builtin_memset(given[{step.argument}], 0, {arrays[step.argument].nbytes});")
            continue
        given = ", ".join(f"imbrex::any_pointer{{given[{i}]}}" for i in step.arguments)
        lines += [
            f"  imbrex::body = [] {{ {step.kernel}({given}); }};",
            f"  for (blockIdx.x = 0; blockIdx.x < {step.grid_size}; ++blockIdx.x)",
            f"    imbrex::workgroup({step.block_size}, {step.shared_bytes});",
        ]
    functions = device_headers("emulate_sm_90a")["device/cuda/ptx/function.h"]
    shims = {
        "device/cuda/shared.h": SHIM,
        "device/cuda/flag.h": '#include "shared.h"\n',
        "device/cuda/ptx/function.h": functions.replace("language.h", "../shared.h"),
    }
    assert damage[0] in bundle.files[algorithm], f"there is no '{damage[0]}' to break"
    text = bundle.files[algorithm].replace(*damage) if damage[0] else bundle.files[algorithm]
    units = {entry: bundle.files[entry], algorithm: text}
    return {**kept, **shims, **units, "run.cpp": "\n".join([*lines, "}", ""])}
