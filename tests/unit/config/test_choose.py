"""Choosing: least wasted work first, the first legal one wins, a given tuning is used or refused."""

import dataclasses
from typing import get_args

import pytest

from imbrex.chip import GPU_MACHINES, target
from imbrex.config.choose import candidates, choose, first_legal, rank, require
from imbrex.config.context import Access, GemmContext
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.general.space import GENERAL_LIST
from imbrex.config.kinds import KINDS, Family
from imbrex.config.legal import check
from imbrex.config.tuning import Tuning
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import F16, F32

GFX942 = target("gfx942")
TARGETS = ("avx2", "gfx942", "sm_90a")


def test_every_kind_of_tuning_has_a_row_and_every_family_a_space() -> None:
    context = GemmContext(64, 64, 64, F16)
    assert set(KINDS) == set(get_args(Tuning))
    served = [row.family for row in KINDS.values() if any(row.tunings(context, target(t)) for t in TARGETS)]
    assert sorted(served) == sorted(get_args(Family))


def test_a_row_refuses_machines_of_another_kind() -> None:
    cpu = KINDS[CpuTuning]
    tuning = cpu.tunings(GemmContext(64, 64, 64, F32), target("avx2"))[0]
    (broken,) = check(tuning, GemmContext(64, 64, 64, F32), GFX942)
    assert str(broken) == "a cpu tuning does not run on gfx942"
    assert list(rank([tuning], GemmContext(64, 64, 64, F32), GFX942)) == [tuning]


def test_no_waste_keeps_the_order_of_the_list() -> None:
    assert list(rank(GENERAL_LIST, GemmContext(1024, 1024, 1024, F32), GFX942)) == list(GENERAL_LIST)


def test_padding_moves_a_tuning_back() -> None:
    """32 x 32 in tiles of 128 x 128 does sixteen times the work; k of 12 is whole only in steps of 4."""
    context = GemmContext(32, 32, 12, F32)
    ranked = list(rank(GENERAL_LIST, context, GFX942))
    waste = [context.wasted(*t.tile) for t in ranked]
    assert waste == sorted(waste) and waste[0] == 0
    assert ranked[0] == GeneralTuning(64, 32, 32, 4, 2, 2) == choose(context, GFX942, "general")


def test_xdlops_chooser_never_ends_without_numbers() -> None:
    """Upstream's loop skipped a list that overflows LDS without failing, and went on with zeros."""
    small = dataclasses.replace(GPU_MACHINES["gfx942"], lds_bytes=1024)
    with pytest.raises(Diagnostic) as error:
        choose(GemmContext(1024, 1024, 1024, F32), small, "xdlops")
    message = error.value.message
    assert "for gemm 1024x1024x1024 f32 on gfx942: " in message and "> 1024 on gfx942" in message


def test_reasons_are_counted() -> None:
    tunings: list[Tuning] = [
        GeneralTuning(256, 128, 128, 64, 4, 4),
        GeneralTuning(256, 128, 128, 128, 4, 4),
        GeneralTuning(512, 128, 128, 8, 4, 4),
    ]
    with pytest.raises(Diagnostic) as error:
        first_legal(tunings, GemmContext(128, 128, 128, F32), GFX942)
    assert error.value.message == (
        "no legal tuning among 3 for gemm 128x128x128 f32 on gfx942: 2x lds_bytes 131072 > 65536 on gfx942; "
        "1x registers 368 > 256 on gfx942; 1x block_size 512 is not one of 64, 128, 256"
    )


def test_an_empty_list_says_so() -> None:
    with pytest.raises(
        Diagnostic, match="no legal tuning among 0 for gemm 8x8x8 f32 on gfx942: the list is empty"
    ):
        choose(GemmContext(8, 8, 8, F32), GFX942, "cpu")
    assert not candidates(GemmContext(8, 8, 8, F32), GFX942, "cpu")


def test_a_given_tuning_is_used_as_it_is() -> None:
    poor = GeneralTuning(64, 32, 32, 4, 2, 2)
    assert require(poor, GemmContext(1024, 1024, 1024, F32), GFX942) is poor


def test_an_illegal_given_tuning_is_refused_with_every_reason() -> None:
    with pytest.raises(Diagnostic) as error:
        require(GeneralTuning(512, 128, 128, 8, 3, 4), GemmContext(1024, 1024, 1024, F32), GFX942)
    assert error.value.message == (
        "tuning v1:general:512,128,128,8,3,4 is illegal: block_size 512 is not one of 64, 128, 256; "
        "m_per_thread 3 is not one of 2, 4"
    )


@pytest.mark.parametrize("machine", [name for name in GPU_MACHINES if name != "sm_90a"])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (7, 5, 3), (64, 3136, 576), (2048, 49, 512), (128, 115200, 72)])
def test_every_size_has_a_tuning(machine: str, sizes: tuple[int, int, int]) -> None:
    access = Access((4, 1), (16.0, 1.0))
    context = GemmContext(*sizes, F32, a=access, b=access)
    general, xdlops = choose(context, target(machine), "general"), choose(context, target(machine), "xdlops")
    assert isinstance(general, GeneralTuning) and isinstance(xdlops, XdlopsTuning)
    assert not check(general, context, target(machine)) and not check(xdlops, context, target(machine))


def test_an_unknown_target_is_a_diagnostic() -> None:
    with pytest.raises(Diagnostic) as error:
        target("gfx94")
    assert error.value.message.startswith("target 'gfx94' is not supported; of AMD's GPUs there are gfx908")
