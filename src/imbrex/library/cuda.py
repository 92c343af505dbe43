"""Cuda: a library of kernels for an NVIDIA GPU: cubins in one shared library, launched through the driver.

Law: the library needs C's own library alone; the driver is looked for when the first kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from math import gcd, lcm
from pathlib import Path
from typing import Any, Final

from imbrex.build.cache import entry_bytes
from imbrex.chip import GPU_MACHINES
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import dtype
from imbrex.kernel import Kernel
from imbrex.kernel.target import Target
from imbrex.library.dispatch import Interface, header, table
from imbrex.library.family import Family, Member, families
from imbrex.library.make import Built, companions, linked, row_of
from imbrex.problem import problem_text
from imbrex.run.device import ALIGNMENT
from imbrex.run.launch import Step, Zero
from imbrex.symbol import symbol_of
from imbrex.version import __version__
from imbrex.view.tensor.form import Box, TensorMap, Walk

__all__ = ["CUDA", "cuda_library", "cuda_unit"]

CUDA: Final = Interface(
    "void *stream",
    "stream",
    "on the GPU of the thread's context, or on the first one where there is none, queued in a stream\n"
    "   (CUstream, cudaStream_t; 0 is the default one) which nobody waits for.",
    "  SHOUT_NO_DRIVER = 3,   /* there is no libcuda.so.1, or it is older than CUDA 12.3 */\n"
    "  SHOUT_WRONG_GPU = 4,   /* the GPU is not what the library is for */\n"
    "  SHOUT_NOT_ALIGNED = 6, /* an array does not begin at a multiple of 16 bytes */\n"
    "  SHOUT_NOT_RESIDENT = 5, /* workgroups that wait for each other would not all run at a time */\n"
    "  SHOUT_FAILED = 1000    /* and more: 1000 and what the driver answered, a CUresult */",
    "\n/* The same on arrays of the host, which are copied; the result is there when it returns. */\n"
    "int NAME_run_host(int family, int64_t rows, void *const *arrays);\n",
    "NAME_run_host(family, rows, arrays)",
)
TYPES: Final = {
    "UINT8": 0, "INT32": 3, "FLOAT16": 6, "FLOAT32": 7, "FLOAT64": 8, "BFLOAT16": 9, "TFLOAT32": 11,
}  # fmt: skip
"""Numbers of CUtensorMapDataType (cuda.h)."""
SWIZZLES: Final = {0: 0, 32: 1, 64: 2, 128: 3}
"""Numbers of CUtensorMapSwizzle."""


@dataclass(frozen=True)
class _Part:
    """A kernel by its number in the library."""

    number: int
    kernel: Kernel

    @property
    def steps(self) -> tuple[Step, ...]:
        assert self.kernel.origin is not None, "compile made it"
        return self.kernel.origin.recipe.steps


def cuda_library(
    name: str,
    kernels: Sequence[tuple[Kernel, int]],
    folder: Path,
    target: Target,
    report: Callable[[str], None] = lambda _: None,
) -> Built:
    """Writes the library of these kernels, each with how often it is asked for, and all that goes with it."""
    sizes = {kernel.problem: kernel.sizes for kernel, _ in kernels if kernel.problem.run_time}
    found = tuple(_aligned(families(((kernel.problem, times) for kernel, times in kernels), sizes)))
    parts = [_Part(number, kernel) for number, (kernel, _) in enumerate(kernels)]
    at = folder / "source"
    at.mkdir()
    for part in parts:
        for file, text in part.kernel.files.items():
            path = at / f"k{part.number}" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (at / f"k{part.number}.cubin").write_bytes(entry_bytes(part.kernel.library.path))
    runtime = files("imbrex.library").joinpath("cuda.h").read_text(encoding="utf-8")
    (at / "cuda.h").write_text(runtime, encoding="utf-8")
    (at / "library.cpp").write_text(_source(name, found, parts, target), encoding="utf-8")
    (folder / f"{name}.h").write_text(header(name, found, str(target), CUDA), encoding="utf-8")
    report(f"linking lib{name}.so")
    linked(name, [("library.cpp", ("-I..",))], folder, Target("cpu", "generic").isa)
    for file, text in companions(name, found, CUDA).items():
        (folder / file).write_text(text, encoding="utf-8")
    return Built(found, _report(name, kernels, found, target))


def _aligned(found: Sequence[Family]) -> Iterator[Family]:
    """Families whose pieces of arrays begin where kernels read widest; of others each member by itself."""
    for family in found:
        pieces = [step * one.rows for step in family.steps for one in family.members]
        if all(piece % ALIGNMENT == 0 for piece in pieces):
            yield family
            continue
        for one in family.members:
            _expect_aligned(family, one)
            alone = replace(one, rows=1, least=1, sizes=(1,))
            yield Family(problem_text(one.problem), (0,) * len(family.steps), (alone,))


def _expect_aligned(family: Family, one: Member) -> None:
    """A Diagnostic where rows that are told, and more of them than a kernel takes, begin between 16 bytes."""
    size = one.problem.run_time
    if size is not None:
        each = lcm(*(ALIGNMENT // gcd(step, ALIGNMENT) for step in family.steps))
        message = (
            f"{size.name} is '{size}', and pieces of arrays begin at multiples of {ALIGNMENT} bytes where"
        )
        hint = f"let {size.name} end with a multiple of {each}, or give it a number"
        raise Diagnostic(f"{message} its end is a multiple of {each}", hint=hint, subject=size.name)


def _source(name: str, found: Sequence[Family], parts: Sequence[_Part], target: Target) -> str:
    """The unit that holds kernels, their launches and the table."""
    lines = _head(target)
    for part in parts:
        n = part.number
        lines += [
            'asm(".section .rodata\\n.balign 64\\n"',
            f'    "imbrex_code_{n}: .incbin \\"k{n}.cubin\\"\\n.previous\\n");',
            f'extern "C" __attribute__((visibility("hidden"))) const char imbrex_code_{n}[];',
            *_kernel(part),
        ]
    return table(name, found, [*lines, "} // namespace"], CUDA) + _on_host(name, found)


def cuda_unit(kernel: Kernel, target: Target) -> dict[str, str]:
    """Headers of a unit with one kernel, by name: `unit.h` has its code, and `run_0(arrays, stream)`."""
    code = ",".join(map(str, entry_bytes(kernel.library.path)))
    own = f"alignas(64) const unsigned char imbrex_code_0[] = {{{code}}};"
    lines = [*_head(target), own, *_kernel(_Part(0, kernel)), "} // namespace", ""]
    runtime = files("imbrex.library").joinpath("cuda.h").read_text(encoding="utf-8")
    return {"unit.h": "\n".join(lines), "cuda.h": runtime}


def _head(target: Target) -> list[str]:
    """What comes before kernels: for which GPU they are, and how they are launched."""
    capability = GPU_MACHINES[target.kind].compute_capability
    assert capability is not None, target
    numbers = ", ".join(map(str, capability))
    return [
        "#include <stdint.h>",
        f"namespace imbrex::cuda {{ constexpr int capability[] = {{{numbers}}}; }}",
        '#include "cuda.h"',
        "",
        "namespace {",
        "namespace cuda = imbrex::cuda;",
    ]


def _kernel(part: _Part) -> list[str]:
    """What each launch of a kernel needs beside its code, and the function of the table."""
    n, steps = part.number, part.steps
    assert part.kernel.origin is not None
    workspace = [array.parameter for array in part.kernel.origin.recipe.workspace]
    bytes_of = [p.bytes for p in (*part.kernel.loaded.parameters, *workspace)]
    scratches = ", ".join(f"{{{p.bytes}, {_bool(p.is_zeroed)}}}" for p in workspace)
    count = len(part.kernel.problem.operands), len(workspace), len(steps)
    return [
        f"const cuda::step steps_of_{n}[] = {{",
        *(f"    {_step(step, part, bytes_of)}," for step in steps),
        "};",
        f"const cuda::scratch scratches_{n}[] = {{{scratches or '{0, false}'}}};",
        f"void *functions_{n}[cuda::most_devices * {len(steps)}];",
        f"const cuda::kernel kernel_{n} = {{imbrex_code_{n}, {', '.join(map(str, count))}, scratches_{n}, "
        f"steps_of_{n}, functions_{n}}};",
        f"int run_{n}(void *const *p, int64_t rows, void *stream) {{",
        f"  return cuda::run(kernel_{n}, p, rows, stream);",
        "}",
    ]


def _step(step: Step, part: _Part, bytes_of: Sequence[int]) -> str:
    if isinstance(step, Zero):
        place, size, rows = step.argument, bytes_of[step.argument], part.kernel.problem.run_time
        by_rows = "" if rows is None else f"{rows.least}, {rows.most}, 1, 0, 0"
        return f"{{nullptr, 0, 0, 0, 0, false, false, {{{place}}}, 1, 0, {{}}, {size}, {{{by_rows}}}}}"
    geometry = f"{step.grid_size}, {step.block_size}, {step.shared_bytes}, {step.cluster}"
    arrays, maps = ", ".join(map(str, step.arguments)), ", ".join(map(_map, step.tensors))
    flags = f"{_bool(step.is_early)}, {_bool(step.meets)}"
    sizes = f"{len(step.arguments)}, {len(step.tensors)}"
    of = step.run_time
    run_time = "" if of is None else f"{of.least}, {of.greatest}, {of.tile}, {of.each}, {of.rows}"
    return f'{{"{step.kernel}", {geometry}, {flags}, {{{arrays}}}, {sizes}, {{{maps}}}, 0, {{{run_time}}}}}'


def _map(tensor: TensorMap) -> str:
    form, element = tensor.form, dtype(tensor.dtype)
    size, is_walk = element.bytes, isinstance(form, Walk)
    assert element.tensor_map is not None, element
    strides = [stride * size for stride in form.strides]
    head = f"{_bool(is_walk)}, {TYPES[element.tensor_map]}, {len(form.sizes)}, {tensor.argument}"
    of_count = f"{-1 if form.open is None else form.open}, {form.each}"
    opening = f"{head}, {SWIZZLES[form.swizzle]}, {size}, {of_count}, {form.base * size}"
    lists = [_braced(form.sizes), _braced(strides)]
    match form:
        case Box():
            lists += [_braced(form.box), _braced(form.steps), "{}", "{}", "0", "0"]
        case Walk():
            lists += ["{}", _braced((1, *form.steps, 1)), _braced(form.lower), _braced(form.upper)]
            lists += [str(form.channels), str(form.pixels)]
    return f"{{{opening}, {', '.join(lists)}}}"


def _on_host(name: str, found: Sequence[Family]) -> str:
    """`run_host`: how many bytes arrays have, of a row and besides, and which one is written."""
    s, lines = (
        symbol_of(name),
        ["", "namespace {", "struct arrays_of { size_t each[24], besides[24]; int written; };"],
    )
    lines.append("const arrays_of arrays_by_family[] = {")
    for family in found:
        problem = family.members[0].problem
        operands = problem.operands
        besides = [
            0 if step else o.reach * o.dtype.bytes for o, step in zip(operands, family.steps, strict=True)
        ]
        written = next(position for position, operand in enumerate(operands) if operand.is_written)
        lines.append(f"    {{{_braced(family.steps)}, {_braced(besides)}, {written}}},")
    lines += [
        "};",
        "} // namespace",
        f'extern "C" int {s}_run_host(int family, int64_t rows, void *const *arrays) {{',
        f"  if ({s}_serves(family, rows) != {s.upper()}_OK) return {s.upper()}_NOT_SERVED;",
        "  const arrays_of &of = arrays_by_family[family];",
        "  size_t bytes[24];",
        "  for (int i = 0; i < families[family].arrays; ++i)",
        "    bytes[i] = of.each[i] ? of.each[i] * size_t(rows) : of.besides[i];",
        "  const auto run = [&](void *const *copies) {",
        f"    return {s}_run(family, rows, copies, nullptr);",
        "  };",
        "  return cuda::on_host(families[family].arrays, bytes, of.written, arrays, run);",
        "}",
        "",
    ]
    return "\n".join(lines)


def _braced(numbers: Sequence[int]) -> str:
    return f"{{{', '.join(map(str, numbers))}}}"


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _report(
    name: str, kernels: Sequence[tuple[Kernel, int]], found: Sequence[Family], target: Target
) -> dict[str, Any]:
    """Plain JSON, as of a library for CPUs; times are not taken."""
    where = {m.kernel: (number, m) for number, family in enumerate(found) for m in family.members}
    rows = [
        {
            **row_of(kernel.problem, times, *where[number]), "kernel": f"k{number}.cubin",
            "configuration": kernel.configuration, "workspace_bytes": kernel.workspace_bytes,
            "median_ns": None,
        }
        for number, (kernel, times) in enumerate(kernels)
    ]  # fmt: skip
    return {
        "name": name, "version": __version__, "target": str(target), "threads": 1,
        "compiler": kernels[0][0].report["compiler"], "families": [family.text for family in found],
        "calls": sum(times for _, times in kernels), "total_ns": None, "problems": rows,
    }  # fmt: skip
