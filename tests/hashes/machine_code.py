"""What a compiler made of a case: for each kernel a hash of its instructions, and how many of what it takes.

Law: equal instructions have equal hashes, wherever, by whomever and under whatever names they were compiled:
of a cubin the section of the kernel is hashed, which holds no name and no address; of the others the assembly
text without its names.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from elftools.elf.elffile import ELFFile
from tests.hashes.assembly_text import instructions, nameless
from tests.hashes.hash_cases import HOPPER, HashCase

from imbrex.build import toolchain
from imbrex.build.amd.code_object import compile_code_object
from imbrex.build.amd.usage import usages as amd_usages
from imbrex.build.cache import Cache, digest, source_parts
from imbrex.build.isa import isa
from imbrex.build.nvidia.cubin import LOG, compile_cubin, compiler_version
from imbrex.build.nvidia.report import usages as nvidia_usages
from imbrex.build.toolchain import FLAGS, find_compiler, run_all, write_sources
from imbrex.chip import CPU_ISAS, gpus
from imbrex.config import tiles, tuning
from imbrex.pipeline import Lowered, Request, lower, machine_for

__all__ = ["KernelCode", "compiled", "compiler_of", "machine_code"]

NAME = "kernel"
DIGITS = 16
"""Of a hash."""
INSTRUCTION_BYTES = 16
"""Of Hopper's instructions."""


@dataclass(frozen=True)
class KernelCode:
    """registers: of a lane or thread; 0 of a CPU.  spills: bytes (NVIDIA), registers (AMD), stores (CPU).

    chosen: the algorithm, the tunings and the schedules, as text.  source: a digest of all that decides the
    code, which is not compared.
    """

    case: str
    kernel: str
    code: str
    instructions: int
    registers: int
    spills: int
    chosen: str
    source: str = field(default="", compare=False)


def compiler_of(target: str) -> tuple[str, str]:
    """Name and version of the compiler that makes the code of a target; a Diagnostic where it is missing."""
    told = compiler_version() if target == HOPPER else find_compiler("zig").version
    name, _, version = told.partition(" ")
    return name, version


def compiled(case: HashCase, name: str = NAME, known: Sequence[KernelCode] = ()) -> tuple[KernelCode, ...]:
    """Every kernel of the case; of a CPU, and of the lane-level build, the whole unit is one.  Sources that
    `known` kernels were made of, or that this machine compiled before, are not compiled again.

    name: of the entry point, which decides nothing.
    """
    lowered = lower(request_of(case, name))
    key, cache = _key(case, lowered), Cache()
    if known and all(kernel.source == key[:DIGITS] for kernel in known):
        return tuple(replace(kernel, chosen=_chosen(lowered)) for kernel in known)
    numbers = cache.recall(key)
    if numbers is None:
        made = machine_code(lowered, case.target, case.isa)
        numbers = {"kernels": [list(found) for found in made]}
        cache.remember(key, numbers)
    kernels = cast(list[Numbers], numbers["kernels"])
    return tuple(KernelCode(str(case), *found, _chosen(lowered), key[:DIGITS]) for found in kernels)


def _key(case: HashCase, lowered: Lowered) -> str:
    """Of all that decides machine code: sources without lines of comment, the compiler, and its callers."""
    sources = {f: re.sub(r"(?m)^ *//.*\n", "", text) for f, text in lowered.bundle.files.items()}
    flags = () if case.target in (HOPPER, *gpus("AMD")) else isa(case.isa).flags
    return digest((*source_parts(sources), case.target, *flags, *compiler_of(case.target), _callers()))


@functools.cache
def _callers() -> str:
    """The files that say how compilers are called and what of their work is hashed."""
    build, here = Path(toolchain.__file__).parent, Path(__file__)
    files = sorted([*build.rglob("*.py"), here, here.with_name("assembly_text.py")])
    return digest(file.read_text(encoding="utf-8") for file in files)


