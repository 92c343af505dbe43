"""The three files and their headers: complete in their folder, free of warnings with two compilers, right."""

from __future__ import annotations

import ctypes
import posixpath
import re
import shutil
from dataclasses import replace

import pytest
from tests.effort.inlining import INLINES
from tests.pairs import one_in

from imbrex.build.shared_library import build_shared
from imbrex.build.toolchain import WARNINGS, Compiler, find_compiler
from imbrex.kernel import Kernel, compile
from imbrex.numeral import counted
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.run.cpu import load
from imbrex.symbol import symbol_of

NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
SIZES = (2, 6, 9, 8, 10, 3, 3)
CASES: dict[str, tuple[Problem, str]] = {
    "forward": (Conv2d("forward", *SIZES, pad_h=1, pad_w=(1, 0)), "cpu"),
    "forward, NHWC, 1x1, bf16": (Conv2d("forward", 1, 16, 5, 5, 24, 1, 1, dtype="bf16", **NHWC), "cpu"),
    "backward data in four phases": (Conv2d("backward_data", *SIZES, stride=2, pad_h=1), "cpu"),
    "backward weight, groups, f64": (Conv2d("backward_weight", *SIZES, groups=2, dtype="f64"), "cpu"),
    "gemm, transposed, beta": (Gemm(37, 41, 29, transpose_a=True, alpha=2.0, beta=1.0), "cpu"),
    "gemm, i8": (Gemm(20, 33, 40, dtype="i8"), "cpu"),
    "the GPU schedule": (Gemm(37, 41, 29, transpose_b=True), "emulate"),
    "the GPU schedule, fp8": (Gemm(37, 41, 64, dtype="f8e4m3fnuz"), "emulate"),
}
SYSTEM_HEADERS = {"stddef.h", "stdint.h", "immintrin.h", "arm_neon.h", "arm_sve.h"}

cases = pytest.mark.parametrize("case", CASES)
by_clang, by_gcc = (pytest.mark.parametrize("case", one_in(4, list(CASES), i)) for i in (0, 1))
"""Quarters: `build` asks clang for warnings of every other kernel of these tests, too."""


def kernel_of(case: str) -> Kernel:
    problem, target = CASES[case]
    return compile(problem, target, threads=2)


def gcc() -> Compiler:
    if shutil.which("g++") is None:
        pytest.skip("there is no g++ on this machine")
    compiler = find_compiler("g++")
    found = re.search(r"(\d+)\.\d+\.\d+", compiler.version)
    if found is None or int(found[1]) < 12:
        pytest.skip(f"the generated source needs g++ 12, this is {compiler.version}")
    return compiler


def rebuilt(kernel: Kernel, compiler: Compiler) -> Kernel:
    """The same source, optimised and inlined as users' kernels are: some warnings come of it, all errors."""
    library = build_shared(kernel.files, flags=("-O3", INLINES, *WARNINGS, "-Werror"), compiler=compiler)
    return replace(
        kernel, library=library, loaded=load(library.path, symbol_of(kernel.name), kernel.loaded.parameters)
    )


@by_clang
def test_clang_has_no_warning(case: str) -> None:
    assert rebuilt(kernel_of(case), find_compiler()).check().is_right


@by_gcc
def test_gcc_has_no_warning_and_makes_the_same_of_it(case: str) -> None:
    kernel = rebuilt(kernel_of(case), gcc())
    for values in ("integer", "float"):
        outcome = kernel.check(values=values)  # type: ignore[arg-type]
        assert outcome.is_right, str(outcome)


@pytest.mark.parametrize("compiler", ["zig", "g++"])
def test_control_a_warning_is_seen(compiler: str) -> None:
    kernel = kernel_of("forward")
    unit = f"{kernel.name}.cpp"
    files = {**kernel.files, unit: f"{kernel.files[unit]}static int unused() {{ return 1; }}\n"}
    with pytest.raises(Exception, match="unused"):
        build_shared(
            files, flags=(*WARNINGS, "-Werror"), compiler=gcc() if compiler == "g++" else find_compiler()
        )


@cases
def test_every_include_is_in_the_folder(case: str) -> None:
    files = kernel_of(case).files
    for name, text in files.items():
        for quoted in re.findall(r'^\s*#include "([^"]+)"', text, re.MULTILINE):
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(name), quoted))
            assert quoted in files or beside in files, f"{name} includes {quoted}"
        assert set(re.findall(r"^\s*#include <([^>]+)>", text, re.MULTILINE)) <= SYSTEM_HEADERS, name


@cases
def test_the_maps_are_in_the_comments(case: str) -> None:
    kernel = kernel_of(case)
    comments = [line for line in kernel.files[f"{kernel.name}.hpp"].splitlines() if line.startswith("// ")]
    for operand in kernel.problem.operands:
        assert f"// {operand.role}:" in comments
    assert any(" -> " in line for line in comments)


@cases
def test_the_solver_answers(case: str) -> None:
    kernel = kernel_of(case)
    library = ctypes.CDLL(str(kernel.library.path))

    def ask(question: str, *arguments: object, result: type = ctypes.c_int64) -> object:
        function = library[f"{symbol_of(kernel.name)}_{question}"]
        function.restype = result
        return function(*arguments)

    sizes = [size for operand in kernel.problem.operands for size in operand.shape]
    wanted = (ctypes.c_int64 * len(sizes))(*sizes)
    assert ask("is_applicable", wanted, len(sizes), result=ctypes.c_int) == 1
    assert ask("is_applicable", wanted, len(sizes) - 1, result=ctypes.c_int) == 0
    wanted[len(sizes) - 1] += 1
    assert ask("is_applicable", wanted, len(sizes), result=ctypes.c_int) == 0
    assert ask("configuration", result=ctypes.c_char_p) == kernel.configuration.encode()
    assert ask("target", result=ctypes.c_char_p) == kernel.target.kind.encode()
    assert ask("launch_count", result=ctypes.c_int) == kernel.launches == len(kernel.grid_sizes)
    for launch in range(kernel.launches):
        assert ask("grid_size", launch) == kernel.grid_sizes[launch] >= 1
        items = ask("block_size", launch)
        told = "one work item." if items == 1 else f"{items} work items."
        groups = counted(kernel.grid_sizes[launch], "workgroup")
        assert f"// {groups} of {told}" in kernel.files[f"{kernel.name}.hpp"]
        workspace = ask("workspace_bytes", launch)
        assert isinstance(workspace, int) and 0 < workspace <= kernel.workspace_bytes
