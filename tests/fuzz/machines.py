"""What is carried out: IR that comes back from its text, levels that agree, kernels that are right, caches
that heal, commands that end in one message.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path

from hypothesis import strategies as st
from tests.fuzz.drawn import NUMBERS, damaged, gemm_lines, lines
from tests.fuzz.generator import Generator, expect_message
from tests.fuzz.texts import schedules, tunings

import imbrex
from imbrex.build.cache import CacheWarning
from imbrex.chip import CPU_ISAS, GPU_MACHINES
from imbrex.cli import main
from imbrex.cli.meaning import executed, small
from imbrex.config import tiles
from imbrex.config.algorithm.table import ALGORITHMS
from imbrex.diagnostic import Diagnostic
from imbrex.ir.dialect import load
from imbrex.ir.from_problem import problem_module
from imbrex.ir.printed import print_module
from imbrex.pipeline import Request
from imbrex.problem import parse_problem
from imbrex.run.host_machine import host_machine

LIT = Path(__file__).parents[1] / "lit"


def ir(text: str) -> bool:
    """A module is that of its text, in every form; what is none says where."""
    try:
        module = load(text, "fuzz.mlir").module
    except Diagnostic as error:
        return expect_message(error)
    for forms in ({}, {"generic": True}, {"compact": True}):
        printed = print_module(module, **forms)
        assert print_module(load(printed).module, **forms) == printed, printed
    return True


@st.composite
def modules(draw: st.DrawFn) -> str:
    """The module of a problem, as people or as tools write it, or a text of the tests."""
    if draw(st.booleans()):
        text = draw(st.sampled_from(sorted(LIT.glob("*.mlir")))).read_text("utf-8")
        return draw(st.sampled_from(text.split("// -----")))
    try:
        module = problem_module(parse_problem(draw(lines()))[0], "fuzz")
    except Diagnostic:
        return "builtin.module {}"
    return print_module(module, generic=draw(st.booleans()))


TARGETS = ("avx512", "avx2", "neon", "emulate", "gfx908", "gfx942", "gfx950", "sm_90a")


def levels(line: str, target: str, algorithm: str, schedule: str) -> bool:
    """Every level of the IR computes what the problem says, on whole numbers."""
    where = {**CPU_ISAS, **GPU_MACHINES}[target]
    try:
        problem = small(parse_problem(line)[0])
        form = "cpu" if target in CPU_ISAS else target
        shared = tiles.wanted(schedule) if schedule else None
        for level in executed(Request(problem, where, form, None, algorithm or None, "fuzz", shared)):
            assert level.comparison.is_right, f"{level.level}: {level.comparison}"
    except Diagnostic as error:
        return expect_message(error)
    return True


NAMES = [row.name for row in ALGORITHMS]
COUNTED = [f"{row.name}:{count}" for row in ALGORITHMS if row.is_counted for count in (1, 2, 32)]
CHOICES = st.tuples(
    lines(),
    st.sampled_from(TARGETS),
    st.just("") | st.sampled_from([*NAMES, *COUNTED]),
    st.just("") | schedules(),
)


@st.composite
def cpu_tunings(draw: st.DrawFn, level: str) -> str:
    """One that has a chance to be legal."""
    here = CPU_ISAS[level].lanes(4)
    m, lanes = draw(st.integers(1, 12)), draw(st.sampled_from([here, here, here // 2, 4]))
    n = lanes * draw(st.integers(1, 3))
    blocks = (
        m * draw(st.integers(1, 4)),
        n * draw(st.integers(1, 4)),
        draw(st.sampled_from([1, 2, 4, 8, 16, 64])),
    )
    words = draw(st.sampled_from(["k_major,a,straight", "k_blocked,b,straight", "k_major,b,swapped"]))
    return f"v1:cpu:{m},{n},{blocks[0]},{blocks[1]},{blocks[2]},{lanes},{words}"


def kernel(line: str, given: str, schedule: str) -> bool:
    """A compiled kernel of this CPU is right, against float64, whatever its tuning and schedule."""
    try:
        built = imbrex.compile(line, "cpu", given or None, schedule=schedule or None, threads=2)
        found = built.check(values="integer"), built.check(values="float")
    except Diagnostic as error:
        assert "fail" not in error.message, error  # of the compiler
        return expect_message(error)
    for comparison in found:
        assert comparison.is_right, str(comparison)
    return True


FOREIGN_LEVELS = [name for name, row in CPU_ISAS.items() if row.qemu]


@st.composite
def foreign_cases(draw: st.DrawFn) -> tuple[str, str, str]:
    level = draw(st.sampled_from(FOREIGN_LEVELS))
    return draw(lines()), level, draw(st.just("") | cpu_tunings(level))


def foreign(line: str, level: str, given: str) -> bool:
    """A compiled kernel of another CPU is right in QEMU, whatever its tuning."""
    try:
        found = imbrex.compile(line, level, given or None, emulate=True, threads=2).check()
    except Diagnostic as error:
        assert "fail" not in error.message, error  # of the compiler
        return expect_message(error)
    assert found.is_right, str(found)
    return True


FAULTS = ("drop", "empty", "halve", "flip", "folder", "text", "deep", "append", "unreadable", "exchange")
LINE = "gemm -m 5 -n 7 -k 9"


@cache
def _template() -> Path:
    """A cache with one kernel."""
    folder = Path(tempfile.mkdtemp(prefix="imbrex-fuzz-"))
    with _cache_at(folder):
        imbrex.compile(LINE)
    return folder


@contextlib.contextmanager
def _cache_at(folder: Path):
    before = os.environ.get("IMBREX_CACHE_DIR")
    os.environ["IMBREX_CACHE_DIR"] = str(folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CacheWarning)
            yield
    finally:
        del os.environ["IMBREX_CACHE_DIR"]
        if before is not None:
            os.environ["IMBREX_CACHE_DIR"] = before


def damaged_cache(*faults: str) -> bool:
    """A cache whose files are not what they were costs time, the first time, and the kernel is right."""
    with tempfile.TemporaryDirectory(prefix="imbrex-fuzz-") as name:
        folder = Path(name) / "cache"
        shutil.copytree(_template(), folder)
        for fault in faults:
            kind, _, number = fault.partition(":")
            files = sorted(path for path in folder.rglob("*") if path.is_file())
            if files:
                _damage(files[int(number) % len(files)], kind, files)
        with _cache_at(folder):
            assert imbrex.compile(LINE).check().is_right
            again = imbrex.compile(LINE)
            assert again.was_cached or any("folder" in fault for fault in faults), "it does not heal"
    return True


def _damage(path: Path, kind: str, files: list[Path]) -> None:
    """In a new file: the old one may be a library that is loaded."""
    data = path.read_bytes()
    path.unlink()
    match kind:
        case "drop":
            return
        case "folder":
            path.mkdir()
            return
        case "empty":
            data = b""
        case "halve":
            data = data[: len(data) // 2]
        case "flip":
            data = data[:-1] + bytes([data[-1] ^ 1]) if data else b"\1"
        case "text":
            data = b'{"files": {}}'
        case "deep":
            data = b"[" * 100_000
        case "append":
            data += b"\0"
        case "exchange":
            data = next(other for other in files if other != path and other.exists()).read_bytes()
        case _:
            pass
    path.write_bytes(data)
    if kind == "unreadable":
        path.chmod(0)


def command(*words: str) -> bool:
    """A command line ends with 0 and a result, or with 1 or 2, one message, and no file written."""
    out, errors = io.StringIO(), io.StringIO()
    code: object = None
    with tempfile.TemporaryDirectory(prefix="imbrex-fuzz-") as folder, contextlib.chdir(folder):
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            try:
                main(list(words))
            except SystemExit as ended:
                code = ended.code
        files = os.listdir(folder)
        written = [path.read_text("utf-8") for path in map(Path, files) if path.is_file()]
    said = errors.getvalue()
    assert code in (0, 1, 2), f"exit code {code}: {said}"
    assert "a fault of Imbrex" not in said and "Traceback" not in said, said
    is_told = words[:1] == ("explain",) and "--tuning" in words and not said  # why it is illegal, as a result
    is_one = said.count("error: ") == 1 or not words or is_told
    assert code == 0 or (is_one and files == []), f"{said!r}, {files}"
    assert len(said) < 4000 and all(c.isprintable() or c in "\n\t" for c in said), repr(said)
    if code == 0 and "json" in words and "--levels" not in words and "--meaning" not in words:
        for result in written if "-o" in words else [out.getvalue()]:
            json.loads(result)
    return code == 0


@st.composite
def command_lines(draw: st.DrawFn) -> tuple[str, ...]:
    """Commands that compile nothing, with options right and wrong."""
    options = {
        "--target": st.sampled_from([*TARGETS, "cpu", "mi300x", "sm_80", "gfx1201", "cpu,gfx942", ""]),
        "--tuning": damaged(tunings()),
        "--schedule": damaged(schedules()),
        "--threads": NUMBERS,
        "--layout": st.sampled_from(["NHWC", "NCHW", "channels_last", "NCXX", "CHWN", ""]),
        "--algorithm": st.sampled_from([*NAMES, "winograd", "halo:x", *COUNTED]),
        "--format": st.sampled_from(["json", "table", "xml"]),
    }
    flags = st.sampled_from(["--emulate", "--levels", "--compact", "--traceback=1", "--zzz"])
    match draw(st.sampled_from(["explain", "schedule", "map", "mma", "swizzle", "any"])):
        case "explain":
            words = ["explain", draw(damaged(lines()))]
        case "schedule":
            words = ["explain", "schedule", draw(damaged(gemm_lines()))]
        case "map":
            words = ["map", f"{draw(NUMBERS | st.just('6'))}x{draw(NUMBERS | st.just('8'))}"]
            options = {
                "--group": NUMBERS,
                "--xcds": NUMBERS,
                "--format": st.sampled_from(["csv", "svg", "dot", "json"]),
            }
            words += (
                ["-o", draw(st.sampled_from(["out.txt", "no/folder/out", "a/" * 2000]))]
                if draw(st.booleans())
                else []
            )
        case "mma":
            words = ["explain", "mma", draw(st.sampled_from(["v_mfma_f32_32x32x8_f16", "wgmma", "", "x"]))]
            options = {"--element-of": NUMBERS.map("{},0".format), "--chip": st.sampled_from(TARGETS)}
        case "swizzle":
            words = ["explain", "swizzle", draw(damaged(st.just("f16_16x16x16_2x2_Kx2")))]
            options = {
                "--format": st.sampled_from(["mlir", "json", "svg"]),
                "--k": st.sampled_from(["split16", "contiguous"]),
            }
        case _:
            words = draw(
                st.lists(
                    st.sampled_from(["run", "build", "rum", "-h", "--version", "doctor", "x"]), max_size=1
                )
            )
            words += draw(st.lists(damaged(st.just("conv -n 1 -c 3")), max_size=1))
            return tuple(words)
    for name in draw(st.lists(st.sampled_from(sorted(options)), max_size=2, unique=True)):
        words += [name, draw(options[name])]
    return (*words, *draw(st.lists(flags, max_size=1)))


IR = Generator("ir", st.tuples(damaged(modules())), ir, limit_s=60)
LEVELS = Generator("levels", CHOICES, levels, 10, is_quick=False, limit_s=120)
SHARED = st.sampled_from(["", "stream_k:3", "split_k:5"])
KERNELS = Generator(
    "kernels",
    st.tuples(lines(), st.just("") | cpu_tunings(host_machine().isa.level), SHARED),
    kernel,
    5,
    is_quick=False,
    limit_s=120,
)
FOREIGN = Generator("foreign", foreign_cases(), foreign, 5, is_quick=False, limit_s=120)
DAMAGES = st.tuples(st.sampled_from(FAULTS), st.integers(0, 30)).map("{0[0]}:{0[1]}".format)
CACHES = Generator(
    "caches",
    st.lists(DAMAGES, min_size=1, max_size=3).map(tuple),
    damaged_cache,
    5,
    is_quick=False,
    limit_s=120,
)
COMMANDS = Generator("commands", command_lines(), command, 20, limit_s=60)
