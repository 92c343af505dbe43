"""compile: a problem to its kernel, from the cache or by the whole compiler.

Law: the cache leads from (problem, options, compiler, machine, generator) to a built object, so a warm start
runs no pass and imports no part of the compiler; and whatever it finds is what a cold start would have built.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, assert_never

from imbrex.argument import instance, truth
from imbrex.build.amd.code_object import CodeObject, build_code_object, find_code_object
from imbrex.build.cache import Cache
from imbrex.build.nvidia.cubin import Cubin, build_cubin, find_cubin
from imbrex.build.shared_library import SharedLibrary, build_shared, find_shared
from imbrex.database.lookup import Advice
from imbrex.database.warning import warn
from imbrex.diagnostic import Diagnostic
from imbrex.kernel.choice import Choice, of_winner
from imbrex.kernel.compiled import Kernel, Loaded, Origin
from imbrex.kernel.constraints import constraints
from imbrex.kernel.key import key_of
from imbrex.kernel.options import CompileOptions, options_of
from imbrex.kernel.recipe import Recipe, Workspace
from imbrex.kernel.target import Emulate, Target, target_or_named
from imbrex.problem import Problem, problem_text
from imbrex.problem.run_time import expect_fixed
from imbrex.run import launch
from imbrex.run.cpu import Parameter, load
from imbrex.run.emulated import load_emulated
from imbrex.symbol import symbol_of

if TYPE_CHECKING:  # the compiler's own modules; a warm start goes without
    from imbrex.config.configuration import Configuration
    from imbrex.config.tiles import TileSchedule
    from imbrex.config.tuning import Tuning
    from imbrex.pipeline import Lowered

__all__ = ["OFFERED", "NotBuilt", "Offered", "compile", "restored"]

Offered: TypeAlias = Literal["all", "built", "none"]
OFFERED: Final[ContextVar[Offered]] = ContextVar("imbrex_offered", default="all")
"""Which kernels `compile` gives: all, those that the cache has, or none; for others it raises `NotBuilt`."""


class NotBuilt(Exception):
    """Nothing is to be compiled now, and the cache has no such kernel, or is not asked."""

    def __init__(self, options: CompileOptions) -> None:
        super().__init__(f"there is no kernel yet of {problem_text(options.problem)}")
        self.options = options


def compile(
    problem: Problem | str,
    target: str | Target = "cpu",
    tuning: Tuning | str | None = None,
    *,
    emulate: Emulate = False,
    threads: int | None = None,
    algorithm: str | None = None,
    name: str | None = None,
    cache: Cache | None = None,
    schedule: TileSchedule | str | None = None,
    config: Configuration | str | None = None,
    untuned: bool = False,
) -> Kernel:
    """The kernel of `problem` for `target`, from the cache where it is there.

    - problem: a `Conv2d` or `Gemm`, or the text of one (docs/commands.md).
    - target: "cpu"; a level of a CPU's instructions such as "avx2"; a GPU such as "gfx942" or "sm_90a", whose
      kernels run on such a GPU only; or what `imbrex.kernel.target_of` gives.
    - emulate: True runs a GPU's schedule lane by lane on this CPU (docs/emulate.md), AArch64's library in
      QEMU, AMX with tiles in software (docs/cpu.md); "isa" executes AMD's code object itself (docs/amd.md).
      The target "emulate" is that of gfx942.
    - threads: of a CPU, for which the schedule is chosen and which a call uses; all usable cores by default.
    - tuning, algorithm, schedule: parts of what is chosen, each taken as it is or refused with the reasons:
      a tuning's text (docs/tuning.md); how the problem becomes products, such as "channels_last" (the table
      of docs/commands.md); how workgroups share output tiles, "stream_k:64" say, or "auto", the model's
      choice (docs/mapping.md). config: all of them at once, as `Kernel.configuration` has it.
    - untuned: True lets the model choose what is not said. By default, where nothing is said, what was
      measured is used (docs/database.md).
    - name: stem of the files; `imbrex_` before it makes the entry point.
    - cache: another than the user's.

    A Diagnostic where the text is no single problem, or no kernel of the target serves it.
    """
    wanted = target_or_named(target, emulate)
    truth("untuned", untuned)
    if cache is not None:
        instance("cache", cache, (Cache,), "a Cache")
    said = constraints(tuning, algorithm, schedule, config)
    options = options_of(problem, wanted, said, threads, name, untuned)
    return _made(options, key_of(options), Cache() if cache is None else cache)


def restored(options: CompileOptions, key: str, recipe: Recipe) -> Kernel:
    """A kernel that was sent to this process: what it was made as, if here it would be made so, too.

    Where compiler, machine and generator are the same and the cache has the object, nothing is built.
    """
    store = Cache()
    here = key_of(options)
    found = _found(options, key, recipe, store) if key == here else None
    return found or _made(options, here, store)


def _made(options: CompileOptions, key: str, store: Cache) -> Kernel:
    """A kernel from the cache, or by the whole compiler."""
    offered = OFFERED.get()
    recipe = None if offered == "none" else Recipe.from_json(store.recall(key))
    kernel = None if recipe is None else _found(options, key, recipe, store)
    if kernel is not None:
        return kernel
    if offered != "all":
        raise NotBuilt(options)
    started = time.perf_counter()
    recipe = _built(options, store)
    store.remember(key, recipe.to_json())
    kernel = _found(options, key, recipe, store)
    assert kernel is not None, f"the cache lost the object {recipe.object} that it was just given"
    return replace(kernel, compile_s=time.perf_counter() - started)


def _built(options: CompileOptions, store: Cache) -> Recipe:
    """What leads to the built object.  What was measured and no longer compiles is passed over, and told."""
    from imbrex.kernel.decided import decided

    request = options.request()
    lowered, choice = decided(request, options.advice)
    try:
        found = _compiled(options, lowered, choice, store)
    except Diagnostic as error:
        if options.advice is None or choice.by == "model":
            raise
        lowered, model = decided(request, Advice(None))
        why = f"{choice.by} {choice.problem} is passed over, for it does not compile: {error.message}"
        found = _compiled(options, lowered, replace(model, passed_over=why), store)
    if found.choice.passed_over:
        warn(found.choice.passed_over)
    return found


def _compiled(options: CompileOptions, lowered: Lowered, choice: Choice, store: Cache) -> Recipe:
    """The built object's key, the texts of the tunings, the launches."""
    from imbrex.config.tuning import text
    from imbrex.pipeline import lower

    chip = options.target.chip
    tunings = tuple(text(t) for t in lowered.tunings)
    files, unit = lowered.bundle.files, _unit(options)
    if options.target.is_native:
        key = build_shared(files, flags=lowered.bundle.flags, isa=options.target.isa, cache=store).key
    elif options.target.is_cuda:
        tuning = " ".join(dict.fromkeys(tunings))
        cubin = build_cubin(files, unit, options.target.kind, tuning=tuning, cache=store)
        if cubin.dropped_flags:  # registers spilled with them: that is said, and the source asks for none
            plain = replace(lowered.configuration, has_flags=False)
            again = lower(options.request().by(plain))
            return _compiled(options, again, choice, store)
        key = cubin.key
    else:
        assert chip is not None
        key = build_code_object(files, unit, chip, cache=store).key
    return Recipe(
        key,
        tunings,
        lowered.algorithm,
        tuple(lowered.steps),
        tuple(
            Workspace(b.name, b.elements, b.dtype.name, b.name in lowered.zeroed) for b in lowered.workspace
        ),
        tuple(lowered.schedules),
        lowered.lds,
        str(lowered.configuration),
        choice,
    )


