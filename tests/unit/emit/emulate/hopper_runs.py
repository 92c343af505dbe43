"""A kernel of sm_90a run by a CPU lane by lane, whole or with a part of its text damaged.

The machine that it runs on is built once, and found by all kernels.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import cache

from tests.unit.emit.emulate.hopper_cases import CASES, HopperCase

from imbrex.build.shared_library import build_shared
from imbrex.chip import GPU_MACHINES
from imbrex.config import tiles, tuning
from imbrex.emit.bundle import device_headers
from imbrex.emit.emulate.hopper import FLAGS
from imbrex.pipeline import Lowered, Request, lower
from imbrex.run.cpu import Parameter
from imbrex.run.emulated import EmulatedKernel, load_emulated
from imbrex.symbol import symbol_of
from imbrex.verify.compare import Comparison, compare_results
from imbrex.verify.data import random_operands
from imbrex.verify.poison import poison
from imbrex.verify.reference import reference

__all__ = ["Damage", "built", "lowered", "ran"]

Damage = tuple[str, str, str]
"""The end of a file's name, what is written there once, and what takes its place."""

NAME = "kernel"
TARGET = "emulate_sm_90a"
MACHINE = "device/emulate/hopper/"


@cache
def lowered(name: str) -> Lowered:
    """One of CASES."""
    case = CASES[name]
    chosen = None if case.tuning is None else tuning.parse(case.tuning)
    schedule = None if case.schedule is None else tiles.wanted(case.schedule)
    return lower(
        Request(case.problem, GPU_MACHINES["sm_90a"], TARGET, chosen, case.algorithm, NAME, schedule)
    )


def built(name: str, damage: Damage | None = None) -> EmulatedKernel:
    case, made = CASES[name], lowered(name)
    files = {f: t for f, t in made.bundle.files.items() if not f.endswith(("machine.cpp", "_solver.cpp"))}
    if damage is not None:
        end, written, instead = damage
        (file,) = [file for file in files if file.endswith(end)]
        assert files[file].count(written) == 1, f"{file} has '{written}' {files[file].count(written)} times"
        files[file] = files[file].replace(written, instead)
    _machine()
    library = build_shared(files, flags=(*made.bundle.flags, "-O0"))  # it is compiled longer than it runs
    parameters = tuple(
        Parameter(o.role, o.shape, o.dtype.numpy, o.is_written, strides=o.strides)
        for o in case.problem.operands
    )
    workspace = tuple(
        Parameter(b.name, (b.elements,), b.dtype.numpy, True, b.name in made.zeroed) for b in made.workspace
    )
    return load_emulated(library.path, symbol_of(NAME), parameters, workspace)


def ran(case: HopperCase, kernel: EmulatedKernel) -> Comparison:
    """On whole numbers and a poisoned output; a Diagnostic where the machine finds a fault."""
    problem = case.problem
    operands = random_operands(problem, 0, "integer")
    truth = reference(problem, operands.arrays)
    arrays = operands.arrays
    written = [o.role for o in problem.operands if o.is_written]
    for role in written[1 if getattr(problem, "beta", 0) else 0 :]:
        poison(arrays[role])
    kernel(*(arrays[o.role] for o in problem.operands))
    return compare_results(problem, [arrays[role] for role in written], truth, replace(operands, data="any"))


@cache
def _machine() -> ctypes.CDLL:
    """The unit that all kernels share."""
    files = {file: text for file, text in device_headers(TARGET).items() if file.startswith(MACHINE)}
    return ctypes.CDLL(str(build_shared(files, flags=FLAGS).path), mode=ctypes.RTLD_GLOBAL)
