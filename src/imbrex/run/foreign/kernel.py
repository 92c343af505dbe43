"""A kernel for another CPU than this one: called in QEMU, or not at all.

Law: what runs is the very library that such a CPU would load.  The process that loads it asks first whether
the CPU has what the library needs, and looks at its arrays as `run.guarded` does.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from imbrex.build.cache import Cache, digest, entry_bytes, source_parts
from imbrex.build.toolchain import find_compiler, run_all, write_sources
from imbrex.chip import CPU_ISAS, CpuMachine
from imbrex.chip.hwcap import names_of, words_of
from imbrex.diagnostic import Diagnostic
from imbrex.run.arrays import Array
from imbrex.run.cpu import CpuKernel, Parameter
from imbrex.run.guarded import guarded
from imbrex.run.guarded_call import GUARD_BYTES, changed
from imbrex.run.guarded_request import Answer, GuardedRequest, NoAnswer, ended

__all__ = ["ForeignKernel", "foreign"]

_PROGRAM: Final = "call"
_UNIT: Final = "call.cpp"
_HEADERS: Final = ("library.h", "process.h")
_FLAGS: Final = (
    "-std=c++17", "-O2", "-ffreestanding", "-fno-builtin", "-fno-exceptions", "-fno-rtti",
    "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-Wall", "-Wextra",
)  # fmt: skip
_RIGHTS: Final = {"none": 0, "read": 1, "all": 2}
_FPCR: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKernel(CpuKernel):
    """A call raises a Diagnostic where nothing here runs it, or the CPU that QEMU stands for lacks what it
    needs.

    row: the CPU that it is for.  is_emulated: QEMU may run it.
    """

    row: CpuMachine
    is_emulated: bool

    def _call(self, arrays: tuple[Array, ...], scratch: list[Array], threads: int | None) -> None:
        del scratch  # the process has its own
        outcome = guarded(self, arrays, threads=threads)
        if not outcome.results or outcome.fault is not None:
            raise Diagnostic(f"'{self.symbol}' is wrong: {outcome.fault}")
        written = (array for array, p in zip(arrays, self.parameters, strict=True) if p.is_written)
        for array, result in zip(written, outcome.results, strict=True):
            array[...] = result

    def in_process(self, request: GuardedRequest) -> Answer | int:
        """The answer of every kernel, in QEMU."""
        placed = (
            str(number)
            for at in request.regions
            for number in (at.offset, at.span, at.begin, _RIGHTS[at.before], _RIGHTS[at.after])
        )
        words = ("run", str(request.fd), str(GUARD_BYTES), str(request.threads), *placed)
        said = self._said(self.symbol, words, request.fd)
        return said if isinstance(said, int) else self._answer(said)

    def prepare(self) -> None:
        """A Diagnostic where nothing here runs it."""
        self._emulator()

    def _status(self, question: str, *arguments: int) -> int:
        said = self._said(f"{self.symbol}_{question}", ("ask", *map(str, arguments)))
        assert isinstance(said, str), f"a question ends with signal {said}"
        return self._answer(said).status

    def _said(self, symbol: str, words: tuple[str, ...], *files: int) -> str | int:
        """The line that the process says, or the signal that ended it."""
        needed = map(str, words_of(self.row.features))
        vector = self.row.vector_bytes if "sve" in self.row.features else 0
        command = (*self._emulator(), _program(), str(self.path), symbol, *needed, str(vector), *words)
        try:
            return ended(command, "", *files)
        except NoAnswer as error:
            raise Diagnostic(f"QEMU does not run '{symbol}': {error}") from None

    def _emulator(self) -> tuple[str, ...]:
        """QEMU, told which CPU to stand for unless its own variable does."""
        row = self.row
        if not self.is_emulated:
            message = f"'{row.name}' is not of this machine's CPU, and nothing here runs it"
            raise Diagnostic(message, hint="--emulate runs it in QEMU" if row.qemu else None)
        found = shutil.which(f"qemu-{row.arch}") or shutil.which(f"qemu-{row.arch}-static")
        if found is None:
            message = f"running a kernel for '{row.name}' needs QEMU: there is no qemu-{row.arch} on PATH"
            raise Diagnostic(message, hint="install qemu-user, with 'apt install qemu-user' say")
        return (found,) if os.environ.get("QEMU_CPU") else (found, "-cpu", row.qemu)

    def _answer(self, said: str) -> Answer:
        """What the process answered; a Diagnostic where it did not call."""
        match said.split():
            case ["done", status, before, after]:
                words = ({"FPCR": int(word) & _FPCR} for word in (before, after))
                return Answer(int(status), changed(*words))
            case ["answer", number]:
                return Answer(int(number))
            case ["lacks", first, second, vector]:
                missing = self._lacking((int(first), int(second)), int(vector))
                raise Diagnostic(f"'{self.symbol}' is for '{self.row.name}', and the CPU in QEMU {missing}")
            case ["undefined", name]:
                message = f"the library {self.path} needs '{name}', which the process in QEMU does not have"
                raise Diagnostic(message)
            case ["failed", *why]:
                raise Diagnostic(f"'{self.symbol}' cannot be called in QEMU: {' '.join(why)}")
            case _:
                raise AssertionError(f"the process in QEMU said {said!r}")

    def _lacking(self, words: tuple[int, int], vector_bytes: int) -> str:
        missing = names_of(words)
        if missing:
            return f"lacks {', '.join(missing)}"
        return f"has SVE of {8 * vector_bytes} bits, not {8 * self.row.vector_bytes}"


def foreign(
    path: Path, symbol: str, parameters: tuple[Parameter, ...], workspace: tuple[Parameter, ...],
    level: str, is_emulated: bool,
) -> ForeignKernel:  # fmt: skip
    """A kernel of that level; a Diagnostic when it is called, or asked, and nothing here runs it."""
    row = CPU_ISAS[level]
    return ForeignKernel(path, symbol, parameters, _never, workspace, row=row, is_emulated=is_emulated)


def _never(*_: Any) -> int:
    raise AssertionError("a library for another CPU is not loaded here")


@cache
def _program() -> str:
    """What loads a library in QEMU: no C library, and nothing of this machine's."""
    compiler = find_compiler("zig")
    sources = {name: (files("imbrex.run.foreign") / name).read_text("utf-8") for name in (_UNIT, *_HEADERS)}

    def build(directory: Path) -> None:
        write_sources(sources, directory)
        flags = (*_FLAGS, "-target", "aarch64-linux-gnu", "-c", _UNIT, "-o", f"{_PROGRAM}.o")
        run_all(compiler, [(*compiler.compile, *flags)], [_UNIT], directory)
        linked = (compiler.link[0], "ld.lld", "-static", "--build-id=none", "-o", _PROGRAM, f"{_PROGRAM}.o")
        run_all(compiler, [linked], [_PROGRAM], directory)

    key = digest((*source_parts(sources), *_FLAGS, compiler.version))
    stored = Cache().object(key, build, (_PROGRAM,))
    fd = os.memfd_create(_PROGRAM)  # QEMU wants a file that may be executed, and a cache has none
    os.write(fd, entry_bytes(stored.directory / _PROGRAM))
    return f"/proc/{os.getpid()}/fd/{fd}"
