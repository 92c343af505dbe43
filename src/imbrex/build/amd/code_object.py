"""Code objects for AMD GPUs: HIP source to assembly text to `.hsaco`, by ziglang's clang and lld, cached.

No ROCm is needed: a kernel includes nothing but its own device headers and calls no library.
Law: the `.hsaco` is assembled from the `.s` beside it, so that text is its disassembly, and what is counted
there is what runs.  Equal sources, chip, flags and compiler give the same files; anything else other ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from imbrex.build.cache import Cache, digest, entry_bytes, source_parts
from imbrex.build.toolchain import Compiler, find_compiler, run_all, write_sources

__all__ = [
    "AMD_FLAGS",
    "LINK_FLAGS",
    "CodeObject",
    "assemble_code_object",
    "build_code_object",
    "compile_code_object",
    "find_code_object",
]

AMD_FLAGS = (
    "-target",
    "amdgcn-amd-amdhsa",
    "-nogpulib",
    "-mcode-object-version=5",  # the newest that every ROCm from 5.5 on loads
    "-std=c++17",
    "-O3",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-asynchronous-unwind-tables",
    "-fno-ident",
)

LINK_FLAGS = ("-shared", "--build-id=none", "--strip-all")  # the kernels' names are dynamic symbols, and stay


@dataclass(frozen=True, slots=True)
class CodeObject:
    """path: the `.hsaco`, beside its sources and its `.s`."""

    path: Path
    chip: str
    key: str

    @property
    def assembly(self) -> str:
        """The text that the code object was assembled from."""
        return entry_bytes(self.path.with_suffix(".s")).decode()


def build_code_object(
    sources: Mapping[str, str], unit: str, chip: str, *, flags: Sequence[str] = (), cache: Cache | None = None
) -> CodeObject:
    """The code object of these sources, from the cache when it is there; arguments as below."""
    compiler, cache = find_compiler("zig"), cache or Cache()
    key = _key(sources, unit, chip, flags, compiler)

    def build(directory: Path) -> None:
        compile_code_object(sources, unit, chip, directory, flags=flags)

    stored = cache.object(key, build, _needed(unit))
    return CodeObject(_hsaco(stored.directory, unit), chip, key)


def find_code_object(key: str, unit: str, chip: str, cache: Cache | None = None) -> CodeObject | None:
    """The code object built earlier under `key`, None when it is gone."""
    stored = (cache or Cache()).find(key, _needed(unit))
    return None if stored is None else CodeObject(_hsaco(stored.directory, unit), chip, key)


def compile_code_object(
    sources: Mapping[str, str], unit: str, chip: str, directory: Path, *, flags: Sequence[str] = ()
) -> Path:
    """Writes the sources into `directory`, compiles `unit` to `.s`, assembles and links that to `.hsaco`.

    sources: file name -> text.  unit: the one that holds the kernels.  flags: after, so over, AMD_FLAGS.  A
    Diagnostic carries the compiler's own words; the sources stay in `directory`.
    """
    compiler = find_compiler("zig")
    write_sources(sources, directory)
    text = _hsaco(directory, unit).with_suffix(".s")
    target = (*AMD_FLAGS, f"-mcpu={chip}")
    command = (*compiler.compile, *target, *flags, "-I.", "-S", unit, "-o", text.name)
    run_all(compiler, [command], [unit], directory)
    return assemble_code_object(text, chip)


def assemble_code_object(text: Path, chip: str) -> Path:
    """The `.hsaco` of an assembly text, beside it."""
    compiler, target = find_compiler("zig"), (*AMD_FLAGS, f"-mcpu={chip}")
    relocatable, out = text.with_suffix(".o"), text.with_suffix(".hsaco")
    for step, command in (
        (text, (*compiler.compile, *target, "-c", "-x", "assembler", text.name, "-o", relocatable.name)),
        (out, (*compiler.link[:2], *LINK_FLAGS, "-o", out.name, relocatable.name)),
    ):
        run_all(compiler, [command], [step.name], text.parent)
    relocatable.unlink()
    return out


def _hsaco(directory: Path, unit: str) -> Path:
    return (directory / unit).with_suffix(".hsaco")


def _needed(unit: str) -> tuple[str, str]:
    """The files that make an entry a code object's."""
    code = _hsaco(Path(), unit)
    return code.name, code.with_suffix(".s").name


def _key(sources: Mapping[str, str], unit: str, chip: str, flags: Sequence[str], compiler: Compiler) -> str:
    parts = (unit, chip, "|", *AMD_FLAGS, *LINK_FLAGS, "|", *flags, "|", compiler.version)
    return digest([*source_parts(sources), "|", *parts])
