"""imbrex build --library: what it writes, used from C, from C++ and from Python without Imbrex."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import Any, TypeAlias

import numpy as np
import pytest
from tests.pairs import seen_here
from tests.patience import HANG_S
from tests.unit.cli.conftest import Said

from imbrex.build.isa import isa
from imbrex.build.toolchain import find_compiler, run_all
from imbrex.cli import main
from imbrex.diagnostic import Diagnostic
from imbrex.kernel.sizes import sizes_of
from imbrex.library import make
from imbrex.problem import parse_problem

Imbrex: TypeAlias = Callable[..., Said]

ROOT = Path(__file__).parents[3]
CC = (sys.executable, "-m", "ziglang", "cc", "-O1", "-Wall", "-Werror=implicit-function-declaration")
NET = ("gemm -m 4 -n 8 -k 16", "gemm -m 1 -n 8 -k 16")
MANY = (
    "3 gemm -m 12 -n 24 -k 33",
    "gemm -m 6 -n 8 -k 5 -g 3 -transA 1 -alpha 0.5 -beta 2",
    'gemm -t bf16 -m 9 -n 24 -k 32 --epilogue "relu(x + bias) + residual"',
    'gemm -t f16 -m 9 -n 24 -k 32 --epilogue "gelu(pre_activation(x + bias))"',
    "gemm -t i8 -m 9 -n 24 -k 32",
    "gemm -m ?2..9 -n 24 -k 35",
    "gemm -t f64 -m 9 -n 24 -k 32 -lda 40",
    'gemm -t f16 -m 9 -n 24 -k 32 -transB 1 --epilogue "gelu_tanh(x) * row_scale"',
    "conv -n 2 -c 8 -H 9 -W 7 -k 6 -y 3 -x 3 -p 1,2 -q 1 -u 2 -v 1 -g 2",
    'conv -n 2 -c 4 -H 5 -W 7 -k 8 -y 3 -x 3 -p 1 -f NHWC -I NHWC -O NHWC -F 1 --epilogue "relu(x + bias)"',
)


@pytest.fixture
def imbrex(capsys: pytest.CaptureFixture[str]) -> Imbrex:
    def run(*words: str) -> Said:
        with pytest.raises(SystemExit) as end:
            main(words)
        captured = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return Said(end.value.code, captured.out, captured.err)

    return run


def ended(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A program, in a folder; with no place of this package's."""
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(word) for word in words], cwd=cwd, env=environment, capture_output=True, text=True,
        timeout=HANG_S,
    )  # fmt: skip


