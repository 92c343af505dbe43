"""A kernel: built once, found again without the compiler, called on arrays, and refused where it must be."""

from __future__ import annotations

import copy
import ctypes
import json
import multiprocessing
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from tests.host_tuning import for_host
from tests.patience import said_when_warm

from imbrex.build.cache import Cache, CacheWarning
from imbrex.build.toolchain import compile_shared
from imbrex.config.tuning import parse
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Kernel, compile, default_name
from imbrex.kernel.compiled import Origin
from imbrex.kernel.recipe import Recipe
from imbrex.pipeline import Request, lower, machine_for
from imbrex.problem import Conv2d, Gemm, problem_text

GEMM = Gemm(5, 7, 9)
ADDED = Gemm(5, 7, 9, beta=2.0)
CONV = Conv2d("forward", 1, 3, 6, 6, 4, 3, 3, pad_h=1, pad_w=1)
HOSTILE = (
    "free", "aligned_alloc", "pthread_create", "syscall", "getpid", "main", "int", "NULL", "INT32_MAX",
    "imbrex", "IMBREX_INLINE",
)  # fmt: skip
"""Names of C, C++, POSIX, macros and ours."""
BACKWARD = Conv2d("backward_data", 1, 3, 6, 6, 4, 3, 3, pad_h=1, pad_w=1, stride=(2, 1))


@pytest.fixture
def operands() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.standard_normal((5, 9), np.float32), rng.standard_normal((9, 7), np.float32)


def test_a_kernel_knows_what_it_is() -> None:
    kernel = compile(GEMM, threads=2)
    assert (kernel.problem, str(kernel.target), kernel.threads, kernel.name) == (GEMM, "cpu", 2, "gemm")
    assert kernel.bundle.units == ("gemm_solver.cpp", "gemm.cpp", "gemm.hpp")
    assert set(kernel.bundle.units) < set(kernel.files)
    assert "device/cpu/vec.h" in kernel.files
    assert all(kernel.files[name] == (kernel.directory / name).read_text() for name in kernel.files)
    assert kernel.workspace_bytes > 0
    assert len(kernel.grid_sizes) == kernel.launches == 1
    assert [str(t) for t in kernel.tunings] and kernel.tuning_texts[0] in kernel.files["gemm_solver.cpp"]


def test_no_name_meets_one_of_c(tmp_path: Path) -> None:
    """All in one library, which calls the functions of C that some of them are called after."""
    files, unit = dict[str, str](), ""
    for name in HOSTILE:
        machine = machine_for("emulate", "avx2", 1)
        made = lower(Request(GEMM, machine, "emulate", parse("v1:general:64,32,32,4,2,2"), name=name)).bundle
        assert made.units == (f"{name}_solver.cpp", f"{name}.cpp", f"{name}.hpp")
        files |= {file.replace(".cpp", ".inc"): text for file, text in made.files.items()}
        unit += f'#include "{name}_solver.inc"\n#include "{name}.inc"\n'
    library = ctypes.CDLL(str(compile_shared({**files, "all.cpp": unit}, tmp_path, flags=["-O0"])))
    a, b, c = np.ones((5, 9), "f4"), np.ones((9, 7), "f4"), np.empty((5, 7), "f4")
    for name in HOSTILE:
        c.fill(0)
        assert library[f"imbrex_{name}"](*(ctypes.c_void_p(x.ctypes.data) for x in (a, b, c)), 2) == 0
        assert (c == 9).all() and library[f"imbrex_{name}_launch_count"]() == 1


def test_each_phase_of_backward_data_has_its_tuning() -> None:
    kernel = compile(BACKWARD)
    assert kernel.name == default_name(BACKWARD) == "conv2d_backward_data"
    assert len(kernel.tuning_texts) == kernel.launches == 2