def machine_code(lowered: Lowered, target: str, level: str) -> list[Numbers]:
    """Of each kernel, or of a CPU's unit: name, hash of its instructions, their number, registers, spills.

    level: of a CPU's instructions.
    """
    with TemporaryDirectory() as folder:
        if target == HOPPER:
            return list(_of_cubin(lowered, Path(folder)))
        if target in gpus("AMD"):
            return list(_of_code_object(lowered, target, Path(folder)))
        return list(_of_unit(lowered, level, Path(folder)))


def request_of(case: HashCase, name: str = NAME) -> Request:
    """What the compiler is asked; nothing of it is this machine's."""
    return Request(
        case.problem,
        machine_for(case.target, case.isa, case.threads),
        case.target,
        None if case.tuning is None else tuning.parse(case.tuning),
        case.algorithm,
        name,
        None if case.schedule is None else tiles.wanted(case.schedule),
    )


def _chosen(lowered: Lowered) -> str:
    texts = (lowered.algorithm, *map(tuning.text, lowered.tunings), *lowered.schedules)
    return " ".join(dict.fromkeys(word for word in texts if word))


Numbers = tuple[str, str, int, int, int]


def _of_cubin(lowered: Lowered, folder: Path) -> Iterator[Numbers]:
    path = compile_cubin(lowered.bundle.files, lowered.bundle.units[1], HOPPER, folder)
    sections = {section.name: section for section in ELFFile(BytesIO(path.read_bytes())).iter_sections()}
    for usage in nvidia_usages((folder / LOG).read_text(encoding="utf-8")):
        code = sections[f".text.{usage.kernel}"]
        unresolved = sections.get(f".rela.text.{usage.kernel}")
        assert unresolved is None or not unresolved["sh_size"], f"{usage.kernel} refers to addresses"
        spilled = usage.spill_store_bytes + usage.spill_load_bytes
        size = code["sh_size"] // INSTRUCTION_BYTES
        yield _launch(usage.kernel), _digest(code.data()), size, usage.registers, spilled


def _of_code_object(lowered: Lowered, chip: str, folder: Path) -> Iterator[Numbers]:
    path = compile_code_object(lowered.bundle.files, lowered.bundle.units[1], chip, folder)
    text = path.with_suffix(".s").read_text(encoding="utf-8")
    for usage in amd_usages(text):
        lines = list(nameless(_function(text, usage.kernel), "amdgcn"))
        registers = usage.vgprs + usage.agprs
        yield _launch(usage.kernel), _digest_of(lines), instructions(lines), registers, usage.spills


def _function(text: str, name: str) -> str:
    """From its label to the end that the compiler marks."""
    return text.partition(f"\n{name}:")[2].partition("\n.Lfunc_end")[0]


def _of_unit(lowered: Lowered, level: str, folder: Path) -> Iterator[Numbers]:
    write_sources(lowered.bundle.files, folder)
    compiler, wanted = find_compiler("zig"), isa(level)
    architecture = CPU_ISAS[level].arch or "x86_64"
    told = (*FLAGS, "-target", f"{architecture}-linux-gnu", *wanted.flags, "-I.", "-S")
    unit, assembly = lowered.bundle.units[1], folder / "unit.s"
    run_all(compiler, [(*compiler.compile, *told, unit, "-o", assembly.name)], [unit], folder)
    text = assembly.read_text(encoding="utf-8")
    lines = list(nameless(text, architecture))
    yield "unit", _digest_of(lines), instructions(lines), 0, text.count("-byte Spill")


def _launch(kernel: str) -> str:
    """The number of a launch, which ends the name of its kernel."""
    return kernel.rpartition("_")[2]


def _digest_of(lines: list[str]) -> str:
    return _digest("\n".join(lines).encode())


def _digest(code: bytes) -> str:
    return hashlib.sha256(code).hexdigest()[:DIGITS]