def _found(options: CompileOptions, key: str, recipe: Recipe, store: Cache) -> Kernel | None:
    """The kernel of an object that was built before; None when it is gone."""
    size = options.problem.run_time
    parameters = tuple(
        Parameter(
            *(o.role, o.shape, o.dtype.numpy, o.is_written),
            strides=o.strides,
            is_open=size is not None and size.is_of(o),
        )
        for o in options.problem.operands
    )
    workspace = tuple(array.parameter for array in recipe.workspace)
    library = _library(options, recipe.object, store)
    if library is None:
        return None
    return Kernel(
        options.problem,
        options.target,
        options.threads,
        recipe.tunings,
        recipe.algorithm,
        library,
        0.0,
        _loaded(options, library, parameters, recipe.steps, workspace),
        recipe.lds,
        recipe.schedules,
        recipe.configuration,
        _choice(options, recipe),
        Origin(restored, options, key, recipe),
    )


def _choice(options: CompileOptions, recipe: Recipe) -> Choice:
    """The choice by what the database says now: a duel that was fought again may have found another gain."""
    measured = None if options.advice is None else options.advice.measured
    return of_winner(measured) if measured is not None and recipe.choice.by == "measured" else recipe.choice


def _library(options: CompileOptions, key: str, store: Cache) -> SharedLibrary | CodeObject | Cubin | None:
    """The object built earlier under `key`."""
    chip = options.target.chip
    if options.target.is_native:
        return find_shared(key, store)
    if options.target.is_cuda:
        return find_cubin(key, _unit(options), options.target.kind, store)
    assert chip is not None
    return find_code_object(key, _unit(options), chip, store)


def _loaded(
    options: CompileOptions,
    library: SharedLibrary | CodeObject | Cubin,
    parameters: tuple[Parameter, ...],
    steps: tuple[launch.Step, ...],
    workspace: tuple[Parameter, ...],
) -> Loaded:
    """What runs it; the modules of a GPU are imported where there is a kernel for one."""
    symbol, size = symbol_of(options.name), options.problem.run_time
    match library:
        case SharedLibrary() if options.target.is_of_nvidia or (
            options.target.is_lent and options.target.runs_here
        ):
            is_lent = options.target.is_lent
            return load_emulated(library.path, symbol, parameters, workspace, size, has_tiles=is_lent)
        case SharedLibrary() if options.target.level is not None and not options.target.runs_here:
            from imbrex.run.foreign.kernel import foreign

            expect_fixed(size, "QEMU")
            emulated = options.target.is_executed
            return foreign(library.path, symbol, parameters, workspace, options.target.level, emulated)
        case SharedLibrary():
            return load(library.path, symbol, parameters, workspace, size)
        case CodeObject() if options.target.is_executed:
            from imbrex.run.hip.emulated import EmulatedKernel

            return EmulatedKernel(library.path, symbol, library.chip, parameters, steps, workspace)
        case CodeObject():
            from imbrex.run.hip.kernel import HipKernel

            return HipKernel(library.path, symbol, library.chip, parameters, steps, workspace)
        case Cubin():
            from imbrex.run.cuda.kernel import CudaKernel

            return CudaKernel(library.path, symbol, library.architecture, parameters, steps, workspace, size)
        case _:
            assert_never(library)


def _unit(options: CompileOptions) -> str:
    """The file that holds the kernels of a GPU."""
    return f"{options.name}.cu" if options.target.is_cuda else f"{options.name}.cpp"