def test_text_and_problem_are_the_same_kernel(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    first = compile(problem_text(GEMM), cache=cache)
    second = compile(GEMM, cache=cache)
    assert (first.was_cached, second.was_cached) == (False, True)
    assert first.compile_s > 0 == second.compile_s
    assert first.library.path == second.library.path
    assert first.tuning_texts == second.tuning_texts


def test_other_choices_are_other_kernels() -> None:
    one = compile(GEMM)
    tuned = compile(GEMM, "emulate", "v1:general:64,32,32,8,2,2")
    assert len({k.library.path for k in (one, tuned)}) == 2
    assert tuned.tuning_texts == ("v1:general:64,32,32,8,2,2",)
    assert tuned.check().is_right


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of a cache that holds the kernel of GEMM, and nothing else."""
    directory = tmp_path_factory.mktemp("filled")
    compile(GEMM, cache=Cache(directory))
    return directory


@pytest.fixture
def warm(filled: Path, tmp_path: Path) -> Cache:
    """A cache of its own that holds the kernel of GEMM."""
    return Cache(copytree(filled, tmp_path / "cache"))


def test_a_lost_library_is_built_again(warm: Cache) -> None:
    first = compile(GEMM, cache=warm)
    assert first.was_cached
    first.library.path.unlink()
    again = compile(GEMM, cache=warm)
    assert not again.was_cached
    assert again.check().is_right


def test_a_damaged_recipe_is_made_again(warm: Cache) -> None:
    for recipe in (warm.root / "recipes").iterdir():
        recipe.write_text('{"sha256": "0", "recipe": "{}"}')
    assert not compile(GEMM, cache=warm).was_cached
    assert compile(GEMM, cache=warm).was_cached


@pytest.mark.parametrize("recipe", [{}, {"object": 3}, {"object": "../../x", "tunings": []}, {"tunings": 1}])
def test_a_recipe_that_leads_nowhere_is_made_again(warm: Cache, recipe: dict[str, Any]) -> None:
    """Its hash is right, and yet it is none."""
    assert warm.root is not None
    (path,) = (
        p for p in (warm.root / "recipes").iterdir() if p.stem == _origin(compile(GEMM, cache=warm)).key
    )
    warm.remember(path.stem, recipe)
    assert not compile(GEMM, cache=warm).was_cached
    assert compile(GEMM, cache=warm).was_cached


def test_a_recipe_is_what_its_json_says() -> None:
    for kernel in (compile(GEMM), compile(CONV, "gfx942"), compile(BACKWARD, "emulate")):
        recipe = _origin(kernel).recipe
        assert Recipe.from_json(json.loads(json.dumps(recipe.to_json()))) == recipe


def _origin(kernel: Kernel) -> Origin:
    assert kernel.origin is not None
    return kernel.origin


def test_a_kernel_goes_to_another_process(operands: tuple[np.ndarray, np.ndarray]) -> None:
    """Which has it from the cache, or makes it itself."""
    a, b = operands
    kernel = compile(GEMM, threads=1)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply(kernel, (a, b)), kernel(a, b))
        assert pool.apply(pickle.loads, (pickle.dumps(kernel),)).was_cached


def test_a_kernel_that_is_unpickled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kernel = compile(GEMM, threads=1, name="mine")
    again = pickle.loads(pickle.dumps(kernel))
    assert again.was_cached and again.library.path == kernel.library.path
    assert (again.name, again.threads, again.problem, again.origin) == ("mine", 1, GEMM, kernel.origin)
    monkeypatch.setenv("IMBREX_CACHE_DIR", str(tmp_path))
    elsewhere = copy.copy(kernel)
    assert not elsewhere.was_cached and elsewhere.directory.is_relative_to(tmp_path)
    assert elsewhere.check().is_right
    with pytest.raises(TypeError, match="cannot be sent to another process"):
        pickle.dumps(replace(kernel, origin=None))


def test_a_kernel_of_one_run_time_size_goes_to_another_process() -> None:
    a, b = np.ones((5, 4), np.float32), np.ones((4, 3), np.float32)
    for problem, arrays in (
        ("gemm -m ?1..64 -n 3 -k 4", (a, b)),
        ("conv -n ?1..8 -c 2 -H 4 -W 4 -k 3 -y 3 -x 3 -F 1", None),
    ):
        kernel = compile(problem, threads=1).at(5)
        for again in (pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel), copy.copy(kernel)):
            assert (again.problem, again.configuration) == (kernel.problem, kernel.configuration)
            assert again.check().is_right
        if arrays is not None:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                np.testing.assert_array_equal(pool.apply(kernel, arrays), kernel(*arrays))


def test_a_kernel_made_for_another_machine_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though an object lies under the key that its recipe names."""
    kernel = compile(GEMM)
    told = pickle.dumps(replace(kernel, origin=_origin(kernel)._replace(key="0" * 64)))
    assert pickle.loads(told).origin == kernel.origin


def test_the_files_of_a_kernel_whose_entry_is_gone(warm: Cache) -> None:
    kernel, other = compile(GEMM, cache=warm), compile(GEMM, cache=warm)
    assert kernel.files
    shutil.rmtree(other.directory)
    with pytest.raises(Diagnostic, match=r"'kernel.so' is gone from .*: no such file or directory"):
        _ = other.files
    with pytest.raises(Diagnostic, match=r"'kernel.so' is gone from .*: no such file or directory"):
        other.check()
    assert kernel.files and other.grid_sizes == (1,)


def test_a_kernel_that_no_cache_takes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert compile(GEMM).is_kept
    with pytest.warns(CacheWarning, match="is not used"):
        kernel = compile(GEMM, cache=Cache(tmp_path / "file"))
    assert not kernel.is_kept and compile(GEMM).is_kept
    assert kernel.check().is_right and kernel.bundle.units[0] in kernel.files


def test_a_warm_start_imports_no_compiler(kernel_cache: Path) -> None:
    absent = ("xdsl", "imbrex.ir", "rich", "subproc", "filelock", "tempfile")
    program = (
        "import sys, numpy, imbrex\n"
        f"kernel = imbrex.compile({problem_text(CONV)!r})\n"
        "assert kernel.was_cached\n"
        f"print([m for m in sys.modules if m.startswith({absent})])\n"
    )
    assert said_when_warm(program, kernel_cache) == ("[]\n", "")


def test_a_stream_is_of_a_gpu(operands: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(TypeError, match="'stream' is of a GPU, and this kernel runs on the CPU"):
        compile(GEMM)(*operands, stream=0)


def test_importing_the_package_imports_next_to_nothing() -> None:
    program = (
        "import sys, imbrex; print([m for m in sys.modules if m.startswith(('numpy', 'xdsl', 'click'))])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (said.stdout, said.stderr) == ("[]\n", "")


def test_a_call_writes_the_output_and_returns_it(operands: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = operands
    out = np.full((5, 7), np.nan, np.float32)
    kernel = compile(GEMM)
    assert kernel(a, b, out) is out
    np.testing.assert_allclose(out, a @ b, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(kernel(a, b), out)


def test_a_result_that_is_read_must_be_given(operands: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = operands
    kernel = compile(ADDED)
    with pytest.raises(TypeError, match=r"takes 3 arrays \(a, b, c\), got 2"):
        kernel(a, b)
    np.testing.assert_allclose(kernel(a, b, np.ones((5, 7), np.float32)), a @ b + 2, rtol=1e-5, atol=1e-6)


def test_tensors_of_torch(operands: tuple[np.ndarray, np.ndarray]) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    a, b = operands
    result = compile(GEMM)(torch.from_numpy(a), torch.from_numpy(b))
    assert isinstance(result, torch.Tensor)
    np.testing.assert_allclose(result.numpy(), a @ b, rtol=1e-5, atol=1e-6)


def bad(name: str) -> Callable[[], object]:
    a, b, c = (np.zeros(s, np.float32) for s in ((5, 9), (9, 7), (5, 7)))
    shared = np.zeros(85, np.float32)
    calls: dict[str, Callable[[], object]] = {
        "one array": lambda: compile(GEMM)(a),
        "a list as the output": lambda: compile(GEMM)(a, b, c.tolist()),
        "another type": lambda: compile(GEMM)(a.astype(np.float64), b, c),
        "another shape": lambda: compile(GEMM)(a, b.T.copy(), c),
        "gaps": lambda: compile(GEMM)(np.zeros((5, 18), np.float32)[:, ::2], b, c),
        "the same memory": lambda: compile(GEMM)(a, shared[:63].reshape(9, 7), shared[50:].reshape(5, 7)),
        "no threads": lambda: compile(GEMM, threads=0),
    }
    return calls[name]


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        ("one array", TypeError, "takes 3 arrays"),
        ("a list as the output", TypeError, "'c' is the output and should be an array, got a sequence"),
        ("another type", TypeError, "'a' should have dtype float32, got float64"),
        ("another shape", ValueError, r"'b' should have shape \(9, 7\), got \(7, 9\)"),
        ("gaps", ValueError, "'a' should be contiguous"),
        ("the same memory", ValueError, "the output 'c' shares memory with 'b'"),
        ("no threads", ValueError, "'threads' should be an integer from 1"),
    ],
)
def test_what_a_call_refuses(what: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        bad(what)()


def test_an_algorithm_is_a_name() -> None:
    with pytest.raises(TypeError, match="'algorithm' should be a name, got 3"):
        compile("gemm -m 4 -n 4 -k 4", algorithm=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "gpu"}, "unknown target 'gpu'"),
        ({"target": "emulat"}, "did you mean 'emulate'"),
        ({"tuning": "v1:cpu:1,2"}, "a cpu tuning takes 9 to 10 values, got 2"),
        ({"tuning": "v1:general:64,32,32,8,2,2"}, "does not run on"),
        ({"tuning": for_host("v1:cpu:99,16,99,32,16,16,k_major,a,straight")}, "is illegal: registers"),
        ({"algorithm": "v1r1"}, "algorithm 'v1r1' is one of backward data, this is a product"),
        ({"algorithm": "v9"}, "unknown algorithm 'v9'"),
        ({"algorithm": "data_tiled", "target": "sm_90a"}, "'data_tiled' packs tiles for AMD's matrix instr"),
        ({"name": "7up"}, "'7up' cannot name a function of C"),
        ({"name": "a-b"}, "'a-b' cannot name a function of C"),
        ({"target": "cpu", "emulate": True}, "target 'cpu' has no lane-level form"),
    ],
)
def test_what_cannot_be_compiled(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(Diagnostic) as caught:
        compile(GEMM, **arguments)  # type: ignore[arg-type]
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((None,), "'problem' should be a problem or the text of one, got None"),
        ((GEMM, None), "'target' should be a name, got None"),
        ((GEMM, "cpu", 3), "'tuning' should be a tuning or the text of one, got int"),
    ],
)
def test_what_is_no_word_is_a_type_error(words: tuple[Any, ...], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        compile(*words)


def test_a_hint_names_what_the_target_has() -> None:
    half, plain = replace(BACKWARD, dtype="f16"), "has, by what it does, reads in place: v4r1"
    copies = "packs what it reads: channels_last, window_rows, merged_groups:COUNT"
    packing = f"{plain}, channel_vectors, row_halo:COUNT; {copies}"
    told = {
        "cpu": f"backward data on a CPU {plain}, window_vectors",
        "gfx942": f"backward data on gfx942 {packing}; packs the result, too: all_last",
        "sm_90a": f"backward data on sm_90a {plain}, channel_vectors, interleaved, shared_phases, ",
    }
    for target, known in told.items():
        with pytest.raises(Diagnostic) as caught:
            compile(half, target, algorithm="v4r4")
        hint = caught.value.hint or ""
        assert hint.startswith(known) and (target == "sm_90a" or hint == known)


@pytest.mark.parametrize(
    ("groups", "count", "message"),
    [
        (6, "4", "says how many of 6 groups are computed as one"),
        (6, "0", "says how many of 6 groups are computed as one"),
        (1, "1", "has no groups to merge"),
    ],
)
def test_groups_that_cannot_be_merged(groups: int, count: str, message: str) -> None:
    conv = Conv2d("forward", n=1, c=12, h=8, w=8, k=12, y=3, x=3, groups=groups)
    with pytest.raises(Diagnostic, match=message):
        compile(conv, "gfx942", algorithm=f"merged_groups:{count}")


def test_atomic_sums_are_not_rounded() -> None:
    with pytest.raises(Diagnostic, match="each sum rounded to f16"):
        compile(replace(BACKWARD, dtype="f16"), algorithm="v1r1")


def test_one_kernel_computes_one_problem() -> None:
    with pytest.raises(Diagnostic, match="the text holds 3 problems"):
        compile("conv -n 1 -c 3 -H 6 -W 6 -k 4 -y 3 -x 3")


@pytest.mark.parametrize("values", ["integer", "float", "probe"])
@pytest.mark.parametrize("problem", [GEMM, CONV, BACKWARD, ADDED], ids=lambda p: p.key())
def test_check(problem: Conv2d | Gemm, values: str) -> None:
    outcome = compile(problem).check(3, values=values)  # type: ignore[arg-type]
    assert outcome.is_right, str(outcome)
    is_scaled = isinstance(problem, Gemm) and problem.beta != 0.0
    assert outcome.is_exact == (values == "integer" or (values == "probe" and not is_scaled))


def test_a_check_is_a_pass_of_each_kind() -> None:
    outcome = compile(GEMM).check()
    assert [one.values for one in outcome.passes] == ["integer", "float", "probe"]
    assert str(outcome) == f"right: {outcome.elements} elements, on integer, float and probe values"
    whole = compile("gemm -m 5 -n 6 -k 7 -t i8").check()
    assert str(whole) == "right: 30 elements, on integer and probe values" and whole.is_exact


def test_control_check_sees_a_wrong_kernel() -> None:
    """A kernel of the same shapes that computes something else."""
    right = compile(GEMM)
    wrong = replace(right, problem=replace(GEMM, alpha=2.0))
    assert right.check().is_right
    outcome = wrong.check()
    assert not outcome.is_right and outcome.failed is not None and outcome.failed.values == "integer"
    assert str(outcome).startswith("wrong: ") and str(outcome).endswith(", on integer values")
