"""Keys of kernels in the cache: what decides the code is in them, nothing of this machine that does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.build import shared_library
from imbrex.build.isa import host_isa
from imbrex.kernel import key, target_of
from imbrex.kernel.constraints import Constraints
from imbrex.kernel.key import key_of
from imbrex.kernel.options import CompileOptions, options_of
from imbrex.kernel.target import Target
from imbrex.problem import Gemm
from imbrex.run.host_machine import host_machine

PROBLEM = Gemm(64, 64, 64, dtype="f16")
GPUS = (target_of("sm_90a"), target_of("gfx942"), target_of("gfx942", "isa"))
EMULATED = (target_of("emulate"), target_of("sm_90a", emulate=True))
CPU = target_of("cpu")


def options(
    of: Target,
    threads: int = 2,
    schedule: str | None = None,
    name: str | None = None,
    config: str | None = None,
) -> CompileOptions:
    return options_of(PROBLEM, of, Constraints(schedule=schedule, config=config), threads, name)


@pytest.mark.parametrize("of", [*GPUS, *EMULATED], ids=str)
def test_threads_and_caches_of_this_cpu_decide_no_schedule_of_a_gpu(
    of: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = key_of(options(of))
    assert key_of(options(of, threads=7)) == before
    monkeypatch.setattr(key, "host_machine", lambda: replace(host_machine(), l2_bytes=12345, l3_bytes=67890))
    assert key_of(options(of)) == before


def test_they_decide_those_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of(options(CPU))
    assert key_of(options(CPU, threads=7)) != before
    for cache in ("l2_bytes", "l3_bytes"):
        other = replace(host_machine(), **{cache: 12345})
        monkeypatch.setattr(key, "host_machine", lambda other=other: other)
        assert key_of(options(CPU)) != before


@pytest.mark.parametrize("of", [*GPUS, *EMULATED, CPU], ids=str)
def test_instructions_of_this_cpu_decide_what_runs_on_it(of: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    before, other = key_of(options(of)), replace(host_isa(), features=("other",))
    monkeypatch.setattr(shared_library, "host_isa", lambda: other)
    assert other.fingerprint != host_isa().fingerprint
    assert (key_of(options(of)) == before) == (of in GPUS)


@pytest.mark.parametrize("of", [*GPUS, *EMULATED, CPU], ids=str)
def test_what_is_asked_for_decides(of: Target) -> None:
    every = [
        options(of),
        options(of, schedule="stream_k:8"),
        options(of, name="other"),
        options(of, config="v2:direct"),
    ]
    assert len(set(map(key_of, every))) == len(every)


def test_a_configuration_decides_alone() -> None:
    """The CPU's threads only where the model chooses for them."""
    assert key_of(options(CPU, 2, config="v2:direct")) == key_of(options(CPU, 7, config="v2:direct"))


def test_a_code_object_is_the_same_wherever_it_runs() -> None:
    keys = {of: key_of(options(of)) for of in (*GPUS, *EMULATED, CPU)}
    assert keys.pop(target_of("gfx942", "isa")) == keys[target_of("gfx942")]
    assert len(set(keys.values())) == len(keys)
