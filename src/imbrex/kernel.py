"""Kernel: a problem compiled for a target, ready to be called on arrays.

Law: the cache leads from (problem, options, compiler, machine, generator) to a library, so a warm start runs
no pass and imports no part of the compiler; and whatever it finds is what a cold start would have built.
"""

from __future__ import annotations

import ctypes
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from imbrex.build.cache import Cache
from imbrex.build.shared import Shared, build_shared, find_shared, recipe_key
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.problem import Conv2d, Gemm, Operand, Problem, parse_problem, problem_text
from imbrex.run.arrays import as_array, same_kind
from imbrex.run.cpu import CpuKernel, Parameter, load, thread_count
from imbrex.run.machine import machine

if TYPE_CHECKING:  # the compiler's own modules; a warm start goes without
    from imbrex.emit.bundle import Bundle
    from imbrex.schedule.tuning import Tuning
    from imbrex.verify.compare import Comparison
    from imbrex.verify.data import Values

__all__ = ["PLANNED", "TARGETS", "Kernel", "compile", "default_name"]

TARGETS = ("cpu", "emulate")
"""What kernels are built for and run on."""

PLANNED = ("gfx908", "gfx90a", "gfx942", "gfx950", "sm_90a")
"""Targets of the design that no source is written for yet."""

ALGORITHMS = ("v4r1", "v1r1")


@dataclass(frozen=True)
class Kernel:
    """`kernel(a, b, c)` runs it, the arrays in the order of `problem.operands`; the written one is
    overwritten and returned.

    threads: how many the schedule was chosen for, and how many a call uses unless told otherwise.
    tuning_texts: one a product; backward data has a product for each phase.
    compile_s: from the problem to the library; 0 when that came from the cache.
    """

    problem: Problem
    target: str
    threads: int
    tuning_texts: tuple[str, ...]
    library: Shared
    compile_s: float
    loaded: CpuKernel = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """The library's entry point, and the stem of the files."""
        return self.loaded.symbol

    @property
    def was_cached(self) -> bool:
        return self.compile_s == 0.0

    @property
    def directory(self) -> Path:
        """Where the library and its sources lie, in the cache."""
        return self.library.path.parent

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        from imbrex.schedule.tuning import parse

        return tuple(parse(text) for text in self.tuning_texts)

    @cached_property
    def files(self) -> Mapping[str, str]:
        """The sources, by their path in the output folder: solver, wrapper, algorithm, device headers."""
        found = sorted(p for p in self.directory.rglob("*") if p.suffix in (".cpp", ".hpp", ".h"))
        return {p.relative_to(self.directory).as_posix(): p.read_text(encoding="utf-8") for p in found}

    @property
    def bundle(self) -> Bundle:
        """The sources with the names of the three that matter."""
        from imbrex.emit.bundle import Bundle

        return Bundle(self.name, self.files, self.target)

    @cached_property
    def workspace_bytes(self) -> int:
        """Memory that one thread allocates beside the three arrays, in the launch that needs most."""
        return max((self._ask("workspace_bytes", i) for i in range(self.launches)), default=0)

    @cached_property
    def grid_sizes(self) -> tuple[int, ...]:
        """Workgroups of each launch, in order."""
        return tuple(self._ask("grid_size", i) for i in range(self.launches))

    @cached_property
    def launches(self) -> int:
        return self._ask("launch_count")

    def __call__(self, *arrays: Any, threads: int | None = None) -> Any:
        """Run on all arrays, or, where none of them is read and written, on those that are read: the result
        is then a new array of the same kind.

        Arrays are NumPy's, torch's on the CPU, or come by DLPack; dense and row-major, of the problem's very
        shapes and types.  TypeError and ValueError where they are not.
        """
        operands = self._operands
        if len(arrays) == len(operands) - 1 and not self._reads_result:
            (place,) = (i for i, o in enumerate(operands) if o.is_written)
            result = np.empty(operands[place].shape, operands[place].dtype.numpy)
            given = (*arrays[:place], result, *arrays[place:])
            self._run(given, threads)
            return same_kind(result, arrays[0])
        self._run(arrays, threads)
        return next(a for a, o in zip(arrays, operands, strict=True) if o.is_written)

    def check(self, seed: int = 0, *, values: Values = "integer", threads: int | None = None) -> Comparison:
        """Run on random operands and a poisoned result, compared with float64 element by element.

        values: "integer" ones make every sum exact, so that only equality passes; "float" ones need a bound.
        """
        from imbrex.verify.compare import compare
        from imbrex.verify.data import random_operands
        from imbrex.verify.reference import reference

        operands = random_operands(self.problem, seed, values)
        truth = reference(self.problem, operands.arrays)
        result = self(*(operands.arrays[o.role] for o in self.problem.operands), threads=threads)
        data = "random" if values == "float" else "any"
        return compare(self.problem, result, truth, is_exact=operands.is_exact, data=data)

    @cached_property
    def _operands(self) -> tuple[Operand, ...]:
        return self.problem.operands

    @property
    def _reads_result(self) -> bool:
        return isinstance(self.problem, Gemm) and self.problem.beta != 0.0

    def _run(self, arrays: tuple[Any, ...], threads: int | None) -> None:
        operands = self._operands
        if len(arrays) != len(operands):
            roles = ", ".join(o.role for o in operands)
            raise TypeError(f"'{self.name}' takes {len(operands)} arrays ({roles}), got {len(arrays)}")
        for array, operand in zip(arrays, operands, strict=True):
            if operand.is_written and isinstance(array, list | tuple):
                raise TypeError(f"'{operand.role}' is the output and should be an array, got a sequence")
        views = (_view(a, o.role) for a, o in zip(arrays, operands, strict=True))
        self.loaded(*views, threads=self.threads if threads is None else threads)

    def _ask(self, question: str, *arguments: int) -> int:
        """What the solver answers."""
        function = ctypes.CDLL(str(self.library.path))[f"{self.name}_{question}"]
        function.restype = ctypes.c_int64 if arguments else ctypes.c_int
        return int(function(*(ctypes.c_int(a) for a in arguments)))


