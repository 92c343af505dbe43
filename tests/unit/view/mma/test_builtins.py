"""Every builtin compiles for every chip that the table gives it to, with the argument types that the table
states, and becomes the mnemonic that it states; and for no other chip.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.patience import HANG_S

from imbrex.view.mma import BUILTIN_TYPES, CHIPS, Instruction, in_registers, instructions

PROCESSORS = {"gfx11": "gfx1100", "gfx12": "gfx1200"}
AMD = [chip for chip in CHIPS if chip.startswith("gfx")]
WAVES = [(chip, wave) for chip in AMD for wave in ((32, 64) if chip in PROCESSORS else (64,))]


def zig() -> str:
    spec = find_spec("ziglang")
    assert spec is not None and spec.submodule_search_locations
    return str(Path(spec.submodule_search_locations[0]) / "zig")


def vector(name: str) -> str:
    """The C++ name of an argument type: vectors get names of their own."""
    return f"v_{name}" if name[-1].isdigit() else name


def typedefs() -> str:
    return "".join(
        f"typedef {element} v_{name} __attribute__((ext_vector_type({re.findall(r'[0-9]+', name)[-1]})));\n"
        for name, element in BUILTIN_TYPES.items()
        if name[-1].isdigit()
    )


def kernel(found: Instruction) -> str:
    named = {"a": "*a", "b": "*b", "c": "*c"}
    arguments = ", ".join(named.get(word, word) for word in found.arguments)
    operand, result = vector(found.builtin_operand), vector(found.builtin_result)
    return (
        f'extern "C" __attribute__((amdgpu_kernel)) void of_{found.name}'
        f"({operand} *a, {operand} *b, {result} *c) {{ *c = {found.builtin}({arguments}); }}\n"
    )


def compiled(chip: str, wave: int, found: Iterable[Instruction]) -> subprocess.CompletedProcess[str]:
    flags = ["-mwavefrontsize64"] if chip in PROCESSORS and wave == 64 else []
    return built("".join(map(kernel, found)), PROCESSORS.get(chip, chip), *flags)


def built(source: str, processor: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """The compiler's assembly text; a vector of other elements is no match for an argument."""
    target = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-nogpulib", *flags]
    return subprocess.run(
        [zig(), "clang", *target, "-flax-vector-conversions=none", "-O1", "-x", "c++", "-S", "-o", "-", "-"],
        input=typedefs() + source,
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )


@pytest.mark.parametrize(("chip", "wave"), WAVES)
def test_builtins_compile_to_their_mnemonics(chip: str, wave: int) -> None:
    wanted = [i for i in instructions(chip) if i.wave == wave]
    done = compiled(chip, wave, wanted)
    assert done.returncode == 0, done.stderr
    _, *bodies = re.split(r"^of_(?=\w+:)", done.stdout, flags=re.MULTILINE)
    made = {
        body.split(":")[0]: set(re.findall(r"^\s+(v_w?mf?ma_\S+?)(?:_e64)?\s", body, re.MULTILINE))
        for body in bodies
    }
    assert made == {i.name: {i.mnemonic_on(chip)} for i in wanted}


@pytest.mark.parametrize("chip", AMD)
def test_builtins_of_other_chips_do_not_compile(chip: str) -> None:
    """The front end takes some of them; then the backend has no such instruction."""
    wave = 32 if chip in PROCESSORS else 64
    alike = [c for c in AMD if (c in PROCESSORS) == (chip in PROCESSORS)]
    others = {i.builtin: i for c in alike for i in instructions(c) if not i.fits(chip) and i.wave == wave}
    assert others
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(lambda found: compiled(chip, wave, [found]).returncode, others.values())
    assert [name for name, code in zip(others, done, strict=True) if code == 0] == []


def test_control_a_wrong_argument_type_does_not_compile() -> None:
    source = kernel(next(i for i in instructions("gfx942") if i.builtin_operand == "half4"))
    assert built(source, "gfx942").returncode == 0
    assert built(source.replace("v_half4 *a", "v_short4 *a"), "gfx942").returncode != 0


def bits(name: str) -> int:
    """Bits of an argument type."""
    one = {"float": 32, "double": 64, "int": 32, "long": 64, "_Float16": 16, "short": 16, "__bf16": 16}
    return one[BUILTIN_TYPES[name]] * int((re.findall(r"x?([0-9]+)$", name) or [1])[-1])


@pytest.mark.parametrize("found", in_registers(), ids=lambda i: i.name)
def test_an_argument_is_as_wide_as_what_a_lane_holds(found: Instruction) -> None:
    """f8f6f4 takes 8 registers whatever the format; narrow elements fill the first of them."""
    wide = 8 if found.builtin.endswith("f8f6f4") else max(found.registers("a"), found.registers("b"))
    assert bits(found.builtin_operand) == 32 * wide
    is_packed = found.c_register_bits == bits_of_c(found)
    assert bits(found.builtin_result) == found.c_elements * (found.c_register_bits if is_packed else 32)


def bits_of_c(found: Instruction) -> int:
    return int(found.c_type.lstrip("bfi"))
