"""A program of hand-written statements, compiled for the lane-level build and run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from imbrex.build.shared_library import build_shared
from imbrex.emit.bundle import Facts, bundle
from imbrex.lower.stmt import Buffer, Kernel, Program, Stmt
from imbrex.run.cpu import Parameter, load
from imbrex.symbol import symbol_of

STRICT = ("-Wall", "-Wextra", "-Werror", "-O0")


def program(
    bodies: Sequence[Sequence[Stmt]], arguments: Sequence[Buffer], items: int, outputs: set[str]
) -> Program:
    """One launch a body, each of one workgroup."""
    written = frozenset(outputs)
    kernels = tuple(
        Kernel(f"part_{i}", tuple(arguments), written, 1, items, tuple(body)) for i, body in enumerate(bodies)
    )
    return Program("whole", tuple(arguments), kernels, written)


def built(made: Program) -> Path:
    """The program's library."""
    return build_shared(bundle(made, Facts("a test", "none", ()), "emulate").files, flags=STRICT).path


def launched(made: Program, arrays: Sequence[Any]) -> None:
    """Runs the program on its arguments."""
    parameters = tuple(
        Parameter(b.name, (b.elements,), b.dtype.numpy, b.name in made.outputs) for b in made.arguments
    )
    load(built(made), symbol_of(made.name), parameters)(*arrays, threads=1)
