"""imbrex build --library for sm_90a: what reaches a driver that is played, without Python's part in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import HANG_S

from imbrex.build.toolchain import compile_shared
from imbrex.cli import main
from imbrex.kernel import Kernel, compile
from imbrex.library.cuda import cuda_unit
from imbrex.problem import problem_text
from imbrex.run.cuda.kernel import CudaKernel
from imbrex.run.launch import Launch, Zero

pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed")

CC = (sys.executable, "-m", "ziglang", "cc", "-O1", "-Wall", "-Werror=implicit-function-declaration")
LARGE, SMALL = "gemm -m 256 -n 512 -k 512 -t f16", "gemm -m 64 -n 512 -k 512 -t f16"
SHARED = "gemm -m 128 -n 128 -k 4096 -t f32"
TOLD = "gemm -t f16 -m ?1..320 -n 256 -k 512"
SUMMED = "gemm -t tf32 -m 200 -n 72 -k ?1..5000 -transA 1"
ODD = "gemm -m 3 -n 5 -k 7 -t f32"
SPARSE = "conv -n 2 -c 8 -H 8 -W 8 -k 8 -y 1 -x 1 -u 2 -v 2 -F 2"
PROGRAM = """
import ctypes, sys
net = ctypes.CDLL(sys.argv[1])
text, sizes = sys.argv[2].encode(), sys.argv[6]
rows, stream, shift = map(int, sys.argv[3:6])
found = ctypes.c_int64()
family = net.imbrex_net_find(text, ctypes.byref(found))
memory = [ctypes.create_string_buffer(int(size) + 512) for size in sizes.split(",")]
starts = [ctypes.addressof(m) + -ctypes.addressof(m) % 256 + shift for m in memory]
arrays = (ctypes.c_void_p * len(starts))(*starts)
print("arrays", *starts, flush=True)
if stream < 0:
    code = net.imbrex_net_run_host(family, ctypes.c_int64(rows), arrays)
else:
    code = net.imbrex_net_run(family, ctypes.c_int64(rows), arrays, ctypes.c_void_p(stream))
