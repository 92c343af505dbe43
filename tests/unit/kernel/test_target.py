"""Words to goals: which target, whose schedule, and what is refused."""

from __future__ import annotations

import pytest

from imbrex.build.isa import has_level, host_isa, isa
from imbrex.chip import CPU_ISAS, GPU_MACHINES
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Target, target_of, targets


@pytest.mark.parametrize(
    ("words", "wanted", "text", "is_native"),
    [
        (("cpu", False), Target("cpu"), "cpu", True),
        (("emulate", False), Target("emulate", "gfx942"), "emulate (gfx942)", True),
        (("emulate", True), Target("emulate", "gfx942"), "emulate (gfx942)", True),
        (("gfx90a", True), Target("emulate", "gfx90a"), "emulate (gfx90a)", True),
        (("gfx90a", False), Target("gfx90a", "gfx90a"), "gfx90a", False),
        (("sm_90a", False), Target("sm_90a", "sm_90a"), "sm_90a", False),
        (("sm_90a", True), Target("emulate", "sm_90a"), "emulate (sm_90a)", True),
        (("avx2", False), Target("cpu", "avx2"), "avx2", True),
        (("neon", True), Target("cpu", "neon", is_executed=True), "isa (neon)", True),
        (("amx", False), Target("cpu", "amx"), "amx", True),
        (("amx", True), Target("cpu", "amx", is_executed=True), "isa (amx)", True),
        (("neon", "isa"), Target("cpu", "neon", is_executed=True), "isa (neon)", True),
    ],
)
def test_words(words: tuple[str, bool], wanted: Target, text: str, is_native: bool) -> None:
    found = target_of(*words)
    assert (found, str(found), found.is_native) == (wanted, text, is_native)


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("cpu", True), "target 'cpu' has no lane-level form", "gfx942"),
        (("avx2", True), "target 'avx2' has no emulator; QEMU runs sve512", "leave --emulate out"),
        (("gpu", False), "unknown target 'gpu'", "known: cpu, emulate, gfx908"),
        (("tpu7", False), "unknown target 'tpu7'", "known: cpu, emulate, gfx908"),
        (
            ("gfx924", False),
            "target 'gfx924' is not supported; of AMD's GPUs there are gfx908",
            "did you mean 'gfx942'?",
        ),
        (("gfx90", True), "target 'gfx90' is not supported; of AMD's", "did you mean 'gfx9"),
        (("sm_90", False), "unknown target 'sm_90'", "H100, H200, GH200 are sm_90a"),
    ],
)
def test_what_is_refused(words: tuple[str, bool], message: str, hint: str) -> None:
    with pytest.raises(Diagnostic) as caught:
        target_of(*words)
    assert message in caught.value.message and hint in (caught.value.hint or "")


def test_targets_are_those_of_the_table() -> None:
    assert set(targets()) == {"cpu", *GPU_MACHINES, *CPU_ISAS}


def test_a_level_has_its_own_instructions() -> None:
    assert target_of("cpu").isa is host_isa() and target_of("emulate").isa is host_isa()
    assert target_of("neon").isa.arch == "aarch64" and not target_of("neon", emulate=True).runs_here
    assert target_of("generic").runs_here and target_of("cpu").runs_here


def test_tiles_are_lent_to_a_level_that_has_the_rest() -> None:
    lent = target_of("amx", emulate=True)
    assert (lent.source, lent.isa, lent.runs_here) == (
        "emulate_amx",
        isa("avx512_bf16"),
        has_level("avx512_bf16"),
    )
    assert target_of("amx").source == "cpu" and "-mamx-bf16" in target_of("amx").isa.flags