def compile(
    problem: Problem | str,
    target: str = "cpu",
    tuning: Tuning | str | None = None,
    *,
    threads: int | None = None,
    algorithm: str | None = None,
    name: str | None = None,
    cache: Cache | None = None,
) -> Kernel:
    """The kernel of `problem` for `target`, from the cache where it is there; a Diagnostic where none can be.

    problem: a problem, or the text of one.  target: "cpu", or "emulate", the lane-level build of the GPU
    schedule.  tuning: taken as it is or refused with reasons; None lets the model choose.  algorithm: of
    backward data, "v4r1" or "v1r1".  name: of the entry point and the files.
    """
    given = _one(problem)
    order = _Order(
        given, _known_target(target), _text(tuning), thread_count(threads), _algorithm(given, algorithm),
        _identifier(name or default_name(given)),
    )  # fmt: skip
    store = cache or Cache()
    key = recipe_key(problem_text(given), order.text)
    recipe = store.recall(key)
    shared = find_shared(recipe["object"], store) if recipe is not None else None
    if recipe is not None and shared is not None:
        return _loaded(order, tuple(recipe["tunings"]), shared, 0.0)
    started = time.perf_counter()
    tunings, shared = _built(order, store)
    store.remember(key, {"object": shared.key, "tunings": tunings})
    return _loaded(order, tunings, shared, time.perf_counter() - started)


def default_name(problem: Problem) -> str:
    """`conv2d_forward`, `gemm`: what the entry point is called unless told otherwise."""
    return f"conv2d_{problem.direction}" if isinstance(problem, Conv2d) else "gemm"


@dataclass(frozen=True)
class _Order:
    """A problem and all that the caller may choose about its kernel."""

    problem: Problem
    target: str
    tuning: str | None
    threads: int
    algorithm: str | None
    name: str

    @property
    def text(self) -> str:
        """The options in a line; with the sizes of the caches, by which the model chooses."""
        here = machine()
        caches = f"l2={here.l2_bytes} l3={here.l3_bytes}"
        chosen = f"tuning={self.tuning} algorithm={self.algorithm}"
        return f"target={self.target} {chosen} threads={self.threads} name={self.name} {caches}"


