"""The host's instruction set and the named levels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from imbrex.build import isa as module
from imbrex.build.isa import Isa, host_isa, isa
from imbrex.diagnostic import Diagnostic

V3 = "avx2 bmi1 bmi2 f16c fma movbe"
V4 = f"{V3} avx512f avx512bw avx512cd avx512dq avx512vl"


@pytest.mark.parametrize(
    ("arch", "flags", "level"),
    [
        ("x86_64", "sse2", "generic"),
        ("x86_64", "avx2", "generic"),  # without fma it is not what the avx2 code needs
        ("x86_64", V3, "avx2"),
        ("x86_64", f"{V3} avx512f", "avx2"),  # as on Knights Landing
        ("x86_64", V4, "avx512"),
        ("aarch64", "asimd", "neon"),
        ("aarch64", "asimd sve sve256", "sve256"),
        ("aarch64", "asimd sve sve1024", "neon"),
        ("riscv64", "", "generic"),
    ],
)
def test_level_follows_the_flags(arch: str, flags: str, level: str) -> None:
    assert module._level(arch, flags.split()) == level


def test_only_the_first_processor_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text("processor\t: 0\nmodel name\t: one\nflags\t: fma\n\nprocessor\t: 1\nmodel name\t: two\n")
    assert module._cpu_facts(path) == {"processor": "0", "model name": "one", "flags": "fma"}
    assert module._cpu_facts(tmp_path / "none") == {}


def test_the_host_is_told_to_compile_for_itself() -> None:
    host = host_isa()
    assert host is isa("native")
    assert host.flags[0] in ("-march=native", "-mcpu=native")


def test_named_levels_fix_flags_and_rates() -> None:
    assert (isa("avx2").flags, isa("avx2").fma_per_cycle) == (("-march=x86-64-v3",), 2.0)
    assert (isa("avx512").flags, isa("neon").flags) == (("-march=x86-64-v4",), ("-mcpu=generic",))
    assert isa("sve256").flags == ("-mcpu=generic+sve", "-msve-vector-bits=256")
    assert (isa("generic").flags, isa("generic").fma_per_cycle) == ((), 1.0), "multiplies, then adds"


def test_zen_4_runs_wide_vectors_as_two_halves() -> None:
    assert replace(isa("avx512"), generation="AuthenticAMD 25").fma_per_cycle == 1.0
    assert replace(isa("avx512"), generation="AuthenticAMD 26").fma_per_cycle == 2.0
    assert replace(isa("avx2"), generation="AuthenticAMD 25").fma_per_cycle == 2.0


def test_fingerprint_tells_apart_what_runs_differently() -> None:
    host = host_isa()
    others = [
        replace(host, features=host.features ^ {"fma"}),
        replace(host, cpu="other"),
        isa("avx2"),
        isa("avx512"),
    ]
    assert len({i.fingerprint for i in [host, *others]}) == 5


def test_unknown_name_is_one_message() -> None:
    with pytest.raises(
        Diagnostic, match=r"unknown instruction set 'avx215'\n.*did you mean 'avx512'\?|'avx2'"
    ):
        isa("avx215")


def test_a_host_that_runs_halves_tells_the_compiler() -> None:
    """Of two generations of one level; of a level that is named nobody knows the CPU."""
    whole = Isa("avx512", "x86_64", "native", generation="AuthenticAMD 26")
    halves = replace(whole, generation="AuthenticAMD 25")
    assert (whole.runs_halves, halves.runs_halves, isa("avx512").runs_halves) == (False, True, False)
    assert halves.flags == (*whole.flags, "-DIMBREX_RUNS_HALVES")
    assert halves.fma_per_cycle == whole.fma_per_cycle / 2
