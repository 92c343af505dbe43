"""imbrex doctor: what is here, what works, and the line that mends what does not."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Literal

import click

from imbrex.build.amd.hot_loop import find_mca
from imbrex.build.cache import Cache, CacheWarning
from imbrex.build.nvidia.disassembly import find_disassembler
from imbrex.build.nvidia.nvrtc import MEND, nvrtc_here, nvrtc_version
from imbrex.build.toolchain import find_compiler
from imbrex.chip import CPU_ISAS, WAVES, gpus
from imbrex.cli.guard import FAILED
from imbrex.cli.options import format_option
from imbrex.cli.progress import progress
from imbrex.cli.text import bytes_text, json_text, seconds_text
from imbrex.database.lookup import calibration
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import BF16, F32, I8
from imbrex.kernel import CPU, compile
from imbrex.numeral import counted
from imbrex.problem import Conv2d
from imbrex.run.cpu import short_way, thread_count
from imbrex.run.cuda.driver import cuda_here, driver_version, gpu_text
from imbrex.run.hip.driver import gpu_name, rocm_here
from imbrex.run.host_machine import host_machine
from imbrex.version import __version__
from imbrex.view.mma.vector import fastest_unit

__all__ = ["command"]

State = Literal["ok", "missing", "broken"]
SIGNS = {"ok": ("ok", "green"), "missing": ("--", "yellow"), "broken": ("no", "red")}
NEEDED = ("numpy", "xdsl", "ziglang", "click", "rich", "ml_dtypes", "platformdirs", "filelock")
SMALL = Conv2d("forward", 1, 3, 5, 5, 4, 3, 3, pad_h=1, pad_w=1)
OPTIONAL = {"torch": "peers in benchmarks, tensors as arrays"}


@dataclass(frozen=True)
class Finding:
    """One thing looked at.  missing: something that only some want; broken: the main job suffers."""

    what: str
    state: State
    detail: str
    mend: str | None = None


@click.command("doctor", short_help="say what this machine has and what is missing")
@format_option
def command(form: str) -> int:
    """Look at the machine, the compiler, the cache and the packages; compile and run a small kernel for each
    target.  Exit code 1 when the main job cannot be done.
    """
    with progress("looking"):
        found = list(_findings())
    if form == "json":
        click.echo(
            json_text([{"what": f.what, "state": f.state, "told": f.detail, "mend": f.mend} for f in found])
        )
    else:
        wide = max(len(f.what) for f in found)
        for finding in found:
            sign, colour = SIGNS[finding.state]
            click.echo(f"{click.style(sign, fg=colour)}  {finding.what.ljust(wide)}  {finding.detail}")
            if finding.mend:
                click.echo(f"    {''.ljust(wide)}  {click.style(finding.mend, bold=True)}")
    return FAILED if any(f.state == "broken" for f in found) else 0


def _findings() -> Iterator[Finding]:
    here = host_machine()
    yield Finding("imbrex", "ok", f"{__version__} on Python {here.python}")
    yield Finding("machine", "ok", str(here))
    yield _threads()
    yield _units()
    yield from (_package(name) for name in NEEDED)
    for name, use in OPTIONAL.items():
        found = _package(name)
        yield found if found.state == "ok" else Finding(name, "missing", f"not here; for {use}", found.mend)
    yield _compiler()
    yield _cache()
    yield _calls()
    yield _calibration()
    for target in ("cpu", "emulate"):
        yield _works(target)
    yield from (_builds(chip) for chip in gpus("AMD"))
    yield _amd_gpu()
    yield from _amd_tools()
    yield from _nvidia()


def _threads() -> Finding:
    try:
        return Finding("threads", "ok", f"{thread_count()} by default")
    except Diagnostic as error:
        return Finding("threads", "broken", error.message, "unset IMBREX_THREADS")


def _units() -> Finding:
    """What multiplies each type, and what else the machine has for it."""
    row = CPU_ISAS[host_machine().isa.level]
    units = ", ".join(f"{dtype} by {fastest_unit(row, dtype)}" for dtype in (F32, BF16, I8))
    return Finding("units", "ok", f"{units} (level {row.name})")


def _package(name: str) -> Finding:
    try:
        return Finding(name, "ok", metadata.version(name))
    except metadata.PackageNotFoundError:
        return Finding(name, "broken", "not installed", f"pip install {name}")


def _compiler() -> Finding:
    try:
        found = find_compiler()
    except Diagnostic as error:
        return Finding("compiler", "broken", error.message, error.hint)
    return Finding("compiler", "ok", f"{found.name}, {found.version}")


def _cache() -> Finding:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", CacheWarning)
        found = Cache()
    lines = [str(warning.message) for warning in said]
    mend = "set IMBREX_CACHE_DIR to a directory of your own"
    if found.root is None:
        return Finding("cache", "missing", "; ".join([*lines, "every kernel is compiled anew"]), mend)
    entries = found.entries()
    size = bytes_text(sum(entry.size_bytes for entry in entries))
    lines = [f"{found.root.parent}: {counted(len(entries), 'entry')}, {size}", *lines]
    lines += [] if found.shared_root is None else [f"also reads {found.shared_root.parent}"]
    at = found.root
    while not at.exists() and at != at.parent:
        at = at.parent
    if os.access(at, os.W_OK | os.X_OK):
        return Finding("cache", "ok", "; ".join(lines))
    return Finding(
        "cache", "missing", "; ".join([*lines, "not writable: every kernel is compiled anew"]), mend
    )


def _calls() -> Finding:
    """Whether calls on arrays that were seen before take the short way."""
    if short_way() is not None:
        return Finding("calls", "ok", "known arrays of this machine take the short way")
    message = (
        "every call takes the long way, some 50 us: the short one is for CPython on Linux, and is compiled"
    )
    return Finding("calls", "missing", message)


def _calibration() -> Finding:
    """What the model of CPU kernels chooses by."""
    found = calibration(CPU)
    message = (
        "by its defaults; 'imbrex tune --calibrate' fits it to this machine" if found is None else str(found)
    )
    return Finding("cpu model", "ok", message)


def _works(target: str) -> Finding:
    """Compile and run something small there."""
    started = time.perf_counter()
    try:
        outcome = compile(SMALL, target).check()
    except Diagnostic as error:
        return Finding(f"target {target}", "broken", error.message, error.hint)
    state: State = "ok" if outcome.is_right else "broken"
    took = seconds_text(time.perf_counter() - started)
    return Finding(f"target {target}", state, f"a small convolution is {outcome}, in {took}")


def _builds(chip: str) -> Finding:
    """Compile something small for a GPU."""
    started = time.perf_counter()
    try:
        registers = compile(SMALL, chip).resources[0].registers
    except Diagnostic as error:
        return Finding(f"target {chip}", "broken", error.message, error.hint)
    took = seconds_text(time.perf_counter() - started)
    return Finding(f"target {chip}", "ok", f"a small convolution compiles, {registers} VGPRs, in {took}")


def _amd_gpu() -> Finding:
    """What would run the code objects."""
    try:
        hip = rocm_here()
    except Diagnostic as error:
        return Finding("amd gpu", "missing", error.message, error.hint)
    return Finding("amd gpu", "ok", f"{gpu_name(hip)}, through hip-python")


def _nvidia() -> Iterator[Finding]:
    """What builds cubins, what runs them, and what reads them."""
    yield _nvrtc()
    yield from (_builds_cubin(architecture) for architecture in gpus("NVIDIA"))
    for name in ("cuda-bindings", "cuda-core"):
        found = _package(name)
        yield found if found.state == "ok" else Finding(name, "missing", "not here; for NVIDIA GPUs", MEND)
    yield _nvidia_gpu()
    tool = find_disassembler()
    yield (
        Finding("nvdisasm", "ok", tool[0])
        if tool
        else Finding("nvdisasm", "missing", "not here, nor cuobjdump; 'imbrex build' writes no disassembly")
    )


def _nvrtc() -> Finding:
    try:
        nvrtc_here()
    except Diagnostic as error:
        return Finding("nvrtc", "missing", error.message, error.hint)
    return Finding("nvrtc", "ok", nvrtc_version())


def _builds_cubin(architecture: str) -> Finding:
    """Compile something small there; without NVRTC that is for others."""
    started = time.perf_counter()
    try:
        nvrtc_here()
    except Diagnostic as error:
        return Finding(f"target {architecture}", "missing", error.message)
    try:
        (first, *_) = compile(SMALL, architecture).resources
    except Diagnostic as error:
        return Finding(f"target {architecture}", "broken", error.message, error.hint)
    took = seconds_text(time.perf_counter() - started)
    message = f"a small convolution compiles, {counted(first.registers, 'register')}, in {took}"
    return Finding(f"target {architecture}", "ok", message)


def _nvidia_gpu() -> Finding:
    """What would run the cubins."""
    try:
        cuda = cuda_here()
    except Diagnostic as error:
        return Finding("nvidia gpu", "missing", error.message, error.hint)
    version = driver_version(cuda)
    message = f"{gpu_text(cuda)}, driver of CUDA {version // 1000}.{version % 1000 // 10}"
    return Finding("nvidia gpu", "ok", message)


def _amd_tools() -> Iterator[Finding]:
    """What checks code objects without a GPU."""
    tool = find_mca()
    yield (
        Finding("llvm-mca", "ok", tool)
        if tool
        else Finding("llvm-mca", "missing", "not here; a second opinion on hot loops", "apt install llvm-22")
    )
    yield _executes(WAVES.name)


def _executes(chip: str) -> Finding:
    """Whether the emulator of instructions, which is compiled the first time, runs a small kernel rightly."""
    started = time.perf_counter()
    try:
        outcome = compile(SMALL, chip, emulate="isa").check()
    except Diagnostic as error:
        return Finding("cdna emulator", "broken", error.message, error.hint)
    took = seconds_text(time.perf_counter() - started)
    message = f"a small convolution's code object for {chip}, executed: {outcome}, in {took}"
    return Finding("cdna emulator", "ok" if outcome.is_right else "broken", message)