def test_the_program_checks_every_kernel(imbrex: Imbrex, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    log = tmp_path / "log.txt"
    log.write_text("\n".join([*MANY, "gemm -m 12 -n 24 -k 33", "gemm -t tf32 -m 1 -n 1 -k 1", "none"]))
    words = ("--library", "many", "--threads", "2", "--keep-going", "--format", "json")
    said = imbrex("build", str(log), "-o", str(folder), *words)
    assert said.code == 0 and said.errors.count("skipped ") == 2
    report = json.loads(said.out)
    assert (report["calls"], len(report["problems"]), len(report["families"])) == (15, 12, 12)
    assert report["problems"][0]["times"] == 4 and report["total_ns"] > 0
    total = sum(row["times"] * row["median_ns"] for row in report["problems"])
    assert report["total_ns"] == pytest.approx(total)
    assert json.loads((folder / "many.json").read_text())["families"] == report["families"]
    (told,) = (row for row in report["problems"] if row["least_rows"] < row["rows"])
    assert (told["least_rows"], told["rows"], told["timed_rows"]) == (2, 9, 9)
    (open_,) = parse_problem(told["problem"])
    checked_sizes = 11 + len(sizes_of(open_, told["configuration"]))
    names = {path.name for path in folder.iterdir()}
    assert names == {"libmany.so", "many.h", "many.json", "many_test.c", "manyConfig.cmake", "source"}

    def checked(program: str) -> subprocess.CompletedProcess[str]:
        built = ended(*CC, "-std=c99", program, "libmany.so", "-lm", "-Wl,-rpath,.", cwd=folder)
        assert built.returncode == 0, built.stderr
        return ended("./a.out", "2", cwd=folder)

    good = checked("many_test.c")
    assert good.returncode == 0 and f"{checked_sizes} problems, all right" in good.stdout, good.stdout
    assert good.stdout.count("right ") == checked_sizes
    text = (folder / "many_test.c").read_text()
    damages = (
        ("5, 0.5, 2.0", "5, 0.5, 1.0"),
        ("at[2] * u + y * l", "at[2] * u + x * l"),
        ("(v[7] = (x + v[0]))", "(v[7] = x + 9, x + v[0])"),  # what is kept alone
    )
    for old, new in damages:
        assert text.count(old) == 1
        (folder / "wrong.c").write_text(text.replace(old, new))
        bad = checked("wrong.c")
        assert bad.returncode == 1 and "WRONG" in bad.stdout
        assert f"{checked_sizes} problems, not all right" in bad.stdout


TWINS = (
    "gemm -t bf16 -m {} -n 64 -k 64",
    "gemm -t i8 -m {} -n 64 -k 64",
    "conv -n 1 -c {0} -H 9 -W 9 -k {0} -y 3 -x 3 -p 1 -q 1 -g {0} -F 1",
    "conv -n 1 -c {0} -H 40 -W 40 -k {0} -y 3 -x 3 -p 1 -q 1 -g 8 -F 1 --in_layout NHWC --out_layout NHWC"
    " --fil_layout NHWC",
)


TARGETS = ["cpu", *(["amx", "avx2"] if isa().arch == "x86_64" else [])]


@pytest.mark.parametrize("target", seen_here(TARGETS, TARGETS[2:]))
def test_kernels_of_one_family_are_linked(target: str, imbrex: Imbrex, tmp_path: Path) -> None:
    """What the device headers define is defined once, however many kernels include it."""
    log = tmp_path / "log.txt"
    log.write_text("\n".join(problem.format(size) for problem in TWINS for size in (32, 64)))
    words = ("--library", "twins", "--untuned", "--target", target)
    said = imbrex("build", str(log), "-o", str(tmp_path / "twins"), *words)
    assert said.code == 0, said.errors
    assert (tmp_path / "twins" / "libtwins.so").exists()


def test_from_cpp_and_from_python_without_imbrex(imbrex: Imbrex, tmp_path: Path) -> None:
    net = tmp_path / "net"
    assert imbrex("build", "--library", "net", *NET, "-o", str(net), "--threads", "1").code == 0
    cpp = ROOT / "examples" / "library.cpp"
    plain = ("-x", "c++", "-nostdinc++", "-nostdlib++", cpp, "-x", "none")
    built = ended(*CC[:4], *plain, "-I", net, net / "libnet.so", "-Wl,-rpath,net", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    told = "6 rows, code 0, last element 40\n"
    assert ended("./a.out", cwd=tmp_path).stdout == told
    python = ended(sys.executable, "-I", "-S", ROOT / "examples" / "library_ctypes.py", net, cwd=tmp_path)
    assert python.stdout == told, python.stderr


CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(uses_net CXX)
find_package(net CONFIG REQUIRED PATHS ${CMAKE_CURRENT_SOURCE_DIR}/../net NO_DEFAULT_PATH)
add_executable(uses_net %s)
target_link_libraries(uses_net PRIVATE imbrex::net)
"""


@pytest.mark.skipif(not all(map(which, ("cmake", "c++"))), reason="cmake or c++ is not installed")
def test_the_package_for_cmake(imbrex: Imbrex, tmp_path: Path) -> None:
    assert imbrex("build", "--library", "net", *NET, "-o", str(tmp_path / "net"), "--threads", "1").code == 0
    project = tmp_path / "project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(CMAKE % (ROOT / "examples" / "library.cpp").as_posix())
    for words in (("-S", project, "-B", "made"), ("--build", "made")):
        done = ended("cmake", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    assert ended("made/uses_net", cwd=tmp_path).stdout == "6 rows, code 0, last element 40\n"


@pytest.mark.parametrize(
    ("members", "wanted", "refused"),
    [(("5", "3"), {3, 5, 6, 8, 9, 10, 12}, 11), (("?2..5", "3"), {*range(2, 13)}, 1)],
)
def test_sizes_that_are_sums_are_served_and_others_refused(
    members: tuple[str, ...], wanted: set[int], refused: int, imbrex: Imbrex, tmp_path: Path
) -> None:
    lines = [f"gemm -m {rows} -n 8 -k 16 --epilogue 'x + residual'" for rows in members]
    assert imbrex("build", "--library", "two", *lines, "-o", str(tmp_path / "two")).code == 0
    two: Any = ctypes.CDLL(str(tmp_path / "two" / "libtwo.so"))
    two.imbrex_two_text.restype = ctypes.c_char_p
    assert b"-m ? -n 8" in two.imbrex_two_text(0) and two.imbrex_two_text(1) is None
    served = {rows for rows in range(-1, 13) if two.imbrex_two_serves(0, ctypes.c_int64(rows)) == 0}
    assert served == wanted
    rng = np.random.default_rng(0)
    for rows in (3, 6, 8, 9, 4 if 4 in wanted else 5, refused):
        a, b, residual = (
            rng.integers(-3, 4, shape).astype("f4") for shape in ((rows, 16), (16, 8), (rows, 8))
        )
        c = np.full((rows, 8), 7, "f4")
        places = (ctypes.c_void_p * 4)(*(x.ctypes.data for x in (a, b, c, residual)))
        status = two.imbrex_two_run(0, ctypes.c_int64(rows), places, 1)
        assert status == (2 if rows == refused else 0)
        assert (c == (np.float32(7) if rows == refused else a @ b + residual)).all()


def test_a_kernel_is_compiled_once_for_all_libraries_of_its_name(
    imbrex: Imbrex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IMBREX_CACHE_DIR", str(tmp_path / "cache"))
    made: list[str] = []

    def seen(compiler: Any, commands: Any, products: list[str], *more: Any, **named: Any) -> None:
        made.extend(products)
        run_all(compiler, commands, products, *more, **named)

    monkeypatch.setattr(make, "run_all", seen)

    def built(*problems: str) -> tuple[list[str], bytes]:
        made.clear()
        assert imbrex("build", "--library", "net", *problems, "-o", str(tmp_path / "net")).code == 0
        return sorted(made), (tmp_path / "net" / "libnet.so").read_bytes()

    first, library = built(*NET)
    units = [unit for unit in first if unit not in ("library.cpp", "libnet.so")]
    assert len(units) == 2
    again, same = built(*NET)
    assert again == ["libnet.so", "library.cpp"] and same == library
    more, _ = built(*NET, "gemm -m 5 -n 9 -k 3")
    assert len(more) == 3 and not set(units) & set(more)
    changed, _ = built(f"{NET[0]} -alpha 2", NET[1])
    assert len(changed) == 3 and units[0] in changed and units[1] not in changed
    for entry in (tmp_path / "cache").rglob("unit.o"):
        entry.write_bytes(b"")
    whole, same = built(*NET)
    assert whole == first and same == library  # what is damaged is compiled again


def test_two_libraries_in_one_process(imbrex: Imbrex, tmp_path: Path) -> None:
    found: list[Any] = []
    for name in ("one", "two"):
        folder = tmp_path / name
        assert imbrex("build", "--library", name, NET[0], "-o", str(folder), "--threads", "1").code == 0
        found.append(ctypes.CDLL(str(folder / f"lib{name}.so"), mode=ctypes.RTLD_GLOBAL))
        listed = {line.split()[-1] for line in _symbols(folder / f"lib{name}.so")}
        assert listed and all(symbol.startswith(f"imbrex_{name}_") for symbol in listed)
    assert (found[0].imbrex_one_abi(), found[1].imbrex_two_abi()) == (1, 1)


def _symbols(path: Path) -> list[str]:
    from elftools.elf.elffile import ELFFile

    with path.open("rb") as file:
        table: Any = ELFFile(file).get_section_by_name(".dynsym")
        return [s.name for s in table.iter_symbols() if s.name and s["st_shndx"] != "SHN_UNDEF"]


def test_nothing_is_half_written(imbrex: Imbrex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*words: object) -> str:
        raise Diagnostic("no room")

    monkeypatch.setattr("imbrex.library.make.program", broken)
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "mine.txt").write_text("mine")
    said = imbrex("build", "--library", "net", NET[1], "-o", str(tmp_path / "net"))
    assert said.code == 1 and "no room" in said.errors
    assert [path.name for path in (tmp_path / "net").iterdir()] == ["mine.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["net"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--library", "1x", NET[0]), "'1x' cannot begin names of C"),
        (("--library", "stdint", NET[0]), "stdint.h or libstdint.so is C's own"),
        (
            ("--library", "net", NET[0], "--target", "gfx942"),
            "a library is of a CPU or of an NVIDIA GPU, and",
        ),
        (("--library", "net", NET[0], "--emulate"), "a library is of a CPU"),
        (("--library", "net", NET[0], "--name", "other"), "--library names the files"),
    ],
)
def test_what_is_no_library(imbrex: Imbrex, tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    said = imbrex("build", *words, "-o", str(tmp_path / "out"))
    assert said.code == 1 and told in said.errors and not (tmp_path / "out").exists()


@pytest.mark.parametrize("at", ["sources", "compiler"])
def test_a_full_disk_is_said_of_the_folder_that_was_named(
    at: str, imbrex: Imbrex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(make, {"sources": "put_sources", "compiler": "run_all"}[at], full)
    said = imbrex("build", NET[0], "--library", "net", "-o", str(tmp_path / "out"))
    assert (said.code, said.errors) == (
        1,
        f"error: cannot write to '{tmp_path / 'out'}': no space left on device\n",
    )
    assert list(tmp_path.iterdir()) == []


def test_a_compiler_of_a_folder_that_goes_names_no_file_there(tmp_path: Path) -> None:
    compiler = find_compiler()
    with pytest.raises(Diagnostic) as caught:
        run_all(compiler, [("false",)], ["a.cpp"], tmp_path, is_kept=False)
    assert str(tmp_path) not in str(caught.value) and "failed with exit status 1" in caught.value.message
    (tmp_path / "compiler.log").unlink()
    (tmp_path / "compiler.log").mkdir()
    with pytest.raises(OSError, match="directory"):
        run_all(compiler, [("false",)], ["a.cpp"], tmp_path, is_kept=False)