def _built(order: _Order, cache: Cache) -> tuple[tuple[str, ...], Shared]:
    """The texts of the tunings and the library, by way of the whole compiler."""
    from imbrex.ir.source import InvalidOp
    from imbrex.pipeline import Request, lower, machine_for
    from imbrex.schedule import tuning as tunings

    here = machine()
    wanted = None if order.tuning is None else tunings.parse(order.tuning)
    goal = machine_for(
        order.target, here.isa.level, order.threads, here.l2_bytes, here.l3_bytes, here.isa.fma_per_cycle
    )
    try:
        lowered = lower(Request(order.problem, goal, order.target, wanted, order.algorithm, order.name))
    except InvalidOp as error:
        if isinstance(error.__cause__, Diagnostic):
            raise error.__cause__ from None
        raise Diagnostic(str(error)) from None
    shared = build_shared(lowered.bundle.files, cache=cache)
    return tuple(tunings.text(t) for t in lowered.tunings), shared


def _loaded(order: _Order, tunings: tuple[str, ...], shared: Shared, compile_s: float) -> Kernel:
    parameters = tuple(
        Parameter(o.role, o.shape, o.dtype.numpy, o.is_written) for o in order.problem.operands
    )
    loaded = load(shared.path, order.name, parameters)
    return Kernel(order.problem, order.target, order.threads, tunings, shared, compile_s, loaded)


def _view(value: object, name: str) -> Any:
    """NumPy's own arrays as they are: what is wrong with one the call itself finds."""
    return value if type(value) is np.ndarray else as_array(value, name)


def _one(problem: Problem | str) -> Problem:
    if not isinstance(problem, str):
        return problem
    found = parse_problem(problem)
    if len(found) != 1:
        raise Diagnostic(
            f"the text holds {len(found)} problems, and a kernel computes one",
            hint="name one direction with -F 1, -F 2 or -F 4, or compile each of parse_problem(text)",
        )
    return found[0]


def _text(tuning: Tuning | str | None) -> str | None:
    if tuning is None or isinstance(tuning, str):
        return tuning
    from imbrex.schedule.tuning import text

    return text(tuning)


def _known_target(target: str) -> str:
    if target in TARGETS:
        return target
    if target in PLANNED or re.fullmatch(r"gfx[0-9a-f]+|sm_[0-9]+a?", target):
        raise Diagnostic(
            f"target '{target}' cannot be built yet; this Imbrex builds {' and '.join(TARGETS)}",
            hint="'emulate' runs the GPU schedule, with its work items, LDS and barriers, on this CPU",
        )
    hint = did_you_mean(target, TARGETS) or f"known: {', '.join(TARGETS)}"
    raise Diagnostic(f"unknown target '{target}'", hint=hint)


def _algorithm(problem: Problem, wanted: str | None) -> str | None:
    if wanted is None:
        return None
    if wanted not in ALGORITHMS:
        hint = did_you_mean(wanted, ALGORITHMS) or f"known: {', '.join(ALGORITHMS)}"
        raise Diagnostic(f"unknown algorithm '{wanted}'", hint=hint)
    if not isinstance(problem, Conv2d) or problem.direction != "backward_data":
        kind = problem.direction if isinstance(problem, Conv2d) else "a product"
        raise Diagnostic(f"algorithm '{wanted}' is one of backward data, this is {kind.replace('_', ' ')}")
    if wanted == "v1r1" and problem.dtype.output != problem.dtype.accumulator:
        raise Diagnostic(
            f"algorithm 'v1r1' adds products in memory, where every sum would be rounded to {problem.dtype}",
            hint="v4r1 sums in registers",
        )
    return wanted


def _identifier(name: str) -> str:
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        return name
    raise Diagnostic(f"'{name}' cannot name a function of C; use letters, digits and _")
