"""Kernels of sm_90a, byte for byte, run by a CPU: right, and nothing that a GPU does not promise."""

from __future__ import annotations

import os

import pytest
from tests.pairs import one_in
from tests.unit.emit.emulate.hopper_cases import CASES
from tests.unit.emit.emulate.hopper_mutants import MUTANTS
from tests.unit.emit.emulate.hopper_runs import built, lowered, ran

from imbrex.emit.bundle import device_headers

SEEDS = int(os.environ.get("IMBREX_EMULATE_SEEDS", "1"))
"""Orders of warps that each kernel is run in."""


def looked_at() -> list[str]:
    """The cases whose faults are sought, which must be right without, and every other one of the others."""
    faulty = {one.case for one in MUTANTS.values()}
    return [*(case for case in CASES if case in faulty), *one_in(2, [c for c in CASES if c not in faulty])]


@pytest.mark.parametrize("case", looked_at())
def test_is_right(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = built(case)
    for seed in range(SEEDS):
        monkeypatch.setenv("IMBREX_EMULATE_SEED", str(seed))
        found = ran(CASES[case], kernel)
        assert found.is_right, f"seed {seed}: {found}"


def test_the_source_is_the_gpus() -> None:
    """All but the folder of PTX, whose files have the same names and define the same functions."""
    mine, theirs = device_headers("emulate_sm_90a"), device_headers("sm_90a")
    ptx = {name for name in theirs if name.startswith("device/cuda/ptx/")}
    assert ptx - {name for name in mine if name.startswith("device/cuda/ptx/")} == {
        "device/cuda/ptx/sum_lists.h"
    }
    assert all(mine[name] == text for name, text in theirs.items() if name not in ptx)
    files = lowered("a raster").bundle.files
    assert "asm" not in files["kernel.hpp"] + files["kernel.cu"]
