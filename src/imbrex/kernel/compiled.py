"""Kernel: what `compile` gives: source files, a built object beside them, a report, and calls on arrays.

Law: one interface for every target.  What differs between a CPU and a GPU is in `loaded` alone: where arrays
may lie, what a call waits for, and who says how large a launch is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, assert_never

from imbrex.argument import whole
from imbrex.build.amd.code_object import CodeObject
from imbrex.build.amd.lds import LdsCost
from imbrex.build.cache import entry_bytes, is_private
from imbrex.build.nvidia.cubin import Cubin
from imbrex.build.shared_library import SharedLibrary
from imbrex.cached import cached_property
from imbrex.diagnostic import Diagnostic
from imbrex.kernel.built import SUFFIXES, Library, built
from imbrex.kernel.choice import Choice
from imbrex.kernel.options import CompileOptions
from imbrex.kernel.recipe import Recipe
from imbrex.kernel.target import Target
from imbrex.numeral import counted
from imbrex.problem import Gemm, Operand, Problem, problem_text
from imbrex.run.arrays import handed
from imbrex.run.cpu import CpuKernel
from imbrex.run.graph_break import outside_graphs
from imbrex.symbol import name_of

if TYPE_CHECKING:  # a warm start on a CPU goes without
    from imbrex.build.amd.report import Resources
    from imbrex.build.nvidia.report import KernelResources
    from imbrex.config.tuning import Tuning
    from imbrex.emit.bundle import Bundle
    from imbrex.run.cuda.kernel import CudaKernel
    from imbrex.run.hip.kernel import HipKernel
    from imbrex.verify.data import Values
    from imbrex.verify.verdict import Verdict

__all__ = ["Kernel", "Loaded", "Origin"]

Loaded: TypeAlias = "CpuKernel | HipKernel | CudaKernel"


class Origin(NamedTuple):
    """What leads to a kernel: all that was chosen, the cache's key of that, and what stood under it.

    restored: makes it of these in another process.
    """

    restored: Callable[[CompileOptions, str, Recipe], Kernel]
    options: CompileOptions
    key: str
    recipe: Recipe


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel of one problem, as `imbrex.compile` gives it.

    `kernel(a, b, c)` runs it, the arrays in the order of `problem.operands`; the written one is overwritten
    and returned, or both are where there is a pre-activation.  `check()` compares it with float64.

    threads: of a CPU, how many the schedule was chosen for, and how many a call uses unless told otherwise.
    tuning_texts: one a product; backward data has a product for each phase.
    algorithm: the one that was asked for, or chosen; None of a plain product.
    library: the shared object, or the code object or cubin of a GPU.
    compile_s: seconds from the problem to the library; 0 when that came from the cache.
    lds: bank conflicts of a GPU's kernels, by name.
    schedules: how workgroups share the tiles of each product.
    configuration: all that was chosen, which makes the same code where it is given back.
    choice: who chose it, and what that gains.
    origin: what it was made of.  sized_from: by `at`, the kernel of any size, and its size.
    """

    problem: Problem
    target: Target
    threads: int
    tuning_texts: tuple[str, ...]
    algorithm: str | None
    library: Library
    compile_s: float
    loaded: Loaded = field(repr=False, compare=False)
    lds: Mapping[str, LdsCost] = field(
        default_factory=lambda: dict[str, LdsCost](), repr=False, compare=False
    )
    schedules: tuple[str, ...] = ()
    configuration: str = ""
    choice: Choice = field(default=Choice("caller"), compare=False)
    origin: Origin | None = field(default=None, repr=False, compare=False)
    sized_from: tuple[Kernel, int] | None = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """The kernel for other processes, where it comes from the cache, or is built again."""
        if self.sized_from is not None:
            return Kernel.at, self.sized_from
        if self.origin is None:
            raise TypeError("a kernel that `compile` did not make cannot be sent to another process")
        return self.origin.restored, self.origin[1:]

    @property
    def name(self) -> str:
        """The stem of the files; `imbrex_` before it makes the entry point."""
        return name_of(self.loaded.symbol)

    @property
    def was_cached(self) -> bool:
        """Did the cache have it?"""
        return self.compile_s == 0.0

    @property
    def directory(self) -> Path:
        """Where the library and its sources lie, in the cache."""
        return self.library.path.parent

    @property
    def is_kept(self) -> bool:
        """False where no cache took it: its directory goes when the process ends."""
        return not is_private(self.directory)

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        """The tuning of each product, parsed."""
        from imbrex.config.tuning import parse

        return tuple(parse(text) for text in self.tuning_texts)

    @cached_property
    def files(self) -> Mapping[str, str]:
        """The sources, by their path in the output folder: solver, wrapper, algorithm, device headers.

        A Diagnostic where the cache was emptied meanwhile.
        """
        found = sorted(p for p in self.directory.rglob("*") if p.suffix in (".cpp", ".cu", ".hpp", ".h"))
        texts = {p.relative_to(self.directory).as_posix(): entry_bytes(p).decode() for p in found}
        entry_bytes(self.library.path)  # the last file to be looked for: all of the others were there
        return texts

    @property
    def source_digest(self) -> str:
        """What the tuning database knows the source by."""
        return self.bundle.digest

    @property
    def bundle(self) -> Bundle:
        """The sources with the names of the three that matter."""
        from imbrex.emit.bundle import Bundle

        return Bundle(self.name, self.files, self.target.source)

    def _repr_html_(self) -> str:
        """Facts and the Maps of its operands, for notebooks."""
        from imbrex.kernel.notebook import page

        options = self.origin.options if self.origin and self.problem.run_time is None else None
        return page(self.problem, self.target, self.configuration, self.choice, options)

    @cached_property
    def report(self) -> Mapping[str, Any]:
        """What it was made of and what it asks of a machine, as plain JSON."""
        is_of_cpu = isinstance(self.library, SharedLibrary)
        return {
            "problem": problem_text(self.problem),
            "name": self.name,
            "target": self.target.kind,
            "chip": self.target.chip,
            "configuration": self.configuration,
            "choice": self.choice.to_json(),
            "source_digest": self.source_digest,
            "algorithm": self.algorithm,
            "tunings": list(self.tuning_texts),
            "grid_sizes": list(self.grid_sizes),
            "flops": self.problem.flops,
            "operand_bytes": self.problem.bytes,
            "workspace_bytes_per_thread" if is_of_cpu else "workspace_bytes": self.workspace_bytes,
            **built(self.library),
            **({} if is_of_cpu else {"kernels": [of_one.to_json() for of_one in self.resources]}),
            "files": [*self.bundle.units, *(f"{self.name}{s}" for s in SUFFIXES[type(self.library)])],
        }

    @cached_property
    def resources(self) -> tuple[Resources | KernelResources, ...]:
        """What each kernel of a GPU needs: registers, occupancy, AMD's hot loop.  Empty on a CPU."""
        match self.library:
            case SharedLibrary():
                return ()
            case CodeObject():
                from imbrex.build.amd.report import resources

                return resources(self.library.assembly, self.library.chip, lds=self.lds, ask_mca=True)
            case Cubin():
                from imbrex.build.nvidia.report import kernel_resources
                from imbrex.run.cuda.kernel import CudaKernel

                assert isinstance(self.loaded, CudaKernel)
                return kernel_resources(self.library.log, self.loaded.geometries)
            case _:
                assert_never(self.library)

    @cached_property
    def workspace_bytes(self) -> int:
        """Bytes beside the three arrays, in the launch that needs most; on a CPU, of one thread."""
        return self.loaded.workspace_bytes

    @cached_property
    def grid_sizes(self) -> tuple[int, ...]:
        """Workgroups of each launch, in order."""
        return self.loaded.grid_sizes

    @property
    def launches(self) -> int:
        """Kernels that one call launches, one after the other."""
        return len(self.grid_sizes)

    @outside_graphs
    def __call__(self, *arrays: Any, threads: int | None = None, stream: Any = None) -> Any:
        """Run on all arrays, or, where none of them is read and written, on those that are read: the results
        are then new arrays of the same kind.

        Arrays are NumPy's, torch's, or come by DLPack; of the problem's very shapes, strides and types, dense
        and row-major where it states no strides.  TypeError and ValueError where they are not.  On a GPU,
        arrays that lie there are used in `stream` without waiting; arrays of the host are copied.
        """
        written, quick, like = self._written, self._quick, None
        if len(arrays) == self._read and not self._reads_result:
            parameters, given, like = self._sized(arrays).parameters, list(arrays), arrays[0]
            for place in written:
                given.insert(place, self.loaded.new_result(parameters[place], arrays[0]))
            arrays = tuple(given)
        count = self.threads if threads is None else threads
        if quick is None or not quick(arrays, stream, count):
            self._run(arrays, count, stream)
        results = arrays[written[0]] if len(written) == 1 else tuple([arrays[place] for place in written])
        return results if like is None else handed(results, like)

    def check(self, seed: int = 0, *, values: Values | None = None, threads: int | None = None) -> Verdict:
        """Run on random operands and a poisoned result, compared with float64 element by element: a pass of
        each kind of values (docs/verify.md).

        values: one kind.  "integer" ones make every sum exact, so that only equality passes; "float" ones
        need a bound; "probe" ones have few products that are not zero, with all their bits.  A kernel that
        does more than to write its result is wrong, too, and then no other pass follows.  What is too large
        for NumPy a GPU of NVIDIA's computes itself, where torch is installed.  Of a run-time size the passes
        of each of `sizes`.
        """
        from imbrex.kernel.checked import passed
        from imbrex.verify.data import values_of
        from imbrex.verify.verdict import Pass, Verdict

        seed = whole("seed", seed, 0)
        self.loaded.prepare()
        if self.problem.run_time is not None:
            checked = (self.at(size).check(seed, values=values, threads=threads) for size in self.sizes)
            return Verdict(tuple(one for verdict in checked for one in verdict.passes))
        passes: list[Pass] = []
        for kind in values_of(self.problem) if values is None else (values,):
            passes.append(passed(self, seed, kind, threads))
            if passes[-1].fault is not None:
                break
        return Verdict(tuple(passes))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The run-time sizes that `check` looks at; none of a fixed one."""
        from imbrex.kernel.sizes import sizes_of

        return () if self.problem.run_time is None else sizes_of(self.problem, self.configuration)

    def at(self, size: int) -> Kernel:
        """The same kernel for calls of this run-time size alone, as one of a problem of that number; a
        Diagnostic where it is not in the range.
        """
        from imbrex.config.buckets import of_size
        from imbrex.config.configuration import parse
        from imbrex.config.tuning import text

        if self.problem.run_time is None:
            raise Diagnostic("the kernel has no run-time size", hint="a problem's '?' leaves one open")
        size = whole("size", size, 0)
        fixed, chosen = self.problem.at(size), of_size(parse(self.configuration), size)
        return replace(
            self,
            problem=fixed,
            loaded=self.loaded.of_size(size),
            tuning_texts=tuple(text(product.tuning) for product in chosen.products),
            schedules=tuple(str(product.schedule) for product in chosen.products),
            configuration=str(chosen),
            origin=None,
            sized_from=(self, size),
        )

    def _sized(self, arrays: tuple[Any, ...]) -> Loaded:
        """What runs arrays, of which the result is not yet there, and which tell a run-time size."""
        if self.problem.run_time is None:
            return self.loaded
        return self.loaded.sized([self.loaded.accepted(array, "array") for array in arrays])

    @cached_property
    def _operands(self) -> tuple[Operand, ...]:
        return self.problem.operands

    @cached_property
    def _written(self) -> tuple[int, ...]:
        """Places of the results, the pre-activation's last."""
        return tuple(i for i, o in enumerate(self._operands) if o.is_written)

    @cached_property
    def _read(self) -> int:
        """Arrays that are only read."""
        return len(self._operands) - len(self._written)

    @cached_property
    def _quick(self) -> Callable[[tuple[Any, ...], Any, int], bool] | None:
        """Short way of arrays like ones that were seen before; a lane-level build has none."""
        return None if self.target.is_emulated else getattr(self.loaded, "quick", None)

    @cached_property
    def _reads_result(self) -> bool:
        return isinstance(self.problem, Gemm) and self.problem.beta != 0.0

    def _run(self, arrays: tuple[Any, ...], threads: int, stream: Any) -> None:
        operands, loaded = self._operands, self.loaded
        if len(arrays) != len(operands):
            roles = ", ".join(o.role for o in operands)
            takes = counted(len(operands), "array")
            raise TypeError(f"'{self.name}' takes {takes} ({roles}), got {len(arrays)}")
        for array, operand in zip(arrays, operands, strict=True):
            if operand.is_written and isinstance(array, list | tuple):
                raise TypeError(f"'{operand.role}' is the output and should be an array, got a sequence")
        views: list[Any] = [loaded.accepted(a, o.role) for a, o in zip(arrays, operands, strict=True)]
        if isinstance(loaded, CpuKernel):
            if stream is not None:
                raise TypeError("'stream' is of a GPU, and this kernel runs on the CPU")
            loaded = loaded.sized(views)
            loaded(*views, threads=threads)
            if self._quick is not None:
                loaded.remember(arrays)
        else:
            loaded(*views, threads=threads, stream=stream)