ctypes.CDLL(None).fflush(None)
print("code", code, ctypes.c_int.from_address(starts[-1]).value, flush=True)
"""


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpu")
    with pytest.raises(SystemExit) as end:
        problems = (LARGE, SMALL, SHARED, TOLD, SUMMED, ODD, SPARSE)
        main(("build", "--library", "net", *problems, "--target", "sm_90a", "--untuned",
              "-o", str(folder / "net")))  # fmt: skip
    assert end.value.code == 0
    source = Path(__file__).with_name("libcuda.cpp")
    compile_shared({source.name: source.read_text()}, folder, name="libcuda.so.1")
    return folder


def called(
    net: Path, text: str, rows: int, sizes: str, stream: int = 77, shift: int = 0, **told: int
) -> list[str]:
    """What the driver was told of a call, and its code; with no driver where told says so."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment |= {name: str(value) for name, value in told.items()}
    environment |= {} if "NONE" in told else {"LD_LIBRARY_PATH": str(net)}
    words = (text, rows, stream, shift, sizes)
    command = (sys.executable, "-I", "-S", "-c", PROGRAM, net / "net" / "libnet.so", *words)
    done = subprocess.run(
        [str(word) for word in command], env=environment, capture_output=True, text=True, timeout=HANG_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def line(rows: int) -> str:
    return f"gemm -t f16 -m {rows} -n 512 -k 512 -transA 0 -transB 0 -g 1"


SIZES = f"{320 * 512 * 2},{512 * 512 * 2},{320 * 512 * 2}"


def step_of(kernel: Kernel) -> Launch:
    assert isinstance(kernel.loaded, CudaKernel)
    (step,) = kernel.loaded.launches
    return step


def test_rows_that_are_a_sum_are_two_launches_on_pieces_of_the_arrays(net: Path) -> None:
    said = called(net, line(320), 320, SIZES, MAPS=3, ARRAYS=3)
    a, b, c = map(int, said[0].split()[1:])
    launches = [one for one in said if one.startswith("launch")]
    for done, (problem, row) in zip(launches, ((LARGE, 0), (SMALL, 256)), strict=True):
        step = step_of(compile(problem, "sm_90a", untuned=True))
        places = [a + row * 1024, b, c + row * 1024]
        maps = " ".join(f"map {places[step.arguments[t.argument]]} 0" for t in step.tensors)
        arrays = " ".join(f"at {places[i]}" for i in step.arguments)
        geometry = f"{step.grid_size} {step.block_size} {step.shared_bytes}"
        wanted = (
            f"launch {step.kernel} {geometry} stream 77 cluster {step.cluster} early {int(step.is_early)}"
        )
        assert done == f"{wanted} {maps} {arrays}"
        for tensor in step.tensors:
            form = tensor.form
            told = f"tiled 6 2 sizes {form.sizes[0]} {form.sizes[1]} stride {form.strides[0] * 2} box"
            assert any(one.startswith(told) and one.endswith(" more 0 2 0") for one in said), (told, said)
    assert said.count("load 1") == 2 and said[-1].startswith("code 0")


def test_arrays_of_the_host_are_copied(net: Path) -> None:
    said = called(net, line(64), 64, SIZES, stream=-1, MAPS=3, ARRAYS=3)
    sizes = [64 * 512 * 2, 512 * 512 * 2, 64 * 512 * 2]
    assert [one for one in said if one.startswith("allocate")] == [f"allocate {size}" for size in sizes]
    assert f"down {sizes[2]}" in said and said.count("release") == 3 and said[-1] == "code 0 7"


def test_workgroups_that_share_tiles_have_memory_of_the_stream(net: Path) -> None:
    kernel = compile(SHARED, "sm_90a", untuned=True)
    assert kernel.origin is not None
    workspace = [array.parameter for array in kernel.origin.recipe.workspace]
    assert any(p.is_zeroed for p in workspace), "the case is one with flags"
    text = "gemm -t f32 -m 128 -n 128 -k 4096 -transA 0 -transB 0 -g 1"
    said = called(net, text, 128, f"{128 * 4096 * 4},{128 * 4096 * 4},{128 * 128 * 4}")
    assert [one for one in said if one.startswith("borrow")] == [f"borrow {p.bytes}" for p in workspace]
    assert [one for one in said if one.startswith("fill")] == [
        f"fill 0 {p.bytes}" for p in workspace if p.is_zeroed
    ]
    assert said.count("give back") == len(workspace) and said[-1].startswith("code 0")
    assert said.index("give back") > max(i for i, one in enumerate(said) if one.startswith("launch"))


def test_what_no_window_reaches_is_zeroed_first(net: Path) -> None:
    kernel = compile(SPARSE, "sm_90a", untuned=True)
    assert kernel.origin is not None
    zero, *launches = kernel.origin.recipe.steps
    assert isinstance(zero, Zero) and launches
    sizes = [operand.reach * operand.dtype.bytes for operand in kernel.problem.operands]
    said = called(net, problem_text(kernel.problem), 2, ",".join(map(str, sizes)))
    done = [one.split()[0] for one in said if one.startswith(("fill", "launch"))]
    assert f"fill 0 {sizes[zero.argument]}" in said and done == ["fill", *["launch"] * len(launches)]


def test_of_told_images_as_many_are_zeroed() -> None:
    last = "-I NHWC -O NHWC -f NHWC"
    text = f"convfp16 -n ?1..8 -c 64 -H 8 -W 8 -k 64 -y 1 -x 1 -u 2 -v 2 -F 2 {last}"
    kernel = compile(text, "sm_90a", untuned=True)
    unit = cuda_unit(kernel, kernel.target)["unit.h"]
    assert f"{{}}, {8 * 64 * 8 * 8 * 2}, {{1, 8, 1, 0, 0}}" in unit


@pytest.mark.parametrize(
    ("rows", "shift", "told", "code"),
    [
        (64, 0, {"NONE": 1}, 3),
        (64, 0, {"CAPABILITY": 8}, 4),
        (64, 4, {}, 6),
        (63, 0, {}, 2),
        (64, 0, {"FAILS": 700}, 1700),
    ],
)
def test_codes(net: Path, rows: int, shift: int, told: dict[str, int], code: int) -> None:
    said = called(net, line(64), rows, SIZES, shift=shift, **told)
    assert said[-1].split()[:2] == ["code", str(code)]
    assert code == 1700 or not any(one.startswith("launch") for one in said)


def test_rows_whose_pieces_are_not_aligned_are_no_family(net: Path) -> None:
    header = (net / "net" / "net.h").read_text()
    assert "-m ? -n 512" in header and "-m 3 -n 5 -k 7" in header and "imbrex_net_run_host" in header


def test_the_program_is_c(net: Path) -> None:
    words = (*CC, "-std=c99", "net_test.c", "libnet.so", "-lm", "-Wl,-rpath,.", "-o", "checks")
    built = subprocess.run(words, cwd=net / "net", capture_output=True, text=True, timeout=HANG_S)
    assert built.returncode == 0, built.stderr


@pytest.mark.parametrize(("rows", "pieces"), [(1, [1]), (17, [17]), (320, [320]), (401, [320, 81])])
def test_rows_that_are_told(net: Path, rows: int, pieces: list[int]) -> None:
    text = TOLD.replace("?1..320", str(rows)) + " -transA 0 -transB 0 -g 1"
    kernel = compile(TOLD, "sm_90a", untuned=True)
    assert kernel.origin is not None
    every = [step for step in kernel.origin.recipe.steps if isinstance(step, Launch)]
    assert len(every) > 1, "buckets"
    said = called(net, text, rows, f"{rows * 1024},{512 * 512},{rows * 512}", MAPS=3, ARRAYS=3, COUNT=1)
    launches = [one.split(" stream")[0] + one[one.index(" count") : one.index(" map")] for one in said
                if one.startswith("launch")]  # fmt: skip
    heads, sizes = list[str](), list[str]()
    for piece in pieces:
        (step,) = (found for one in every if (found := one.at(piece)) is not None)
        geometry = f"{step.grid_size} {step.block_size} {step.shared_bytes}"
        heads.append(f"launch {step.kernel} {geometry} count {piece}")
        sizes += [f"sizes {t.form.sizes[0]} {t.form.sizes[1]} " for t in step.tensors]
    assert launches == heads and said[-1].startswith("code 0")
    tiled = [one for one in said if one.startswith("tiled")]
    assert len(tiled) == len(sizes) and all(size in one for size, one in zip(sizes, tiled, strict=True))


def test_a_range_whose_pieces_are_not_aligned_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("gemm -m ?1..9 -n 9 -k 8 -t f16", "--target", "sm_90a", "--untuned")
    with pytest.raises(SystemExit) as end:
        main(("build", "--library", "net", *words, "-o", str(tmp_path / "net")))
    said = capsys.readouterr().err
    assert end.value.code == 1 and "let m end with a multiple of 8" in said


@pytest.mark.parametrize(("rows", "code"), [(1, 0), (5000, 0), (5001, 2)])
def test_rows_that_are_summed_over_are_told(net: Path, rows: int, code: int) -> None:
    """They are in no pieces: two launches would each store sums of their own."""
    kernel = compile(SUMMED, "sm_90a", untuned=True)
    assert kernel.origin is not None
    workspace = [array.parameter for array in kernel.origin.recipe.workspace]
    assert any(p.is_zeroed for p in workspace), "the case is one with flags"
    text = SUMMED.replace("?1..5000", str(rows)) + " -transB 0 -g 1"
    steps = (step for step in kernel.origin.recipe.steps if isinstance(step, Launch))
    (step,) = (found for one in steps if (found := one.at(min(rows, 5000))) is not None)
    given = {"MAPS": len(step.tensors), "ARRAYS": len(step.arguments), "COUNT": 1}
    said = called(net, text, rows, f"{rows * 800},{rows * 288},{200 * 72 * 4}", **given)
    launches = [one for one in said if one.startswith("launch")]
    assert said[-1].split()[:2] == ["code", str(code)] and len(launches) == (code == 0)
    if code == 0:
        assert launches[0].startswith(f"launch {step.kernel} {step.grid_size} ")
        assert f" count {rows} " in launches[0] + " "
        assert [one for one in said if one.startswith("borrow")] == [f"borrow {p.bytes}" for p in workspace]
